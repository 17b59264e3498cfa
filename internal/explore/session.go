package explore

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
	"weak"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"idemlab/internal/schedule"
	"idemlab/scenarios"
)

// session is one client, or one other function, with its connection. The scheduler owns it; an attempt's goroutine touches
// conn and txn only between being let go and its next report.
type session struct {
	w       *world
	id      int
	handler scenarios.Handler
	client  bool // its answers are judged
	tenant  int64
	*backend
	rows  *buffered // last read on a connection that others cannot be read on meanwhile
	txn   *txn      // the open transaction, nil where there is none
	loose bool      // a setting may have been changed for good, and nothing of what the connection does is understood any more

	state   state
	attempt *attempt
	at      op // where it stands, if it stands
	last    ending
	told    []told // of all attempts
	blocked blockage
	unsent  []string // sent before its first turn
}

type state uint8

const (
	unbegun  state = iota // its first attempt has not been started
	running               // its goroutine is at work, or in PostgreSQL's hands and not proved to wait
	parked                // before its next step
	waiting               // proved to wait
	answered              // its attempt has ended and the client does not know yet
	finished
)

// blockage is what is known of a session's wait.
type blockage struct {
	by      []int     // sessions, as last asked
	since   int       // the number of the wait, to let waiters go on in the order in which they came
	stopped bool      // its backend is stopped, so that waiters go on one by one
	outside string    // what it waits for, where that is nothing of PostgreSQL's
	silent  time.Time // when it was first seen to be blocked without a notice
}

// told is how an attempt ended, as its client saw it.
type told struct {
	scenarios.Attempt
	state string // SQLSTATE, where that is what Failed was about
	turn  int    // in which, from 1
}

// start begins the session's next attempt.
func (s *session) start() {
	n := 1
	if s.attempt != nil {
		n = s.attempt.number + 1
	}
	s.attempt = &attempt{s: s, number: n, grant: make(chan schedule.Kind)}
	s.rows = nil
	s.w.attempts = append(s.w.attempts, s.attempt)
	s.state = running
	s.w.running.Add(1)
	req := s.w.e.o.Scenario.Request(s.w.req, s.id)
	s.tenant = req.Tenant
	go s.attempt.run(s.w.ctx, s.handler, req)
}

// enabled are the ways in which the session can go on.
func (s *session) enabled() []schedule.Action {
	w := s.w
	kinds := []schedule.Kind{}
	switch s.state {
	case answered:
		kinds = append(kinds, schedule.Answer, schedule.Die)
	case parked:
		kinds = append(kinds, schedule.Step)
		if s.at.kind == opCapture && w.losses > 0 {
			kinds = append(kinds, schedule.LostRequest, schedule.LostReply)
		}
		if w.deaths > 0 && s.attempt.steps.Load() > 0 && !s.at.half {
			kinds = append(kinds, schedule.Die)
		}
	}
	var out []schedule.Action
	for _, k := range kinds {
		out = append(out, schedule.Action{Session: s.id, Kind: k})
	}
	return out
}

// end closes the books on the attempt, and begins the next where the client tries again. After a death, which takes the attempt's
// process along, that is in the process given; nil: it lives.
func (s *session) end(reborn func() scenarios.Handler) {
	died := reborn != nil
	if !died {
		s.w.e.answered = append(s.w.e.answered, weak.Make(s.attempt))
	}
	t := told{Attempt: s.last.judged(died), turn: len(s.w.trace)}
	t.Tenant, t.Astray = s.tenant, s.attempt.astray.Load()
	var pg *pgconn.PgError
	if !died && errors.As(s.last.err, &pg) {
		t.state = pg.Code
	}
	s.told = append(s.told, t)
	s.w.answer(s, t)
	s.state = finished
	again := died || s.client && t.Answer == scenarios.Failed
	if again && s.attempt.number < s.w.e.o.AttemptsPerSession {
		if died {
			s.handler = reborn()
		}
		s.start()
	}
}

// begin is what a transaction has touched that begins now.
func (s *session) begin() *txn {
	return &txn{iso: s.w.e.isolation, everything: s.loose, crowd: len(s.w.e.backends) > 2}
}

// clear gives back what an attempt has left on the connection, as its process's end would, and says what that touched.
func (s *session) clear(ctx context.Context, died bool) (schedule.Footprint, error) {
	var foot schedule.Footprint
	if s.conn.IsClosed() {
		s.txn = nil
		return foot, s.reconnect(ctx)
	}
	if s.txn != nil || s.conn.PgConn().TxStatus() != 'I' {
		if s.txn == nil {
			s.txn = &txn{everything: true}
		}
		foot = s.txn.rollback()
	}
	if died && s.w.e.advisory.Load() {
		foot = foot.And(schedule.Touch(schedule.Access{Object: advisoryLocks, Mode: schedule.Release}))
	}
	s.txn = nil
	if died && (s.w.e.o.Hard || s.stale) {
		return foot, s.sever(ctx)
	}
	return foot, s.soften(ctx, died)
}

// soften ends the transaction, and for the dead also gives back locks that outlive transactions.
func (s *session) soften(ctx context.Context, died bool) error {
	if s.conn.PgConn().TxStatus() != 'I' {
		if _, err := s.conn.Exec(ctx, "ROLLBACK"); err != nil {
			return err
		}
	}
	if died && s.w.e.advisory.Load() {
		_, err := s.conn.Exec(ctx, "SELECT pg_advisory_unlock_all()")
		return err
	}
	return nil
}

// tidy makes the connection fit for the next schedule.
func (s *session) tidy(ctx context.Context) error {
	s.txn = nil
	if s.conn.IsClosed() {
		return s.reconnect(ctx)
	}
	if s.stale {
		return s.sever(ctx)
	}
	return s.soften(ctx, true)
}

// backend is a connection and the process behind it.
type backend struct {
	conn *pgx.Conn
	pid  uint32
	open func(context.Context, *backend) (*pgx.Conn, error)
	// noticed: PostgreSQL has said that the statement under way waits. It says so after the check for deadlocks, so that from then
	// on the wait ends only when somebody gives something back, and the backend sleeps and holds nothing that others need.
	noticed atomic.Bool
	limits  []string // in time, that strategies have set on it; a call's own
	// prepared are the statements that can be run by a name, which says nothing of what they do.
	prepared map[string]string
	gone     func(ctx context.Context, pid uint32) error // waits until a process is no more
	sent     sent
	stale    bool // settings were changed that the next user of the connection is not to find
}

func (b *backend) reconnect(ctx context.Context) error {
	conn, err := b.open(ctx, b)
	if err != nil {
		return err
	}
	b.conn, b.pid, b.stale, b.limits = conn, conn.PgConn().PID(), false, nil
	clear(b.prepared)
	return nil
}

// sever closes the socket without a word, waits until PostgreSQL has noticed, and connects again.
func (b *backend) sever(ctx context.Context) error {
	pid := b.pid
	_ = b.conn.PgConn().Conn().Close() // that is the death; its error would be that it was dead already
	if err := b.gone(ctx, pid); err != nil {
		return err
	}
	_ = b.conn.Close(ctx) // the socket is closed; this frees what pgx holds
	return b.reconnect(ctx)
}
