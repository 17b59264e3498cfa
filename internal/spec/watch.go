package spec

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/timelimit"
)

// watcher asks the server who waits for whom, on a connection of its own.
type watcher struct {
	conn *pgx.Conn
	// limited and expires say it of each session, and behind them of the control connection. Where there is hope of that kind, no order is
	// called impossible before isolationtester's own limit.
	limited, expires []bool
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
		  FROM pg_settings WHERE name LIKE '%\_timeout' AND setting <> '0'`, timelimit.Waiter(), timelimit.Holder()).Scan(&limited, &expires)
	if err != nil {
		_ = conn.Close(context.WithoutCancel(ctx))
		return nil, fmt.Errorf("ask for the server's time limits: %w", err)
	}
	w.limited, w.expires = s.mentions(timelimit.Waiter(), limited), s.mentions(timelimit.Holder(), expires)
	return w, nil
}

// mentions looks for settings' names in the SQL: in a session's own, or in the setup, which may set them for all, or in a
// function.
func (s Spec) mentions(settings []string, all bool) []bool {
	named := func(sql string) bool { return len(timelimit.Named(sql, settings)) > 0 }
	all = all || slices.ContainsFunc(append(slices.Clone(s.Setup), s.Teardown), named)
	found := make([]bool, len(s.Sessions)+1)
	found[len(s.Sessions)] = all
	for i, session := range s.Sessions {
		found[i] = all || named(session.Setup) || named(session.Teardown) ||
			slices.ContainsFunc(session.Steps, func(step Step) bool { return named(step.SQL) })
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
