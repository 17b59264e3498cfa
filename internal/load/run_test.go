package load

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"idemlab/internal/acquirer"
	"idemlab/internal/check"
	"idemlab/internal/server/servertest"
	"idemlab/results"
	"idemlab/scenarios"
)

// agrees says that ledger, rows and answers tell one story, for strategies with a row for each capture.
func agrees(t *testing.T, r results.Run) {
	t.Helper()
	c := r.Counts
	if c.Captures != *c.Rows || c.Captures != r.Answers["charged"] || c.CapturedCents != int64(c.Captures)*firstAmount {
		t.Errorf("%s: %d captures, %d rows, %d charged, %d cents", r.Strategy, c.Captures, *c.Rows, r.Answers["charged"], c.CapturedCents)
	}
	sum := 0
	for _, n := range r.Answers {
		sum += n
	}
	if sum != c.Attempts || r.Load.Repeats != c.Attempts-c.Intents {
		t.Errorf("%s: %d answers to %d attempts, %d repeats at %d intents", r.Strategy, sum, c.Attempts, r.Load.Repeats, c.Intents)
	}
}

const firstAmount = 25000

// On one server, in one test: the safe one holds, the unsafe one is caught, and every count agrees.
func TestLoadHasAVerdict(t *testing.T) {
	for _, c := range []struct {
		strategy scenarios.Strategy
		verdict  results.Verdict
	}{
		{scenarios.InsertFirst, results.Held}, {scenarios.InsertFirstOpenTx, results.Held}, {scenarios.CheckThenAct, results.Violated},
		{scenarios.ForUpdateOrder, results.Held}, // its orders are made ahead of the attempts
	} {
		o := small(t, c.strategy)
		var last Progress
		o.Live = func(p Progress) { last = p }
		r := run(t, o)
		if !reflect.DeepEqual(last.Total, r.Load.Response) {
			t.Errorf("%s: shown last %+v, ended with %+v", c.strategy.Name, last.Total, r.Load.Response)
		}
		if r.Verdict != c.verdict || r.ExitCode != 0 || r.Status != results.Complete {
			t.Errorf("%s: %s, exit %d: %s", c.strategy.Name, r.Verdict, r.ExitCode, r.Reason)
		}
		agrees(t, r)
		l := r.Load
		if l.Attempts == 0 || l.Attempts >= r.Counts.Attempts || l.IntentsOverlapped < fewest || l.Response.N != l.Attempts || l.Service.N != l.Attempts {
			t.Errorf("%s: %+v of %d attempts", c.strategy.Name, l, r.Counts.Attempts)
		}
	}
}

// What no answer shows, the ledger does: every strategy with an acquirer runs under load, and none does what it claims not to.
func TestEveryStrategyUnderLoad(t *testing.T) {
	for _, s := range scenarios.ChargeOnce.Strategies() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel() // most of it is waiting: for the acquirer and for the disk
			if why := s.Lacking(servertest.Server(t).Info().VersionNum); why != "" {
				t.Skip(s.Name, why)
			}
			o := small(t, s)
			o.Duration, o.Warmup, o.Clients, o.Pool = 300*time.Millisecond, 0, 4, 4
			r := run(t, o)
			if r.ExitCode != check.ExitHeld && r.ExitCode != check.ExitInconclusive {
				t.Errorf("%s, exit %d: %s; answers %v, states %v", r.Verdict, r.ExitCode, r.Reason, r.Answers, r.SQLStates)
			}
			if s.Name == scenarios.CheckThenAct.Name && r.Verdict != results.Violated {
				t.Errorf("%s: %s", r.Verdict, r.Reason)
			}
		})
	}
}

