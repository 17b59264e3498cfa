package explore

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"idemlab/internal/timelimit"
	"idemlab/scenarios"
)

// Time stands still here: a wait ends when somebody gives something back, and no limit in time ever ends one. A strategy that goes on
// when its lock_timeout has come does then what no schedule shows. So where one that waited was under a limit, the run is not held.

// ownDeadline is the limit that a strategy sets without PostgreSQL.
const ownDeadline = "the deadline of its context"

// local is a setting that ends with its transaction; any other may stay with the connection.
var local = regexp.MustCompile(`(?i)\bSET\s+LOCAL\b|,\s*true\s*\)`)

// limits are those that a call sets for itself.
func (a *attempt) limits(ctx context.Context, sql string) []string {
	found := timelimit.Named(sql, timelimit.All())
	own, limited := ctx.Deadline()
	if all, has := a.s.w.ctx.Deadline(); limited && (!has || own.Before(all)) {
		found = append(found, ownDeadline)
	}
	return found
}

// spelt is what a statement says with its arguments: set_config has the setting's name in one.
func spelt(sql string, args []any) string {
	for _, arg := range args {
		if text, ok := arg.(string); ok && strings.Contains(text, "timeout") {
			sql += " " + text
		}
	}
	return sql
}

// inForce are those that were set before: by the server, by what its connection has sent, or by the attempt.
func (a *attempt) inForce() []string { return slices.Concat(a.s.w.e.limits, a.s.limits, a.named) }

// sets remembers which limits a statement names, and whether something of it lasts. What it does with them is not asked: to set one to nothing
// is rare.
func (a *attempt) sets(sql string, lasts bool) {
	for _, name := range timelimit.Named(sql, timelimit.All()) {
		kept := &a.s.limits
		if local.MatchString(sql) && !lasts {
			kept = &a.named
		}
		if !slices.Contains(*kept, name) {
			*kept = append(*kept, name)
		}
	}
}

// waited notes that s waits, if it or whom it waits for is under a limit that can end the wait.
func (w *world) waited(s *session) {
	able := append(timelimit.Waiter(), ownDeadline)
	if s.blocked.outside != "" { // PostgreSQL sees no statement, but maybe a transaction that stands idle
		able = append(timelimit.Holder(), ownDeadline)
	}
	w.limited(s, s.at, able)
	for _, b := range s.blocked.by { // also whoever has the mutex: with its session its process gives that back
		w.limited(s, w.sessions[b].at, timelimit.Holder())
	}
}

// asks notes, of the step that s is about to make, what may be wrong with taking it for one that takes no time: the acquirer may take longer
// than a caller's patience (to have asked what became of a key, and not to know, moves no money), or than a transaction may stand idle, or
// a session that has an advisory lock.
func (w *world) asks(s *session) {
	if s.at.tries != "" && w.e.limited == "" {
		w.e.limited = fmt.Sprintf("step %q of session %c %s in one statement, whose inside is one step here: what others do in between was not explored, but happens in a race (idemlab race --strategy=%s)",
			s.at.name, 'A'+rune(s.id), s.at.tries, w.e.o.Strategy.Name)
	}
	switch {
	case s.at.kind != opCapture && s.at.kind != opFind:
	case s.at.kind == opCapture && slices.Contains(s.at.limits, ownDeadline):
		w.limited(s, s.at, []string{ownDeadline})
	case s.txn != nil:
		w.limited(s, s.at, timelimit.Holder())
	case w.e.advisory.Load():
		w.limited(s, s.at, []string{"idle_session_timeout"})
	}
}

// recalled notes an attempt that has answered without a step where another, of the same request, made some. So what the process remembers
// has decided, and who comes first to that is in no order here.
func (w *world) recalled() {
	request := func(a *attempt) scenarios.Request { return w.e.o.Scenario.Request(w.req, a.s.id) }
	for _, a := range w.attempts {
		if w.e.limited != "" || !a.s.client || !a.over.Load() || a.dead.Load() || a.steps.Load() > 0 {
			continue
		}
		if slices.ContainsFunc(w.attempts, func(b *attempt) bool { return b.s.client && b.steps.Load() > 0 && request(a) == request(b) }) {
			w.e.limited = fmt.Sprintf("session %c answered without a step, by what its process remembers, which has turns of its own only under Env.Lock: other orders were not explored, but happen in a race (idemlab race --strategy=%s)",
				'A'+rune(a.s.id), w.e.o.Strategy.Name)
		}
	}
}

// cutShort notes a step that a limit has ended, though nobody saw it wait.
func (w *world) cutShort(s *session, d *done) {
	for word, able := range map[string][]string{
		"ERROR 55P03": {"lock_timeout"}, // NOWAIT's, too
		"ERROR 57014": {"statement_timeout", ownDeadline},
		"ERROR 25P03": {"idle_in_transaction_session_timeout"},
		"ERROR 25P04": {"transaction_timeout"},
		"ERROR 57P05": {"idle_session_timeout"},

		context.DeadlineExceeded.Error(): {ownDeadline},
	} {
		if strings.Contains(d.result, word) {
			w.limited(s, s.at, able)
		}
	}
}

func (w *world) limited(s *session, at op, able []string) {
	for _, limit := range at.limits {
		if w.e.limited == "" && slices.Contains(able, limit) {
			w.e.limited = fmt.Sprintf("session %c waited at step %q, and %s can end that wait: what comes then was not explored, but happens in a race (idemlab race --strategy=%s)",
				'A'+rune(s.id), s.at.name, limit, w.e.o.Strategy.Name)
		}
	}
}

// readLimits asks which limits hold from the start: those of the server, the role or the connection string, and those that functions set.
// What functions, views and policies say of the time is said in no statement either.
func (e *engine) readLimits(ctx context.Context) error {
	rows, err := e.backends[0].conn.Query(ctx, `
		SELECT name FROM pg_settings WHERE name = ANY ($1) AND setting <> '0'
		 UNION ALL
		SELECT concat_ws(' ', prosrc, array_to_string(proconfig, ' '))
		  FROM pg_proc JOIN pg_namespace n ON n.oid = pronamespace
		 WHERE nspname = ANY (current_schemas(false))
		 UNION ALL
		SELECT pg_get_viewdef(c.oid)
		  FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
		 WHERE relkind IN ('v', 'm') AND nspname = ANY (current_schemas(false))
		 UNION ALL
		SELECT concat_ws(' ', qual, with_check) FROM pg_policies WHERE schemaname = ANY (current_schemas(false))`, timelimit.All())
	if err != nil {
		return fmt.Errorf("explore: ask for limits in time: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return fmt.Errorf("explore: ask for limits in time: %w", err)
		}
		e.limits = append(e.limits, timelimit.Named(text, timelimit.All())...)
		if readsClock(text) {
			e.clock.Store(true)
		}
	}
	return rows.Err()
}
