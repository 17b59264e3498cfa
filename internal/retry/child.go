package retry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"idemlab/internal/acquirer"
	"idemlab/internal/instance"
	"idemlab/internal/server"
	"idemlab/internal/service"
	"idemlab/internal/tables"
	"idemlab/internal/web"
	"idemlab/scenarios"
)

// ServeChild is the service in a process of its own: it reads its setup from stdin, says on stdout where it listens, and answers until
// it is told to stop, dies at a point where a fault strikes, or the run is gone. Then nobody else is left to drop the tables, so that it
// does. It returns an error where it could not even say what is wrong.
func ServeChild(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) error {
	dec := json.NewDecoder(stdin)
	var s setup
	if err := dec.Decode(&s); err != nil {
		return fmt.Errorf("read setup: %w", err)
	}
	ctx, gone := context.WithCancel(ctx)
	defer gone()
	t := newTalk(stdout)
	go t.listen(dec, gone)
	err := s.serve(ctx, t, stderr)
	if err == nil || ctx.Err() != nil {
		return nil
	}
	return t.say(report{Error: err.Error()})
}

func (s setup) serve(ctx context.Context, t *talk, stderr io.Writer) (err error) {
	strategy, ok := scenarios.Named(s.Strategy)
	if !ok {
		return fmt.Errorf("no strategy %q in this program", s.Strategy)
	}
	l, err := web.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	srv, err := server.Open(ctx, server.Options{DSN: s.DSN, Spare: s.Tables, Environ: os.Environ(), Say: func(string, ...any) {}})
	if err != nil {
		return err
	}
	schema, _, err := tables.Join(ctx, srv, s.Tables, strategy)
	if err != nil {
		return err
	}
	defer func() {
		if !t.toldToStop() && ctx.Err() != nil {
			err = errors.Join(err, schema.Leave(context.WithoutCancel(ctx)))
		}
	}()
	remote, err := acquirer.At(s.Acquirer, s.Pool)
	if err != nil {
		return err
	}
	defer remote.Close()
	conn := schema.Config()
	conn.RuntimeParams["application_name"] = schema.Name() + " attempts"
	conn.AfterNetConnect = wrap
	svc, err := service.Open(ctx, service.Config{
		Instance: instance.Config{
			Conn: conn, Pool: s.Pool, Isolation: s.Isolation, Strategy: strategy, Seed: s.Seed, Lease: s.Lease,
		},
		Acquirer: func(intent string) scenarios.Acquirer {
			return watchedAcquirer{remote.For(intent), watch{t, s.Points, intent}}
		},
		Effect: remote.Effect(),
		Watch:  func(intent string) instance.Watch { return watch{t, s.Points, intent} },
		Syntax: service.Strict, Timeout: s.Timeout, RetryAfter: s.RetryAfter,
	})
	if err != nil {
		return err
	}
	defer svc.Close()
	if err := t.say(report{URL: web.URL(l)}); err != nil {
		return err
	}
	// Attempts end within their own limit, and with the acquirer, which goes with the run.
	return web.Server{Handler: svc.Handler(), Grace: s.Timeout + time.Second, Cut: svc.CutOff, Log: stderr}.Run(ctx, l)
}

// watch makes happen, in an intent's attempts, what the run decides.
type watch struct {
	t      *talk
	points []string
	intent string
}

// at ends the process where a kill strikes, as nothing else would: no deferred function runs, and the kernel closes what is open.
func (w watch) at(point string) {
	if !slices.Contains(w.points, point) || !w.t.ask(point, w.intent) {
		return
	}
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill() // SIGKILL, after which there is nobody to look at an error
	}
	select {}
}