// Nothing can be learned of what never happened.
func TestLoadThatProvesNothingIsInconclusive(t *testing.T) {
	for reason, change := range map[string]func(*Options){
		"no key was used twice":         func(o *Options) { o.RepeatShare, o.HotShare = 0, 0 },
		"did not overlap":               func(o *Options) { o.Clients, o.Pool = 1, 1 },
		"no control was run":            func(o *Options) { o.Control = nil },
		"may go unseen":                 func(o *Options) { o.Control = &results.Control{Ran: true, ForcedCharge: &results.ForcedCharge{}} },
		"the acquirer approved nothing": func(o *Options) { o.Acquirer.DeclineShare = 1 },
		"attempts were given up after 50ms": func(o *Options) {
			o.AttemptTimeout, o.Acquirer.Latency = 50*time.Millisecond, acquirer.Fixed(time.Minute)
		},
	} {
		o := small(t, scenarios.InsertFirst)
		change(&o)
		if r := run(t, o); r.Verdict == results.Held || !strings.Contains(r.Reason, reason) {
			t.Errorf("%s: %s (%s)", reason, r.Verdict, r.Reason)
		}
	}
}

// Instances are processes: what holds within one may not hold between two, and a strategy that asks PostgreSQL holds all the same.
func TestInstancesShareNothingButTheDatabase(t *testing.T) {
	for strategy, want := range map[*scenarios.Strategy]results.Verdict{&scenarios.ProcessMutex: results.Violated, &scenarios.InsertFirst: results.Held} {
		o := small(t, *strategy)
		o.Instances, o.Duration = 3, time.Second
		r := run(t, o)
		if r.Verdict != want || r.ExitCode != 0 {
			t.Errorf("%s: %s, exit %d: %s", strategy.Name, r.Verdict, r.ExitCode, r.Reason)
		}
		agrees(t, r)
		if r.Load.Response.N == 0 || r.Load.Client.MaxInFlight > o.Clients || len(r.Load.Seconds) != 1 {
			t.Errorf("%+v", r.Load)
		}
	}
	one := small(t, scenarios.ProcessMutex)
	if r := run(t, one); r.Verdict != results.Held {
		t.Errorf("in one process: %s (%s)", r.Verdict, r.Reason)
	}
}

// An open loop's attempts keep coming while the service stalls: a customer waits from when he came. The service, asked for its own
// time, has hardly noticed; and a closed loop's clients, who wait in line, see next to nothing of it either.
func TestStallShowsInTheResponseTimeOfAnOpenLoop(t *testing.T) {
	o := small(t, scenarios.InsertFirst)
	o.Clients, o.Rate, o.Constant, o.MaxInFlight = 0, 200, true, 10_000
	o.RepeatShare, o.HotShare, o.Acquirer.Latency = 0.2, 0, acquirer.Fixed(0)
	o.Duration, o.Stall = 3*time.Second, time.Second
	r := run(t, o)
	l := r.Load
	if *l.Response.P90MS < 400 || *l.Service.P90MS > *l.Response.P90MS/2 || *l.Service.MaxMS < 900 {
		t.Errorf("response p90 %v, service p90 %v, max %v ms", *l.Response.P90MS, *l.Service.P90MS, *l.Service.MaxMS)
	}
	if r.Waits.Pool.Count == 0 || l.Settings.Loop != "open" || l.Settings.StallMS != 1000 || l.Dropped != 0 {
		t.Errorf("%+v, %+v", r.Waits.Pool, l.Settings)
	}
	agrees(t, r)
	o.Clients, o.Rate = 8, 0
	closed := run(t, o).Load
	if *closed.Response.P90MS > *l.Response.P90MS/2 || *closed.Response.MaxMS < 900 {
		t.Errorf("a closed loop: p90 %v, max %v ms", *closed.Response.P90MS, *closed.Response.MaxMS)
	}
}

// Without a warm-up every attempt counts, the first wave's too: what is in the rate is in the percentiles.
func TestWithoutWarmUpTheFirstWaveCounts(t *testing.T) {
	for _, instances := range []int{1, 2} {
		o := small(t, scenarios.InsertFirst)
		o.Warmup, o.Instances, o.Acquirer.Latency = 0, instances, acquirer.Fixed(200*time.Millisecond)
		r := run(t, o)
		if l := r.Load; l.Attempts != r.Counts.Attempts || l.Response.N != r.Counts.Attempts {
			t.Errorf("%d instances: %d attempts, of which %d count and %d are in the percentiles", instances, r.Counts.Attempts, l.Attempts, l.Response.N)
		}
	}
}

