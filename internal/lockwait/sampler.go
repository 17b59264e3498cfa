// Package lockwait finds out who waits for whom, for how long and at which event: from the server, by sampling
// pg_stat_activity, pg_locks.waitstart and pg_blocking_pids on a connection of its own, and joined with what the client saw of
// the same statements.
//
// Only waits for the key count as lock waits: transactionid, tuple, advisory and spectoken. Lock/extend is a table that grows,
// not somebody in the way (PostgreSQL docs, table "Wait Events of Type Lock").
package lockwait

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// Interval is the time between two looks. Every 10 ms misses no waiter that every 1 ms sees, of those that a person would
// notice, and costs the server a tenth.
const Interval = 10 * time.Millisecond

// Counted are the wait events that are waits for a key, a row or a lock somebody took on purpose.
func Counted() []string {
	return []string{"Lock/transactionid", "Lock/tuple", "Lock/advisory", "Lock/spectoken"}
}

// Wait is one stretch of one backend waiting for one lock.
type Wait struct {
	PID      uint32
	Event    string   // "Lock/transactionid"
	Step     string   // of the statement that waits, as it names itself
	Blockers []uint32 // backends in the way when the wait was first seen, who holds up the queue in front
	// Of the first of them: what it was doing, as pg_stat_activity.state has it, and its present or last statement's step.
	BlockerState, BlockerStep string
	Seen                      time.Time // by our clock: the start of the first look that saw it
	LastSeen                  time.Time // and the end of the last
	// Length is by the server's clock, from waitstart to halfway between the last look that saw it and the next one.
	Length time.Duration
}

// Samples is what one Sampler saw.
type Samples struct {
	Waits  []Wait
	Events map[string]EventCount // everything that active backends waited at, counted or not
	// IdleInTx is backends × time between two statements of an open transaction.
	IdleInTx time.Duration
	Polls    int
	Cost     time.Duration // the polls, added up
	Worst    time.Duration // the longest poll
}

// EventCount says how often a wait event was seen, and on how many backends at once at the most.
type EventCount struct{ Samples, MaxWaiters int }

// Sampler looks at the server until it is stopped.
type Sampler struct {
	conn   *pgx.Conn
	app    string
	every  time.Duration
	hasAt  bool // pg_locks.waitstart: PostgreSQL 14
	cancel context.CancelFunc
	done   chan struct{}
	err    error

	looked  time.Time     // when the present look began
	since   time.Duration // from the one before
	samples Samples
	open    map[uint32]*openWait
}

// Start looks, on a connection of its own, at every backend whose application_name is app, every Interval. Stop must be called.
func Start(ctx context.Context, cfg *pgx.ConnConfig, app string) (*Sampler, error) {
	return StartEvery(ctx, cfg, app, Interval)
}

// StartEvery is Start with another time between two looks: where the server has no processor to spare, each look is taken from
// what is measured.
func StartEvery(ctx context.Context, cfg *pgx.ConnConfig, app string, every time.Duration) (*Sampler, error) {
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("connect the lock-wait sampler: %w", err)
	}
	s := &Sampler{conn: conn, app: app, every: every, done: make(chan struct{}), open: map[uint32]*openWait{}}
	s.samples.Events = map[string]EventCount{}
	if err := conn.QueryRow(ctx, `SELECT current_setting('server_version_num')::int >= 140000`).Scan(&s.hasAt); err != nil {
		conn.Close(ctx)
		return nil, fmt.Errorf("ask the server's version: %w", err)
	}
	run, cancel := context.WithCancel(ctx)
	s.cancel, s.looked = cancel, time.Now()
	go s.loop(run)
	return s, nil
}

// Stop ends the sampling and returns what was seen. The error says why sampling ended early; the samples stand all the same.
func (s *Sampler) Stop() (Samples, error) {
	s.cancel()
	<-s.done
	return s.samples, s.err
}

func (s *Sampler) loop(ctx context.Context) {
	defer close(s.done)
	defer func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = s.conn.Close(last) // nothing depends on the farewell
	}()
	tick := time.NewTicker(s.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			s.endAll()
			return
		case <-tick.C:
		}
		now := time.Now()
		s.since, s.looked = now.Sub(s.looked), now
		if err := s.poll(ctx); err != nil {
			if ctx.Err() == nil {
				s.err = fmt.Errorf("sample lock waits: %w", err)
			}
			s.endAll()
			return
		}
		cost := time.Since(s.looked)
		s.samples.Polls++
		s.samples.Cost += cost
		s.samples.Worst = max(s.samples.Worst, cost)
	}
}

// poll looks at the wait events first, which is cheap, and asks for locks and blockers only where somebody waits for one.
func (s *Sampler) poll(ctx context.Context) error {
	rows, err := s.conn.Query(ctx, `
		SELECT state LIKE 'idle in transaction%', coalesce(wait_event_type || '/' || wait_event, '')
		  FROM pg_stat_activity
		 WHERE application_name = $1 AND (state = 'active' AND wait_event IS NOT NULL OR state LIKE 'idle in transaction%')`, s.app)
	if err != nil {
		return err
	}
	type at struct {
		IdleInTx bool
		Event    string
	}
	seen, err := pgx.CollectRows(rows, pgx.RowToStructByPos[at])
	if err != nil {
		return err
	}
	now := map[string]int{}
	waiting := false
	for _, a := range seen {
		if a.IdleInTx {
			s.samples.IdleInTx += s.since
			continue
		}
		now[a.Event]++
		waiting = waiting || slices.Contains(Counted(), a.Event)
	}
	for event, n := range now {
		c := s.samples.Events[event]
		s.samples.Events[event] = EventCount{c.Samples + n, max(c.MaxWaiters, n)}
	}
	if !waiting {
		s.endAll()
		return nil
	}
	return s.pollLocks(ctx)
}

// AnyWaiting says whether a backend of that application_name waits for a lock that counts.
func AnyWaiting(ctx context.Context, conn *pgx.Conn, app string) (bool, error) {
	var waiting bool
	err := conn.QueryRow(ctx, `
		SELECT EXISTS (
			SELECT FROM pg_stat_activity
			 WHERE application_name = $1 AND wait_event_type || '/' || wait_event = ANY ($2))`,
		app, Counted()).Scan(&waiting)
	if err != nil {
		return false, fmt.Errorf("look for waiters: %w", err)
	}
	return waiting, nil
}
