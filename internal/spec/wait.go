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
	limited bool  // a time limit may end its statements
	expires bool  // a time limit may end its transactions while it is idle
	on      []int // sessions in its way
}

// waits is who waits for whom, by the sessions' numbers.
type waits []wait

// hopeless says that a session cannot go on unless somebody is given a further step: one that is in its way is idle, or hopeless
// itself. Nothing of this is a matter of time. Two that wait for each other are not hopeless, because the server's deadlock detector
// will free one of them; nor is whoever waits within a time limit, or for an idle transaction that has one.
func (w waits) hopeless(i int) bool { return w.stands(i, true) }

// stands is hopeless, but takes time limits into account only when told to.
func (w waits) stands(i int, limits bool) bool {
	if !w[i].running || limits && w[i].limited || w.inCycle(i) {
		return false
	}
	return slices.ContainsFunc(w[i].on, func(j int) bool {
		return !w[j].running && !(limits && w[j].expires) || w.stands(j, limits)
	})
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
	case w.stands(i, false): // a time limit, if there is one, has not struck yet
		return true
	case w.inCycle(i):
		return ran >= isolationtesterLook
	default:
		return ran >= passing
	}
}

const (
	poll                = 2 * time.Millisecond   // between two looks at the server while a step has not answered
	lastLook            = 5 * time.Millisecond   // for messages that were sent before a wait that the server reports
	isolationtesterLook = 10 * time.Millisecond  // between two looks of isolationtester's
	passing             = 100 * time.Millisecond // for a wait that may end by itself to do so; see blocked
)

// watcher asks the server who waits for whom, on a connection of its own.
type watcher struct {
	conn *pgx.Conn
	// limited and expires say it of each session, and behind them of the control connection. Where there is hope of that kind, no order is
	// called impossible before isolationtester's own limit.
	limited, expires []bool
}

// The settings that end a wait: the waiter's statement, or the transaction that it waits for.
func statementLimits() []string {
	return []string{"lock_timeout", "statement_timeout", "transaction_timeout"}
}
func idleLimits() []string {
	return []string{"idle_in_transaction_session_timeout", "idle_session_timeout", "transaction_timeout"}
}

func watch(ctx context.Context, cfg *pgx.ConnConfig, s Spec) (*watcher, error) {
	conn, err := pgx.ConnectConfig(ctx, cfg.Copy())
	if err != nil {
		return nil, fmt.Errorf("connect to watch the locks: %w", err)
	}
	w := &watcher{conn: conn}
	var limited, expires bool
	err = conn.QueryRow(ctx, `
		SELECT coalesce(bool_or(name = ANY ($1)), false), coalesce(bool_or(name = ANY ($2)), false)
		  FROM pg_settings WHERE name LIKE '%\_timeout' AND setting <> '0'`, statementLimits(), idleLimits()).Scan(&limited, &expires)
	if err != nil {
		_ = conn.Close(context.WithoutCancel(ctx))
		return nil, fmt.Errorf("ask for the server's time limits: %w", err)
	}
	w.limited, w.expires = s.mentions(statementLimits(), limited), s.mentions(idleLimits(), expires)
	return w, nil
}

// mentions looks for settings' names in the SQL: in a session's own, or in the setup, which may set them for all, or in a
// function. \b keeps deadlock_timeout out, which ends no wait but a deadlock's.
func (s Spec) mentions(settings []string, all bool) []bool {
	limit := regexp.MustCompile(`(?i)\b(` + strings.Join(settings, "|") + `)\b`)
	all = all || slices.ContainsFunc(append(slices.Clone(s.Setup), s.Teardown), limit.MatchString)
	found := make([]bool, len(s.Sessions)+1)
	found[len(s.Sessions)] = all
	for i, session := range s.Sessions {
		found[i] = all || limit.MatchString(session.Setup) || limit.MatchString(session.Teardown) ||
			slices.ContainsFunc(session.Steps, func(step Step) bool { return limit.MatchString(step.SQL) })
	}
	return found
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
		found[i].limited, found[i].expires = w.limited[i], w.expires[i]
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