// A second begins where the warm-up ends, also where that is no whole number of ticks.
func TestSecondsBeginAtTheEndOfTheWarmUp(t *testing.T) {
	o := small(t, scenarios.InsertFirst)
	o.Warmup, o.Duration = 350*time.Millisecond, 1100*time.Millisecond
	looks := map[time.Duration]bool{}
	o.Live = func(p Progress) { looks[p.Elapsed] = true }
	r := run(t, o)
	if !looks[o.Warmup] || !looks[o.Warmup+time.Second] || len(r.Load.Seconds) != 1 {
		t.Errorf("%d seconds, looks after %v", len(r.Load.Seconds), looks)
	}
}

// What is not sent is counted, and never passes for an answer.
func TestArrivalsBeyondTheLimitAreDroppedAndCounted(t *testing.T) {
	o := small(t, scenarios.InsertFirst)
	o.Clients, o.Rate, o.MaxInFlight, o.Acquirer.Latency = 0, 500, 3, acquirer.Fixed(100*time.Millisecond)
	r := run(t, o)
	l := r.Load
	if l.Dropped == 0 || l.Client.MaxInFlight > 3 || l.Attempts == 0 || l.Response.N != l.Attempts {
		t.Errorf("%d dropped, %d in flight, %d attempts", l.Dropped, l.Client.MaxInFlight, l.Attempts)
	}
	agrees(t, r)
}

// The wait for an open transaction is named from both sides, with the time in which its connection did nothing; with the claim
// committed there is none.
func TestAutopsySaysWhoWaitedForWhom(t *testing.T) {
	o := small(t, scenarios.InsertFirstOpenTx)
	o.Acquirer.Latency, o.HotShare, o.RepeatShare, o.HotKeys = acquirer.Fixed(200*time.Millisecond), 0.9, 0.05, 1
	held := run(t, o)
	if b := held.Load.Blocking; len(b) == 0 || b[0].Waiter != "claim" || b[0].Event != "Lock/transactionid" || b[0].Blocker != "claim" || b[0].State != "idle in transaction" {
		t.Errorf("%+v", b)
	}
	o.Strategy = scenarios.InsertFirst
	free := run(t, o)
	if h, f := held.Load.Connections, free.Load.Connections; h.IdleInTxSeconds <= 0 || f.IdleInTxSeconds > 0 || *h.SecondsPerCapture < 0.2 ||
		*f.SecondsPerCapture >= *h.SecondsPerCapture {
		t.Errorf("with the transaction open %+v, %v a capture; with the claim committed %+v, %v", h, *h.SecondsPerCapture, f, *f.SecondsPerCapture)
	}
}

// Ctrl-C ends the arrivals; what is under way may end, the result is kept, and nothing stays behind.
func TestInterruptedLoadReports(t *testing.T) {
	srv := servertest.Server(t)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for _, instances := range []int{1, 2} {
		o := small(t, scenarios.InsertFirst)
		o.Duration, o.Instances, o.Warmup = time.Hour, instances, 0
		ctx, cancel := context.WithCancel(t.Context())
		o.Live = func(p Progress) {
			if p.Total.N > 50 {
				cancel()
			}
		}
		r, err := Run(ctx, srv, o)
		cancel()
		if err != nil || r.Status != results.Aborted || r.Load.Attempts <= 50 || r.Answers["failed"] != 0 {
			t.Errorf("%v, %s, %v", err, r.Status, r.Answers)
		}
		agrees(t, r)
		if r.Load.MeasuredMS >= 60_000 || r.Load.PerSecond <= 0 {
			t.Errorf("%v ms, %v a second", r.Load.MeasuredMS, r.Load.PerSecond)
		}
	}
	noSchemas(t, srv.DSN())
}

