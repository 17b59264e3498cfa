package retry

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.uber.org/goleak"

	"idemlab/internal/acquirer"
	"idemlab/internal/check"
	"idemlab/internal/fault"
	"idemlab/internal/server"
	"idemlab/internal/server/servertest"
	"idemlab/results"
	"idemlab/scenarios"
)

// options are those of a customer who has the patience of a slow machine: only what a test says goes wrong goes wrong.
func options(t *testing.T, s scenarios.Strategy, faults ...string) Options {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ddl, err := os.ReadFile("../../schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	var asked []fault.Fault
	for _, text := range faults {
		f, err := fault.Parse(text, []string{"claim", "read", "record", "begin", "commit"})
		if err != nil {
			t.Fatal(err)
		}
		asked = append(asked, f)
	}
	return Options{
		Strategy: s, Intents: 3, Concurrency: 1, Clicks: 1,
		Timeout: 30 * time.Second, Retries: 20, Backoff: Exponential(time.Millisecond, 10*time.Millisecond), KeyPolicy: SameKey,
		Faults: fault.Expand(asked, []string{"claim", "read", "record"}), Asked: asked,
		Instances: 1, Pool: 4, Isolation: pgx.ReadCommitted, Seed: 1, Expect: check.ExpectClaim, DDL: string(ddl), Child: []string{self, childArg},
		Control: &results.Control{Ran: true, Strategy: "check-then-act", ForcedCharge: &results.ForcedCharge{Captures: 2, DoubleCharged: true}},
	}
}

// run runs, and looks whether anything was left behind.
func run(t *testing.T, o Options) results.Run {
	t.Helper()
	return runOn(t, servertest.Server(t), o)
}

func runOn(t *testing.T, srv *server.Server, o Options) results.Run {
	t.Helper()
	before := goleak.IgnoreCurrent()
	r, err := Run(t.Context(), srv, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
	nothingLeft(t, srv)
	valid(t, r)
	for _, f := range r.Retry.Faults {
		t.Logf("%s struck %d", f.Fault, f.Struck)
	}
	t.Logf("%s %s (%s): %d captures, told %+v, orphans %+v", r.Strategy, r.Verdict, r.Reason, r.Counts.Captures, r.Retry.Told, r.Retry.Orphans)
	return r
}

// nothingLeft waits until the connections of processes that were killed have been noticed, and finds no schema.
func nothingLeft(t *testing.T, srv *server.Server) {
	t.Helper()
	conn, err := pgx.ConnectConfig(t.Context(), srv.Config())
	if err != nil {
		t.Fatal(err)
	}
	defer server.CloseConn(t.Context(), conn)
	for {
		var sessions, schemas int
		err := conn.QueryRow(t.Context(), `
			SELECT (SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'idemlab% attempts%'),
			       (SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'idemlab\_%')`).Scan(&sessions, &schemas)
		if err != nil {
			t.Fatal(err)
		}
		if schemas > 0 {
			t.Fatalf("%d schemas left", schemas)
		}
		if sessions == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond) // a backend ends when it notices, and tells nobody
	}
}

// valid holds the document against its schema.
func valid(t *testing.T, r results.Run) {
	t.Helper()
	r.Tool.Version = "test"
	text, err := json.Marshal(results.Document{Format: results.Format, Verdict: r.Verdict, Runs: []results.Run{r}})
	if err != nil {
		t.Fatal(err)
	}
	schema, err := jsonschema.UnmarshalJSON(strings.NewReader(results.Schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", schema); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := compiled.Validate(value); err != nil {
		t.Errorf("the document does not fit its schema: %v", err)
	}
}

// impatient is the customer who waits less than the acquirer takes, and taps three times meanwhile.
func impatient(o Options) Options {
	o.Timeout, o.Clicks, o.Retries = 30*time.Millisecond, 3, 5
	o.Acquirer = acquirer.Options{Latency: acquirer.Fixed(100 * time.Millisecond)}
	return o
}

// No concurrency trick: a time-out is enough to be charged twice, and the key is enough not to be.
func TestATimeOutIsEnough(t *testing.T) {
	r := run(t, impatient(options(t, scenarios.CheckThenAct)))
	if r.Counts.IntentsDoubleCharged != 3 || r.Verdict != results.Violated || r.ExitCode != 0 || r.Hazard != "race" {
		t.Errorf("check-then-act: %+v, %s, exit %d, under %s", r.Counts.AcquirerCounts, r.Verdict, r.ExitCode, r.Hazard)
	}
	if len(r.Retry.Stories) != 3 || !strings.Contains(strings.Join(r.Retry.Stories[0].Lines, "\n"), "tap 1: no answer within 30ms") {
		t.Errorf("stories: %+v", r.Retry.Stories)
	}
	o := impatient(options(t, scenarios.InsertFirst))
	o.Reconcile = true // whoever has no answer on a slow machine comes back
	r = run(t, o)
	if r.Counts.Captures != 3 || r.Verdict != results.Held || r.ExitCode != 0 || r.Retry.Final.Never != 0 || r.Answers["replayed"] == 0 {
		t.Errorf("insert-first: %+v, %s, exit %d, answers %v", r.Counts.AcquirerCounts, r.Verdict, r.ExitCode, r.Answers)
	}
}

// The process dies when the money has moved. The claim was committed: nobody is charged again, and what is missing is known to the
// cent. The acquirer knows what became of it.
func TestKilledAfterTheCapture(t *testing.T) {
	r := run(t, options(t, scenarios.InsertFirst, "service:kill@after-capture"))
	if r.Counts.Captures != 3 || r.Counts.DuplicateCaptures != 0 || r.Retry.ServiceDeaths != 3 || r.Hazard != "crash" || r.ExitCode != 0 {
		t.Errorf("%+v, %d deaths, exit %d", r.Counts.AcquirerCounts, r.Retry.ServiceDeaths, r.ExitCode)
	}
	if n := r.Retry.Orphans; n.After != 3 || len(n.Named) != 3 || !n.Named[0].Left || *n.Named[0].TakenCents != 25000 {
		t.Errorf("orphans: %+v", n)
	}
	if u := r.Retry.Unrecorded; *u.AfterCents != 75000 || len(u.Named) != 3 || len(u.Named[0].Receipts) != 1 {
		t.Errorf("unrecorded: %+v", u)
	}
	if r.Retry.Told[0] != (results.RetryTold{Answer: "in_progress", Taken: results.RetryCharged{Once: 3}}) {
		t.Errorf("told: %+v", r.Retry.Told)
	}

	o := options(t, scenarios.InsertFirst, "service:kill@after-capture")
	o.Reconcile, o.Lease = true, time.Hour // only at the end, so that there is something to settle then
	r = run(t, o)
	if c := r.Counts; c.Captures != 3 || *c.Rows != 3 || *c.Orphans != 0 || *c.ChargedWithoutRecord != 0 || r.Verdict != results.Held || r.ExitCode != 0 {
		t.Errorf("%+v, %s", c.AcquirerCounts, r.Verdict)
	}
	n := *r.Retry.Reconciliation
	if n.Captured != 3 || n.AgainChanged != 0 || r.Retry.Orphans.Before != 3 || r.Retry.Orphans.After != 0 || r.Retry.Final.AtTheEnd != 3 {
		t.Errorf("%+v, %+v, %+v", n, r.Retry.Orphans, r.Retry.Final)
	}
	if u := r.Retry.Unrecorded; *u.BeforeCents != 75000 || *u.AfterCents != 0 || u.Named[0].Left {
		t.Errorf("unrecorded: %+v", u)
	}
}

// A strategy that sends a key of its own is asked about by that.
func TestReconciledByAKeyOfItsOwn(t *testing.T) {
	o := options(t, scenarios.RecoveryPoints, "service:kill@after-capture")
	o.Retries, o.Reconcile = 0, true // the customer does not come back until the end
	r := run(t, o)
	n := *r.Retry.Reconciliation
	if r.Counts.Captures != 3 || n.Captured == 0 || n.Captured != r.Retry.Faults[0].Struck || n.Closed != 0 || *r.Counts.ChargedWithoutRecord != 0 {
		t.Errorf("%+v, %+v", r.Counts.AcquirerCounts, n)
	}
}

// In an open transaction the claim dies with the process, and the retry charges again.
func TestKilledInAnOpenTransaction(t *testing.T) {
	r := run(t, options(t, scenarios.InsertFirstOpenTx, "service:kill@after-capture"))
	if r.Counts.Captures != 6 || r.Counts.IntentsDoubleCharged != 3 || *r.Counts.Rows != 3 || r.Verdict != results.Violated || r.ExitCode != 0 {
		t.Errorf("%+v, %s", r.Counts.AcquirerCounts, r.Verdict)
	}
	if u := r.Retry.Unrecorded; *u.AfterCents != 75000 {
		t.Errorf("unrecorded: %+v", u)
	}
}

// A lease that ends before the call does is a second charge; only the acquirer can help.
func TestALeaseShorterThanTheCall(t *testing.T) {
	for _, s := range []scenarios.Strategy{scenarios.LeaseTakeover, scenarios.LeaseTakeoverFenced} {
		o := options(t, s)
		o.Timeout, o.Lease, o.Retries, o.Acquirer.Latency = 50*time.Millisecond, time.Millisecond, 3, acquirer.Fixed(500*time.Millisecond)
		if r := run(t, o); r.Counts.IntentsDoubleCharged != 3 || r.Verdict != results.Violated || r.ExitCode != 0 {
			t.Errorf("%s: %+v, %s", s.Name, r.Counts.AcquirerCounts, r.Verdict)
		}
		o.Acquirer.Dedup = true
		if r := run(t, o); r.Counts.Captures != 3 || r.Verdict != results.Held || r.ExitCode != 0 {
			t.Errorf("%s, deduplicated: %+v, %s, exit %d", s.Name, r.Counts.AcquirerCounts, r.Verdict, r.ExitCode)
		}
	}
}

// The statement is done and its acknowledgement is lost: the error says nothing about the transaction.
func TestAnAcknowledgementIsLost(t *testing.T) {
	o := options(t, scenarios.InsertFirstOpenTx, "commit:ack-lost")
	o.Expect = check.ExpectHeld // of this fault by itself the strategy makes no claim
	r := run(t, o)
	if r.Counts.Captures != 3 || *r.Counts.Rows != 3 || r.Answers["failed"] != 3 || r.Answers["replayed"] != 3 {
		t.Errorf("commit: %+v, answers %v", r.Counts.AcquirerCounts, r.Answers)
	}
	r = run(t, options(t, scenarios.InsertFirst, "claim:ack-lost"))
	if r.Counts.Captures != 0 || *r.Counts.Orphans != 3 || r.Answers["in_progress"] == 0 {
		t.Errorf("claim: %+v, answers %v", r.Counts.AcquirerCounts, r.Answers)
	}
}

// What is lost between the client and the service is a retry, and no more.
func TestLostOnTheWay(t *testing.T) {
	o := options(t, scenarios.InsertFirst, "request:lost", "answer:lost")
	o.Timeout = time.Second
	o.Reconcile = true
	r := run(t, o)
	if r.Counts.Captures != 3 || r.Hazard != "race" || r.Retry.Requests.Unheard < 6 || r.Answers["replayed"] != 3 || r.Answers["charged"] != 0 || r.ExitCode != 0 {
		t.Errorf("%+v under %s, %+v, %v", r.Counts.AcquirerCounts, r.Hazard, r.Retry.Requests, r.Answers)
	}
}

// No strategy is better than the key it is given.
func TestANewKeyForEachAttempt(t *testing.T) {
	o := impatient(options(t, scenarios.InsertFirst))
	o.KeyPolicy = NewPerAttempt
	if r := run(t, o); r.Counts.IntentsDoubleCharged != 3 || r.Verdict != results.Violated || r.ExitCode != 0 {
		t.Errorf("%+v, %s", r.Counts.AcquirerCounts, r.Verdict)
	}
	o.KeyPolicy, o.Reconcile = OrderID, true
	if r := run(t, o); r.Counts.Captures != 3 || r.Verdict != results.Held {
		t.Errorf("%+v, %s", r.Counts.AcquirerCounts, r.Verdict)
	}
}

// A fault that never struck, and a retry that was never sent, prove nothing.
func TestNothingHappened(t *testing.T) {
	r := run(t, options(t, scenarios.InsertFirst))
	if r.Verdict != results.Inconclusive || r.ExitCode != check.ExitInconclusive || !strings.Contains(r.Reason, "no request was sent again") {
		t.Errorf("%s, %s", r.Verdict, r.Reason)
	}
	o := options(t, scenarios.InsertFirst, "answer:lost", "commit:ack-lost")
	o.Timeout = time.Second
	r = run(t, o)
	if r.Verdict != results.Inconclusive || !strings.Contains(r.Reason, "commit:ack-lost never struck") {
		t.Errorf("%s, %s", r.Verdict, r.Reason)
	}
}

// everything is a short sample of what the soak test does at length.
func everything(t *testing.T, intents int, seed uint64, more ...string) Options {
	o := options(t, scenarios.InsertFirst, append([]string{"all@5%"}, more...)...)
	o.Intents, o.Seed, o.Concurrency, o.Pool, o.Instances, o.Clicks = intents, seed, 8, 8, 2, 2
	o.Timeout, o.Retries, o.Reconcile, o.RetryAfterCap = 100*time.Millisecond, 4, true, 20*time.Millisecond
	o.Acquirer = acquirer.Options{Latency: acquirer.Fixed(5 * time.Millisecond), Seed: seed}
	return o
}

// soundness is what must be so however much went wrong.
func soundness(t *testing.T, r results.Run) {
	t.Helper()
	c := r.Counts
	if c.DuplicateCaptures != 0 || *c.Orphans != 0 || *c.ChargedWithoutRecord != 0 || c.AnsweredWithoutCharge != 0 || c.OwedCents != c.CapturedCents {
		t.Errorf("%+v", c.AcquirerCounts)
	}
	if c.Intents != r.Settings.Intents || *c.Rows != c.Intents || r.Retry.Final.Never != 0 || *r.Retry.Unrecorded.AfterCents != 0 || r.Retry.Reconciliation.AgainChanged != 0 {
		t.Errorf("%d intents, %d rows, %+v, %+v, %+v", c.Intents, *c.Rows, r.Retry.Final, r.Retry.Unrecorded, r.Retry.Reconciliation)
	}
	for _, told := range r.Retry.Told {
		charged := told.Answer == "charged" || told.Answer == "replayed"
		if charged != (told.Taken.Never == 0) || !charged && told.Taken.Once > 0 {
			t.Errorf("told %s: %+v", told.Answer, told.Taken)
		}
	}
	if r.Verdict != results.Held || r.ExitCode != 0 {
		t.Errorf("%s (%s), exit %d", r.Verdict, r.Reason, r.ExitCode)
	}
}

func TestEveryFaultAtOnce(t *testing.T) {
	r := run(t, everything(t, 150, 1))
	soundness(t, r)
	struck := 0
	for _, f := range r.Retry.Faults {
		if f.Struck > 0 {
			struck++
		}
	}
	if struck < 9 { // of 13; a commit there is not, and a claim that dies has no further step
		t.Errorf("only %d kinds of fault struck", struck)
	}
}

// The server crashes under all of it.
func TestPostgresCrashesMeanwhile(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	srv, err := server.Open(ctx, server.Options{Connections: 100, Environ: []string{"PATH=" + os.Getenv("PATH")}, Say: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := srv.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	r := runOn(t, srv, everything(t, 60, 2, "postgres:restart@20", "postgres:restart@60"))
	soundness(t, r)
	if r.Retry.PostgresCrashes != 2 || r.Hazard != "crash" {
		t.Errorf("%d crashes", r.Retry.PostgresCrashes)
	}
}

// A commit that waits for no disk is no promise: the crash takes claims with it that had been acknowledged, and with them what keeps a retry
// from charging again. The very same crash does nothing of the kind where commits are durable, as above.
func TestPostgresCrashesThatForgets(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	srv, err := server.Open(ctx, server.Options{
		Connections: 100, Environ: []string{"PATH=" + os.Getenv("PATH")}, Say: t.Logf,
		Settings: []string{"synchronous_commit=off", "wal_writer_delay=10s", "wal_writer_flush_after=1GB"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := srv.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	o := options(t, scenarios.InsertFirst, "postgres:restart@10")
	o.Intents, o.Retries = 20, 1000
	r := runOn(t, srv, o)
	if *r.Retry.Unrecorded.AfterCents == 0 || *r.Counts.Rows == 20 {
		t.Errorf("nothing was forgotten: %d rows, %+v", *r.Counts.Rows, r.Retry.Unrecorded)
	}
}

// Interrupted, a run says so, and leaves as little behind as one that came to its end.
func TestInterrupted(t *testing.T) {
	srv := servertest.Server(t)
	before := goleak.IgnoreCurrent()
	ctx, interrupt := context.WithCancel(t.Context())
	o := everything(t, 100_000, 1)
	stop := make(chan struct{})
	go func() {
		defer close(stop)
		conn, err := pgx.ConnectConfig(t.Context(), srv.Config())
		if err != nil {
			t.Error(err)
			interrupt()
			return
		}
		defer server.CloseConn(context.Background(), conn)
		for sessions := 0; sessions == 0; time.Sleep(5 * time.Millisecond) { // until the service is there
			if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE query LIKE '/* record */%'`).Scan(&sessions); err != nil {
				t.Error(err)
				break
			}
		}
		interrupt()
	}()
	r, err := Run(ctx, srv, o)
	<-stop
	if err != nil || r.Status != results.Aborted || r.Verdict == results.Held {
		t.Errorf("%v, %s, %s", err, r.Status, r.Verdict)
	}
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
	nothingLeft(t, srv)
	valid(t, r)
}
