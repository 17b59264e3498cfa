package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"idemlab/internal/acquirer"
	"idemlab/internal/server/servertest"
	"idemlab/internal/service"
	"idemlab/internal/tables"
	"idemlab/scenarios"
)

// process is a command that serves, started by a parent that may kill it.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	url   string

	ending chan struct{} // is closed when it has said that it was told to end, and what it waits for
}

// until is written to by one goroutine, and closes seen when text has gone by.
type until struct {
	text string
	seen chan struct{}
	said []byte
}

func (u *until) Write(p []byte) (int, error) {
	before := bytes.Contains(u.said, []byte(u.text))
	u.said = append(u.said, p...)
	if !before && bytes.Contains(u.said, []byte(u.text)) {
		close(u.seen)
	}
	return len(p), nil
}

// startProcess starts this program again, as any parent would: the server's address in the environment, because it may hold a
// password; stdin a pipe, which ends with the parent; and the first line of stdout says where.
func startProcess(t *testing.T, dsn string, args ...string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.Command(self, append(args, "--until-eof")...)}
	p.cmd.Args[0] = "idemlab" // which of its commands the test binary is to be
	p.cmd.Env = append(os.Environ(), "IDEMLAB_DSN="+dsn)
	p.ending = make(chan struct{})
	p.cmd.Stderr = io.MultiWriter(t.Output(), &until{text: "ending: ", seen: p.ending})
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("%v said no address: %v", args, err)
	}
	p.url = strings.TrimSpace(line)
	return p
}

// A parent makes the tables and shares them, runs a service on them, kills it while the acquirer has a charge in its hands, and starts
// another one at the same address. The money has moved once; the row says PROCESSANDO, and the retry is told what the strategy
// makes of that.
func TestAParentKillsAndReplacesItsService(t *testing.T) {
	for _, c := range []struct {
		strategy scenarios.Strategy
		want     scenarios.Answer
	}{
		{scenarios.InsertFirst, scenarios.InProgress},
		{scenarios.IntentThenReconcile, scenarios.Replayed},
	} {
		t.Run(c.strategy.Name, func(t *testing.T) {
			srv := servertest.Server(t)
			made, err := tables.Create(t.Context(), srv, schema, c.strategy)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := made.Drop(context.Background()); err != nil {
					t.Error(err)
				}
			}()
			if err := made.Share(t.Context()); err != nil {
				t.Fatal(err)
			}
			acq := acquirer.New(acquirer.Options{})
			base, hangUp, err := acq.Listen(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer hangUp()
			gate := acq.Hold()
			serve := func(listen string) *process {
				return startProcess(t, srv.DSN(), "serve", "--strategy="+c.strategy.Name, "--tables", made.Name(), "--acquirer", base, "--pool", "2", "--listen", listen)
			}

			p := serve("127.0.0.1:0")
			client := service.Dial(p.url, 1)
			defer client.Close()
			req := scenarios.Request{Key: "8e03978e-40d5-43dd-bc93-6894a57f9324", OrderID: 123, AmountCents: 25000}
			told := make(chan error)
			go func() {
				_, err := client.Charge(t.Context(), "i", req)
				told <- err
			}()
			<-gate.Arrivals()
			if err := p.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := <-told; err == nil {
				t.Error("the killed service answered")
			}
			_ = p.cmd.Wait() // "signal: killed"
			gate.Open()

			again := serve(strings.TrimPrefix(p.url, "http://"))
			reply, err := client.Charge(t.Context(), "i", req)
			if err != nil || reply.Answer() != c.want {
				t.Errorf("the retry was told %+v, %v; want %s", reply, err, c.want)
			}
			if n := acq.Counts()["i"]; n.Captures != 1 {
				t.Errorf("the acquirer's ledger: %+v", n)
			}
			again.stdin.Close() // as when the parent dies
			if err := again.cmd.Wait(); err != nil {
				t.Errorf("ended with %v", err)
			}
		})
	}
}

// While the acquirer has a request in its hands, the first Ctrl-C waits for its answer and hands it on, and a second one kills, whatever
// --grace says.
func TestTheSecondCtrlCKills(t *testing.T) {
	for name, second := range map[string]bool{"the first alone": false, "a second": true} {
		t.Run(name, func(t *testing.T) {
			srv := servertest.Server(t)
			acq := acquirer.New(acquirer.Options{})
			base, hangUp, err := acq.Listen(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer hangUp()
			gate := acq.Hold()
			p := startProcess(t, srv.DSN(), "serve", "--acquirer", base, "--pool", "2", "--listen", "127.0.0.1:0", "--grace", "1h")
			client := service.Dial(p.url, 1)
			defer client.Close()
			type told struct {
				answer scenarios.Answer
				err    error
			}
			heard := make(chan told, 1)
			go func() {
				reply, err := client.Charge(t.Context(), "i", scenarios.Request{Key: "8e03978e-40d5-43dd-bc93-6894a57f9324", OrderID: 123, AmountCents: 25000})
				if err != nil {
					heard <- told{err: err}
					return
				}
				heard <- told{answer: reply.Answer()}
			}()
			<-gate.Arrivals()
			interrupt := func() {
				if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
					t.Fatal(err)
				}
			}
			interrupt()
			<-p.ending
			if !second {
				gate.Open()
				if got := <-heard; got.answer != scenarios.Charged {
					t.Errorf("the client was told %+v", got)
				}
				if err := p.cmd.Wait(); err != nil {
					t.Errorf("ended with %v", err)
				}
				return
			}
			interrupt()
			var exit *exec.ExitError
			if err := p.cmd.Wait(); !errors.As(err, &exit) || !killed(exit) {
				t.Errorf("ended with %v", err)
			}
			if got := <-heard; got.err == nil {
				t.Errorf("the killed service answered %+v", got)
			}
			gate.Open()
		})
	}
}

// killed says whether SIGINT ended the process, rather than its own doing.
func killed(exit *exec.ExitError) bool {
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGINT
}
