package spec

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// wait is what one session is up to, as the server and its messages tell.
type wait struct {
	running bool  // it has a statement that the server has not finished
	on      []int // sessions in its way
}

// waits is who waits for whom, by the sessions' numbers.
type waits []wait

// hopeless says that a session cannot go on unless somebody is given a further step: one that is in its way is idle, or hopeless
// itself. Nothing of this is a matter of time. Two that wait for each other are not hopeless: the server's deadlock detector will
// free one of them.
func (w waits) hopeless(i int) bool {
	if !w[i].running || w.inCycle(i) {
		return false
	}
	return slices.ContainsFunc(w[i].on, func(j int) bool { return !w[j].running || w.hopeless(j) })
}

// inCycle says whether a session waits for itself, by way of others.
func (w waits) inCycle(i int) bool {
	seen := map[int]bool{}
	var reaches func(j int) bool
	reaches = func(j int) bool {
		if !w[j].running || seen[j] {
			return false
		}
		seen[j] = true
		return slices.ContainsFunc(w[j].on, func(k int) bool { return k == i || reaches(k) })
	}
	return reaches(i)
}

// stuck says that a session is hopeless and that nobody else is on the move who might yet do something about it, such as
// cancel its statement.
func (w waits) stuck(i int) bool {
	for j := range w {
		if w[j].running && !w.hopeless(j) {
			return false
		}
	}
	return w.hopeless(i)
}

// blocked says whether a step that ran for so long is to be reported as waiting. isolationtester looks every 10 ms and reports
// whatever is then in the way. We report at once what cannot pass, and leave longer to what can: a step that waits for another
// which is about to finish would be reported as waiting on a busy machine, and not on a quiet one.
func (w waits) blocked(i int, ran time.Duration) bool {
	switch {
	case len(w[i].on) == 0:
		return false
	case w.hopeless(i):
		return true
	case w.inCycle(i):
		return ran >= isolationtesterLook
	default:
		return ran >= passing
	}
}

const (
	poll                = 2 * time.Millisecond  // between two looks at the server while a step has not answered
	lastLook            = 5 * time.Millisecond  // for messages that were sent before a wait that the server reports
	isolationtesterLook = 10 * time.Millisecond // between two looks of isolationtester's
	passing             = 100 * time.Millisecond
)

// watcher asks the server who waits for whom, on a connection of its own.
type watcher struct {
	conn *pgx.Conn
	// timeouts says that a wait may end by itself, because the spec or the server sets a time limit. No order is then called
	// impossible before isolationtester's own limit.
	timeouts bool
}

// timeLimits are the settings that end waits: the waiter's statement, or the transaction that it waits for.
func timeLimits() []string {
	return []string{"lock_timeout", "statement_timeout", "transaction_timeout", "idle_in_transaction_session_timeout", "idle_session_timeout"}
}

func watch(ctx context.Context, cfg *pgx.ConnConfig, s Spec) (*watcher, error) {
	conn, err := pgx.ConnectConfig(ctx, cfg.Copy())
	if err != nil {
		return nil, fmt.Errorf("connect to watch the locks: %w", err)
	}
	w := &watcher{conn: conn}
	err = conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_settings WHERE name = ANY ($1) AND setting <> '0')`, timeLimits()).Scan(&w.timeouts)
	if err != nil {
		_ = conn.Close(context.WithoutCancel(ctx))
		return nil, fmt.Errorf("ask for the server's time limits: %w", err)
	}
	w.timeouts = w.timeouts || s.setsTimeLimit()
	return w, nil
}

// setsTimeLimit looks for the settings' names in the spec. \b keeps deadlock_timeout out, which ends no wait but a deadlock's.
func (s Spec) setsTimeLimit() bool {
	limit := regexp.MustCompile(`(?i)\b(` + strings.Join(timeLimits(), "|") + `)\b`)
	texts := append(slices.Clone(s.Setup), s.Teardown)
	for _, session := range s.Sessions {
		texts = append(texts, session.Setup, session.Teardown)
		for _, step := range session.Steps {
			texts = append(texts, step.SQL)
		}
	}
	return slices.ContainsFunc(texts, limit.MatchString)
}

// look asks for the sessions that have a statement running. Messages are fetched first: a session that has finished counts as
// idle, whether or not somebody has looked at what it answered. A wait for anybody else's backend (autovacuum) is not one of ours and passes.
func (w *watcher) look(ctx context.Context, sessions []*session) (waits, error) {
	found := make(waits, len(sessions))
	byPID := map[uint32]int{}
	var ask []int32
	for i, s := range sessions {
		for some := s.waiting; some; {
			var err error
			if some, err = s.fill(ctx, time.Millisecond); err != nil {
				return nil, err
			}
		}
		byPID[s.conn.PID()] = i
		if found[i].running = s.waiting; s.waiting {
			ask = append(ask, int32(s.conn.PID()))
		}
	}
	if len(ask) == 0 {
		return found, nil
	}
	rows, err := w.conn.Query(ctx, `
		SELECT w.pid, b.pid
		  FROM unnest($1::int4[]) AS w (pid),
		       unnest(pg_catalog.pg_blocking_pids(w.pid) || pg_catalog.pg_safe_snapshot_blocking_pids(w.pid)) AS b (pid)`, ask)
	if err != nil {
		return nil, fmt.Errorf("ask who waits for whom: %w", err)
	}
	var waiter, blocker uint32
	_, err = pgx.ForEachRow(rows, []any{&waiter, &blocker}, func() error {
		i := byPID[waiter]
		if j, ours := byPID[blocker]; ours && i != j {
			found[i].on = append(found[i].on, j)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("ask who waits for whom: %w", err)
	}
	return found, nil
}