// The rate of an interrupted run is of the time until then: what is under way is answered in the grace, and counts for no second of it.
func TestInterruptedLoadCountsNoAnswerOfTheGrace(t *testing.T) {
	for _, instances := range []int{1, 2} {
		o := small(t, scenarios.InsertFirst)
		// No key is used twice: all clients are at the acquirer nearly all of the time, and so at the interrupt.
		o.Duration, o.Instances, o.Warmup, o.RepeatShare, o.HotShare = time.Hour, instances, 0, 0, 0
		o.Acquirer.Latency = acquirer.Fixed(time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		o.Live = func(p Progress) {
			if p.Total.N >= o.Clients {
				cancel()
			}
		}
		r, err := Run(ctx, servertest.Server(t), o)
		cancel()
		if err != nil || r.Status != results.Aborted || r.Answers["failed"] != 0 {
			t.Fatalf("%v, %s, %v", err, r.Status, r.Answers)
		}
		l := r.Load
		if served := l.PerSecond * l.MeasuredMS / 1000; served < 1 || served > float64(l.Response.N-o.Clients/2) {
			t.Errorf("%d instances: %v a second for %v ms, and %d answers in all, those of the grace included", instances, l.PerSecond, l.MeasuredMS, l.Response.N)
		}
		if float64(len(l.Seconds)) > l.MeasuredMS/1000 {
			t.Errorf("%d instances: %d whole seconds of %v ms", instances, len(l.Seconds), l.MeasuredMS)
		}
	}
}

// A run that was cut off is never said to hold, with several instances neither. What was caught until then stays caught.
func TestInterruptedLoadNeverHolds(t *testing.T) {
	for _, c := range []struct {
		strategy  scenarios.Strategy
		instances int
		verdict   results.Verdict
		reason    string
	}{
		{scenarios.InsertFirst, 1, results.Inconclusive, "interrupted"}, {scenarios.InsertFirst, 2, results.Inconclusive, "interrupted"},
		{scenarios.CheckThenAct, 1, results.Violated, "double_charge"},
	} {
		o := small(t, c.strategy)
		o.Duration, o.Instances = time.Hour, c.instances
		ctx, cancel := context.WithCancel(t.Context())
		o.Live = func(p Progress) {
			if p.Total.N > 300 {
				cancel()
			}
		}
		r, err := Run(ctx, servertest.Server(t), o)
		cancel()
		if err != nil || r.Status != results.Aborted || r.Verdict != c.verdict || !strings.HasPrefix(r.Reason, c.reason) || r.Load.IntentsOverlapped < fewest {
			t.Errorf("%s, %d instances: %v, %s, %s (%s), %d overlapped", c.strategy.Name, c.instances, err, r.Status, r.Verdict, r.Reason, r.Load.IntentsOverlapped)
		}
	}
}

// An acquirer that does not answer must not keep Ctrl-C waiting for ever: attempts that outlast the grace died, and are judged so.
func TestInterruptedLoadWaitsOnlySoLong(t *testing.T) {
	o := small(t, scenarios.InsertFirst)
	o.Acquirer.Latency, o.AttemptTimeout, o.Duration = acquirer.Fixed(time.Hour), 2*time.Hour, time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Live = func(p Progress) { cancel() }
	r, err := Run(ctx, servertest.Server(t), o)
	if err != nil || r.Status != results.Aborted || r.Verdict != results.Inconclusive || !strings.Contains(r.Reason, "were ended with the run") ||
		r.Load.IntentsUnfinished == 0 {
		t.Errorf("%v, %s, %s (%s), %v", err, r.Status, r.Verdict, r.Reason, r.Answers)
	}
}

// A server that goes away ends the run, with what was measured until then and in nobody's favour.
func TestLostServerEndsTheLoad(t *testing.T) {
	o := small(t, scenarios.InsertFirst)
	s := o.Strategy
	o.Strategy.New = func(env scenarios.Env) scenarios.Handler {
		handle, n := s.New(env), 0
		return func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
			if n++; n > 40 { // clients is 1: nobody counts beside
				_, err := db.Exec(ctx, `/* die */ SELECT pg_terminate_backend(pg_backend_pid())`)
				return scenarios.Response{}, err
			}
			return handle(ctx, db, acq, req)
		}
	}
	o.Duration, o.Clients, o.Pool = time.Hour, 1, 1
	r, err := Run(t.Context(), servertest.Server(t), o)
	if !errors.Is(err, ErrServerLost) || r.Status != results.Errored || r.Verdict != results.Inconclusive || r.Counts.Attempts < 30 {
		t.Errorf("%v, %s, %s (%s), %+v", err, r.Status, r.Verdict, r.Reason, r.Counts)
	}
}

