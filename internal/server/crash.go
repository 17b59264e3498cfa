package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
)

// Crash makes a server of our own crash and recover, as it does when the system kills one of its processes: the postmaster ends
// all sessions, reads back what was committed, and lets clients in again. Data, socket and settings stay; every connection is
// lost, and with them every lock. It returns when the server has crashed and is back; once it has begun, the end of ctx does not keep it
// from that, so that whoever cleans up afterwards finds a server. One of the user's is not ours to crash.
func (s *Server) Crash(ctx context.Context) error {
	if !s.info.Embedded {
		return errors.New("a server of yours is not made to crash: leave --dsn out, so that one is started for the run")
	}
	conn, err := pgx.ConnectConfig(ctx, s.Config())
	if err != nil {
		return fmt.Errorf("connect to make the server crash: %w", err)
	}
	defer CloseConn(ctx, conn)
	var pid int
	var recovers bool
	if err := conn.QueryRow(ctx, `/* victim */ SELECT pg_backend_pid(), current_setting('restart_after_crash')::bool`).Scan(&pid, &recovers); err != nil {
		return fmt.Errorf("look for a process to kill: %w", err)
	}
	if !recovers {
		return errors.New("the server would not come back: leave --pg-set restart_after_crash=off out")
	}
	witness, err := pgx.ConnectConfig(ctx, s.Config())
	if err != nil {
		return fmt.Errorf("connect to see the server crash: %w", err)
	}
	defer CloseConn(ctx, witness)
	backend, err := os.FindProcess(pid)
	if err == nil {
		err = backend.Kill()
	}
	if err != nil {
		return fmt.Errorf("kill a process of the server (run as an ordinary user, or as root with CAP_KILL): %w", err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recoveryLimit)
	defer cancel()
	// The postmaster ends all sessions when it notices: until then it would let us in, and then not.
	_, err = witness.Exec(ctx, `/* witness */ SELECT pg_sleep($1)`, recoveryLimit.Seconds())
	if err == nil || ctx.Err() != nil {
		return errors.New("the server did not crash when a process of it was killed")
	}
	return s.awaitRecovery(ctx)
}

// recoveryLimit is what a crash and the recovery after it may take.
const recoveryLimit = 60 * time.Second

func (s *Server) awaitRecovery(ctx context.Context) error {
	for {
		conn, err := pgx.ConnectConfig(ctx, s.Config())
		if err == nil {
			CloseConn(ctx, conn)
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the server did not come back after its crash: %w", err)
		case <-time.After(20 * time.Millisecond): // it tells nobody when it has recovered
		}
	}
}
