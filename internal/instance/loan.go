package instance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// errLeak says that a strategy has returned without ending what it began.
var errLeak = errors.New("the strategy returned without ending its transaction, its rows or its session")

// loan is one connection in the hands of an attempt.
type loan struct {
	conn   *pgxpool.Conn
	rec    *recorder
	since  time.Time
	wanted *atomic.Int64 // counted in there while it lasts
	once   sync.Once
}

// giveBack ends the loan; it may be called more than once.
func (l *loan) giveBack() {
	l.once.Do(func() {
		l.rec.ended(l)
		l.conn.Release()
		l.wanted.Add(-1)
	})
}

// destroy ends a loan that the attempt forgot: what state the connection is in nobody knows, so that it is closed.
func (l *loan) destroy() {
	l.once.Do(func() {
		l.rec.ended(l)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = l.conn.Hijack().Close(ctx) // the leak is the news
		l.wanted.Add(-1)
	})
}

// lend notes a connection of the pool as in the attempt's hands since then.
func (r *recorder) lend(c *pgxpool.Conn, since time.Time, wanted *atomic.Int64) *loan {
	r.mu.Lock()
	defer r.mu.Unlock()
	var l *loan
	if r.used < len(r.room) {
		l = &r.room[r.used]
		r.used++
	} else {
		l = new(loan)
	}
	l.conn, l.rec, l.since, l.wanted = c, r, since, wanted
	r.loans = append(r.loans, l)
	return l
}

func (r *recorder) ended(l *loan) {
	pid := l.conn.Conn().PgConn().PID()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loans = slices.DeleteFunc(r.loans, func(x *loan) bool { return x == l })
	r.rec.Holds = append(r.rec.Holds, Hold{pid, l.since, time.Now()})
}

// collect takes back what the attempt still holds after it has answered. A service would lose that connection for good, and
// the lab would wait for it for ever.
func (r *recorder) collect() error {
	r.mu.Lock()
	left := slices.Clone(r.loans)
	last := "none"
	if n := len(r.rec.Statements); n > 0 {
		last = r.rec.Statements[n-1].Step
	}
	r.mu.Unlock()
	for _, l := range left {
		l.destroy()
	}
	if len(left) == 0 {
		return nil
	}
	return fmt.Errorf("%w; its last step was %q", errLeak, last)
}