// An open loop is as long as was asked for, however late its last arrival is, and what it says it served is what was answered in it.
func TestOpenLoopLastsAsLongAsAskedFor(t *testing.T) {
	o := small(t, scenarios.InsertFirst)
	o.Clients, o.Rate, o.Constant, o.MaxInFlight, o.Warmup, o.Duration = 0, 3, true, 10, 0, 2*time.Second
	l := run(t, o).Load
	if l.MeasuredMS != 2000 || len(l.Seconds) != 2 || l.Attempts != 6 || l.PerSecond != 2.5 {
		t.Errorf("%v ms, %d rows, %d attempts, %v a second", l.MeasuredMS, len(l.Seconds), l.Attempts, l.PerSecond)
	}
	o.Rate, o.Duration, o.MaxInFlight, o.RepeatShare, o.HotShare = 50, time.Second, 1000, 0, 0
	o.Acquirer.Latency = acquirer.Fixed(1500 * time.Millisecond)
	late := run(t, o).Load
	if late.PerSecond != 0 || late.Attempts < 40 {
		t.Errorf("%d attempts, all answered after the end, and %v a second", late.Attempts, late.PerSecond)
	}
}

// Intents that want their order made beforehand get it from each instance, side by side, whatever keys they share.
func TestInstancesPrepareSideBySide(t *testing.T) {
	for _, s := range []scenarios.Strategy{scenarios.ForUpdateOrder, scenarios.VersionColumn} {
		o := small(t, s)
		o.Instances, o.Duration, o.Clients, o.Pool, o.RepeatShare, o.HotShare = 4, time.Second, 16, 4, 0.5, 0.3
		o.Acquirer.Latency = acquirer.Fixed(time.Millisecond)
		if r := run(t, o); r.Verdict != results.Held || r.ExitCode != 0 {
			t.Errorf("%s: %s (%s), %v", s.Name, r.Verdict, r.Reason, r.SQLStates)
		}
	}
}

// An interrupted run of a strategy that wants orders is worth as much as any other: it would have held, had it come to its end.
func TestInterruptedLoadWithOrdersReadsItsRows(t *testing.T) {
	o := small(t, scenarios.ForUpdateOrder)
	o.Duration, o.Warmup, o.Acquirer.Latency = time.Hour, 0, acquirer.Fixed(time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Live = func(p Progress) {
		if p.Total.N > 200 {
			cancel()
		}
	}
	r, err := Run(ctx, servertest.Server(t), o)
	if err != nil || r.Verdict != results.Inconclusive || r.Reason != "interrupted" || r.Counts.Rows == nil {
		t.Errorf("%v, %s (%s)", err, r.Verdict, r.Reason)
	}
}

// What a client gives up it would try again, and here nobody does: no strategy is blamed for what is half-done then. Money taken
// twice is money taken twice.
func TestGivenUpAttemptsAreNotHeldAgainstAStrategy(t *testing.T) {
	for _, c := range []struct {
		strategy scenarios.Strategy
		verdict  results.Verdict
	}{{scenarios.IntentThenReconcile, results.Held}, {scenarios.InsertFirst, results.Held}, {scenarios.CheckThenAct, results.Violated}} {
		o := small(t, c.strategy)
		var slow acquirer.Latency
		if err := slow.Set("exp:20ms"); err != nil {
			t.Fatal(err)
		}
		o.Acquirer.Latency, o.AttemptTimeout, o.Duration, o.Clients, o.Pool = slow, 60*time.Millisecond, 2*time.Second, 16, 16
		o.RepeatShare = 0.5 // a busy machine lets few race
		r := run(t, o)
		if r.Verdict != c.verdict || r.Load.IntentsUnfinished == 0 || !strings.Contains(r.Reason, "were given up after 60ms") {
			t.Errorf("%s: %s (%s), %d unfinished", c.strategy.Name, r.Verdict, r.Reason, r.Load.IntentsUnfinished)
		}
	}
}

func noSchemas(t *testing.T, dsn string) {
	t.Helper()
	conn, err := pgx.Connect(context.WithoutCancel(t.Context()), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	var n int
	if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'idemlab%'`).Scan(&n); err != nil || n != 0 {
		t.Errorf("%d schemas left (%v)", n, err)
	}
}
