package attempt

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/server"
	"idemlab/scenarios"
)

// Process is a service that makes one attempt: an instance of its own, with a connection of its own, so that it can die alone.
type Process struct {
	conn   *pgx.Conn
	pid    uint32
	handle scenarios.Handler
	ended  chan scenarios.Attempt
	err    error // why the attempt failed; to be read when it has ended
}

// one is scenarios.DB on one connection, which an attempt has to itself.
type one struct{ *pgx.Conn }

func (d one) Session(_ context.Context, f func(scenarios.DB) error) error { return f(d) }

func open(ctx context.Context, cfg *pgx.ConnConfig, h scenarios.Handler) (*Process, error) {
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("connect a service: %w", err)
	}
	return &Process{conn: conn, pid: conn.PgConn().PID(), handle: h, ended: make(chan scenarios.Attempt, 1)}, nil
}

// begin lets the attempt go. It may end without answering: then it is one that died.
func (p *Process) begin(ctx context.Context, acq scenarios.Acquirer, req scenarios.Request) {
	go func() {
		a := scenarios.Attempt{Died: true}
		defer func() {
			if r := recover(); r != nil {
				a, p.err = failed, fmt.Errorf("the strategy panicked: %v", r)
			}
			p.ended <- a
		}()
		resp, err := p.handle(ctx, one{p.conn}, acq, req)
		if err != nil {
			a, p.err = failed, err
			return
		}
		a = scenarios.Attempt{Answer: resp.Answer, HTTP: resp.HTTP, Body: resp.Body}
	}()
}

var failed = scenarios.Attempt{Answer: scenarios.Failed, HTTP: 500}

// die ends the process from within its attempt, as kill -9 would: the socket closes without a word, nothing after this line
// happens, and what deferred functions still send goes nowhere.
func (p *Process) die() {
	_ = p.conn.PgConn().Conn().Close() // that is the death; its error would be that it was dead already
	runtime.Goexit()
}

// close ends the connection of a process whose attempt has ended, and returns when its backend is gone: what it held is given back.
func (p *Process) close(ctx context.Context, aside *pgx.Conn) error {
	_ = p.conn.PgConn().Conn().Close()
	server.CloseConn(ctx, p.conn)
	for {
		var there bool
		err := aside.QueryRow(ctx, `/* gone */ SELECT EXISTS (SELECT FROM pg_stat_get_activity($1))`, int32(p.pid)).Scan(&there)
		if err != nil {
			return fmt.Errorf("wait for a backend's end: %w", err)
		}
		if !there {
			return nil
		}
		time.Sleep(time.Millisecond) // PostgreSQL announces the end of a backend nowhere
	}
}

// waits says whether the attempt waits in PostgreSQL for somebody else.
func (p *Process) waits(ctx context.Context, aside *pgx.Conn) (bool, error) {
	var yes bool
	err := aside.QueryRow(ctx, `/* waits */ SELECT cardinality(pg_blocking_pids($1)) > 0`, int32(p.pid)).Scan(&yes)
	if err != nil {
		return false, fmt.Errorf("ask whom an attempt waits for: %w", err)
	}
	return yes, nil
}
