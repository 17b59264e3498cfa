package explore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/schedule"
	"idemlab/scenarios"
)

// conclude fills in what is known at the end.
func (x *exploration) conclude() {
	r := &x.result
	r.Duration = time.Since(x.started)
	r.proofs = x.e.proofs
	r.WholeCommits = x.e.wholeCommits.Load()
	r.Clock = x.e.clock.Load()
	r.SplitCommit = x.e.split.on.Load()
	r.Fingerprint = fmt.Sprintf("%016x", x.print.Sum64())
	// Where several waiters are let go at once, which comes first is PostgreSQL's choice, and running again is all that helps.
	// Anywhere else an execution that does not repeat itself means that something goes by chance, and what came of that chance
	// was not judged.
	if alone := x.e.stops || len(x.e.backends) <= 2; r.Divergences > 0 && alone && r.Inconclusive == "" {
		r.Inconclusive = fmt.Sprintf("diverged: %d executions did not repeat an earlier one with the same choices, so the strategy does something by chance", r.Divergences)
	}
	if r.Cut != "" || r.Inconclusive != "" {
		r.Complete = false
	}
	for _, a := range scenarios.Anomalies() {
		if v := x.best[a]; v != nil {
			r.Violations = append(r.Violations, *v)
		}
	}
	for _, o := range r.Outcomes {
		if o.Stuck && r.Inconclusive == "" {
			r.Inconclusive = "in some schedules sessions wait for ever: what they wait for is never given back"
		}
	}
	if r.Inconclusive == "" {
		r.Inconclusive = x.e.limited
	}
}

// Replay follows a schedule on the same terms as Run, and from its end lets each session go as far as it goes, without
// faults. The crashes and lost replies of o do not count: those of the schedule do. The error is a *schedule.Impossible where
// the schedule asks for a turn that cannot be had; the Trace then shows how far it went.
func Replay(ctx context.Context, config *pgx.ConnConfig, o Options, s schedule.Schedule) (_ Trace, err error) {
	o.Crashes, o.LostReplies = s.Faults()
	e, err := open(ctx, config, o)
	if err != nil {
		return Trace{}, err
	}
	defer func() { err = errors.Join(err, e.close(ctx)) }() // also after a panic
	e.watch = true
	for _, b := range e.backends {
		b.sent.on.Store(true)
	}
	j, err := e.once(ctx, func(ctx context.Context, w *world) (schedule.Run, error) { return schedule.Replay(ctx, w, s) })
	if err == nil {
		err = e.outlived(ctx)
	}
	t := Trace{Schedule: schedule.ScheduleOf(j.run), Prepared: e.prepared.take(), Turns: j.trace, Outcome: j.outcome, doubt: e.limited}
	for i := range e.o.Sessions + len(e.o.Others) {
		t.Sessions = append(t.Sessions, e.sessionName(i))
	}
	return t, err
}

func (e *engine) sessionName(i int) string {
	if i < e.o.Sessions {
		return "client"
	}
	return e.o.Others[i-e.o.Sessions].Name
}
