package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"idemlab/internal/web"
)

// listenFlags say where a command listens and how it ends, for those that serve.
type listenFlags struct {
	addr     string
	grace    time.Duration
	untilEOF bool
	leaves   string // what a second Ctrl-C, which kills, leaves behind; mostly nothing
}

func (f *listenFlags) add(c *cobra.Command, addr string) {
	fl := c.Flags()
	fl.StringVar(&f.addr, "listen", addr, "address to listen on; port 0 takes any that is free. The URL is the first line on stdout")
	fl.DurationVar(&f.grace, "grace", 10*time.Second, "how long requests in flight may take when the command is told to end")
	fl.BoolVar(&f.untilEOF, "until-eof", false, "end, too, when stdin does: with whatever started this, however that ended")
}

func (f *listenFlags) check() error {
	if err := web.CheckAddress(f.addr); err != nil {
		return usagef("--listen: %w", err)
	}
	if f.grace < 0 {
		return usagef("--grace %v: say 0 or more", f.grace)
	}
	return nil
}

// untilTold returns a context that ends when the command is to end: with ctx, with a parent that is "go run", or with stdin.
func (a *app) untilTold(ctx context.Context, f listenFlags) (context.Context, func()) {
	ctx, cancel := untilParentDies(ctx)
	if f.untilEOF {
		go func() {
			if a.stdin != nil {
				_, _ = io.Copy(io.Discard, a.stdin) // an error is an end as well
			}
			cancel()
		}()
	}
	return ctx, cancel
}

// serveHTTP says where, and answers until told to end. Requests that were cut off at the end make it an interrupted run.
func (a *app) serveHTTP(ctx context.Context, f listenFlags, l net.Listener, h http.Handler, cut func()) error {
	if web.Open(l) {
		a.say("warning: %s can be reached from other machines, and asks nobody who they are", l.Addr())
	}
	if _, err := fmt.Fprintln(a.stdout, web.URL(l)); err != nil {
		return errors.Join(fmt.Errorf("say the address: %w", err), l.Close())
	}
	draining := func(requests int64) {
		text := fmt.Sprintf("ending: requests in flight: %d, and they get %v (--grace); a second Ctrl-C kills at once", requests, f.grace)
		if f.leaves != "" {
			text += ", and leaves " + f.leaves
		}
		a.say("%s", text)
	}
	err := web.Server{Handler: h, Grace: f.grace, Cut: cut, Draining: draining, Log: a.stderr}.Run(ctx, l)
	var off *web.CutError
	if errors.As(err, &off) {
		return coded{exitInterrupted, fmt.Errorf("%w: their clients know nothing; --grace gives them longer", off)}
	}
	return err
}
