// Package cmd is the command line: one file for each subcommand, from flags to options to engine to output to exit code.
package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"idemlab/internal/consume"
	"idemlab/internal/load"
	"idemlab/internal/race"
	"idemlab/internal/retry"
	"idemlab/internal/server"
	"idemlab/results"
)

// Exit codes. Where several apply the first of 2, 130, 3, 1, 4, 0 counts.
const (
	exitHeld         = 0
	exitViolated     = 1
	exitUsage        = 2
	exitCouldNotRun  = 3
	exitInconclusive = 4
	exitInterrupted  = 130
)

// The hidden first arguments that make this program one more instance of the service: under a race, under load, as a consumer, or one
// that customers reach over HTTP.
const (
	raceInstance    = "race-instance"
	loadInstance    = "load-instance"
	consumeInstance = "consume-instance"
	retryService    = "retry-service"
)

// Main runs one command and returns the exit code. schema is the text of schema.sql; the rest is the process's own.
//
// The first Ctrl-C or SIGTERM ends the run, which cleans up and reports what it has; a second one kills. Where whoever started it had SIGINT
// ignored it stays so: see endings.
func Main(schema string, args, environ []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if server.IsSupervisor(args) {
		return server.Supervise(args, stdin, stderr)
	}
	if code, ok := Instance(args, stdin, stdout, stderr); ok {
		return code
	}
	ctx, stop := untilSignalled(endings())
	defer stop()
	signal.Ignore(syscall.SIGPIPE)

	a := &app{schema: schema, environ: environ, stdin: stdin, stdout: stdout, stderr: stderr}
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	return a.exit(err, slices.ContainsFunc(args, wantsJSON))
}

// untilSignalled returns a context that ends with the first of the signals. They have their default effect again before anybody can know of that
// end, so that no second one is lost.
func untilSignalled(signals []os.Signal) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	first := make(chan os.Signal, 1)
	signal.Notify(first, signals...)
	go func() {
		select {
		case <-first:
		case <-ctx.Done():
		}
		signal.Stop(first)
		cancel()
	}()
	return ctx, cancel
}

// endings are the signals that end a run. A SIGINT that was ignored from the start, as by trap "" INT or for what a script starts in its
// background, is not among them: the Ctrl-C is meant for others then, and Notify would have it end this, too. SIGTERM always is, since to
// notify of no signals is to notify of all.
func endings() []os.Signal {
	if signal.Ignored(syscall.SIGINT) {
		return []os.Signal{syscall.SIGTERM}
	}
	return []os.Signal{syscall.SIGINT, syscall.SIGTERM}
}

// Instance answers as one more instance of the service where args say so.
func Instance(args []string, stdin io.Reader, stdout, stderr io.Writer) (code int, handled bool) {
	serve := map[string]func(context.Context, io.Reader, io.Writer) error{
		raceInstance: race.ServeInstance, loadInstance: load.ServeInstance, consumeInstance: consume.ServeConsumer,
		retryService: func(ctx context.Context, in io.Reader, out io.Writer) error {
			return retry.ServeChild(ctx, in, out, stderr)
		},
	}
	if len(args) != 1 || serve[args[0]] == nil {
		return 0, false
	}
	if err := serve[args[0]](context.Background(), stdin, stdout); err != nil {
		fmt.Fprintln(stderr, err)
		return exitCouldNotRun, true
	}
	return exitHeld, true
}

// app is what the commands share: the process's streams, and what the run came to.
type app struct {
	schema         string
	environ        []string
	stdin          io.Reader
	stdout, stderr io.Writer
	color          string
	maps           []string // of a sweep: those to show
	details        bool     // of a sweep: every cell's figures, too

	code    int  // of the command that ran
	printed bool // the command has written its document
}

// exit says what went wrong, as words on stderr and, with --json, as a document on stdout, and returns the exit code.
func (a *app) exit(err error, asJSON bool) int {
	if err == nil {
		return a.code
	}
	code := codeOf(err)
	if code == exitInterrupted {
		err = fmt.Errorf("interrupted: %w", err)
	}
	fmt.Fprintln(a.stderr, "idemlab:", err)
	if asJSON && !a.printed {
		text := err.Error()
		doc := results.Document{Format: results.Format, Verdict: results.Inconclusive, ExitCode: code, Error: &text, Runs: []results.Run{}}
		if werr := doc.Write(a.stdout); werr != nil {
			fmt.Fprintln(a.stderr, "idemlab:", werr)
		}
	}
	return code
}

// wantsJSON says whether an argument asks for a document. It looks at the words as typed, because where they cannot be
// understood there are no flags to ask.
func wantsJSON(arg string) bool {
	value, ok := strings.CutPrefix(arg, "--json=")
	yes, err := strconv.ParseBool(value)
	return arg == "--json" || ok && err == nil && yes
}

// usageError is a command line that cannot be meant.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// coded is an error with an exit code of its own.
type coded struct {
	code int
	error
}

func codeOf(err error) int {
	var usage usageError
	var own coded
	switch {
	case errors.As(err, &own):
		return own.code
	case errors.As(err, &usage), server.IsUsage(err):
		return exitUsage
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	return exitCouldNotRun
}

// worse returns the exit code that counts of two.
func worse(a, b int) int {
	order := []int{exitUsage, exitInterrupted, exitCouldNotRun, exitViolated, exitInconclusive, exitHeld}
	if slices.Index(order, a) < slices.Index(order, b) {
		return a
	}
	return b
}
