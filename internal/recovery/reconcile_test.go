package recovery_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/acquirer"
	"idemlab/internal/attempt"
	"idemlab/internal/recovery"
	"idemlab/scenarios"
)

func reconcile(t *testing.T, l *attempt.Lab, o recovery.Options) recovery.Report {
	t.Helper()
	r, err := recovery.Reconcile(t.Context(), l.Aside, l.Acquirer.For("reconciler"), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// fates are those of a report, in order, as words.
func fates(r recovery.Report) string {
	var words []string
	for _, o := range r.Orphans {
		words = append(words, string(o.Fate))
	}
	return strings.Join(words, " ")
}

// What a dead worker would have answered, a retry is told; what the acquirer does not know is left as it was. Run again, it finds
// nothing more to do.
func TestOrphansAreFinishedWithTheAnswerOfTheirWorker(t *testing.T) {
	for _, s := range []scenarios.Strategy{scenarios.InsertFirst, scenarios.IntentThenReconcile, scenarios.RecoveryPoints} {
		for _, declines := range []float64{0, 1} {
			l := lab(t, s, acquirer.Options{DeclineShare: declines})
			whole := try(t, l, attempt.Nothing)
			dead := try(t, l, attempt.AfterCapture)
			early := try(t, l, attempt.AfterClaim)
			want, receipt := recovery.Captured, l.Acquirer.Ledger()[1].Receipt
			if declines > 0 {
				want = recovery.Declined
			}

			o := recovery.Options{AcquirerKey: s.AcquirerKey}
			r := reconcile(t, l, o)
			if fates(r) != string(want)+" unknown" || r.Orphans[0].Receipt != receipt || r.Orphans[1].Reason == "" {
				t.Fatalf("%s, declines %v: %+v", s.Name, declines, r.Orphans)
			}
			a := again(t, l, dead, attempt.Nothing)
			first := whole.Attempts[0]
			same := strings.Replace(first.Body, l.Acquirer.Ledger()[0].Receipt.ID, receipt.ID, 1)
			if a.Answer != scenarios.Replayed || a.HTTP != first.HTTP || a.Body != same || a.Body != r.Orphans[0].Body {
				t.Errorf("%s, declines %v: a retry is told %+v, the first answer of another was %+v", s.Name, declines, a, first)
			}
			if r := reconcile(t, l, o); fates(r) != "unknown" || r.Changed() != 0 {
				t.Errorf("%s, declines %v: once more: %+v", s.Name, declines, r.Orphans)
			}
			if n := captures(l, early); n != 0 {
				t.Errorf("%s: it charged: %d captures", s.Name, n)
			}
		}
	}
}

// The classic fault: a live attempt taken for dead. Whoever deletes its claim has the customer charged twice; whoever leaves it does not.
func TestALiveAttemptIsTakenForDead(t *testing.T) {
	for _, c := range []struct {
		name     string
		eager    bool
		fate     recovery.Fate
		told     scenarios.Answer
		captures int
	}{
		{"eager", true, recovery.Deleted, scenarios.Charged, 2},
		{"patient", false, recovery.Unknown, scenarios.InProgress, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := lab(t, scenarios.InsertFirst, acquirer.Options{})
			it := try(t, l, attempt.SlowRequest) // on its way, and not there yet
			if r := reconcile(t, l, recovery.Options{Eager: c.eager}); fates(r) != string(c.fate) {
				t.Fatalf("%+v", r.Orphans)
			}
			if a := again(t, l, it, attempt.Nothing); a.Answer != c.told {
				t.Errorf("the retry is told %s, want %s", a.Answer, c.told)
			}
			if a := land(t, l, it); a.Answer != scenarios.Charged {
				t.Errorf("the first attempt is told %s", a.Answer)
			}
			if n := captures(l, it); n != c.captures {
				t.Errorf("%d captures, want %d", n, c.captures)
			}
		})
	}
}

// The eager one is harmless where the lease is longer than the call: that is what a lease has to be.
func TestALeaseLongerThanTheCallProtectsEvenFromTheEagerOne(t *testing.T) {
	l := lab(t, scenarios.InsertFirst, acquirer.Options{})
	it := try(t, l, attempt.SlowRequest)
	if r := reconcile(t, l, recovery.Options{Eager: true, Lease: time.Hour}); len(r.Orphans) != 0 {
		t.Fatalf("%+v", r.Orphans)
	}
	land(t, l, it)
	if n := captures(l, it); n != 1 {
		t.Errorf("%d captures", n)
	}
}

// A worker that was taken for dead while the acquirer had its request already: both write the same.
func TestAWorkerThatLivesWritesTheSame(t *testing.T) {
	l := lab(t, scenarios.InsertFirst, acquirer.Options{})
	it := try(t, l, attempt.SlowAnswer)
	r := reconcile(t, l, recovery.Options{})
	told := land(t, l, it)
	if fates(r) != "captured" || told.Answer != scenarios.Charged || told.Body != r.Orphans[0].Body || told.HTTP != r.Orphans[0].HTTP {
		t.Errorf("recorded %+v, the worker was told %+v", r.Orphans, told)
	}
}

// Two at once ask about each row before either writes: one of them writes.
func TestTwoReconcilersAtOnce(t *testing.T) {
	l := lab(t, scenarios.InsertFirst, acquirer.Options{})
	const n = 5
	for range n {
		try(t, l, attempt.AfterCapture)
	}
	both := &meeting{Finder: l.Acquirer.For("reconciler"), of: 2}
	reports := make([]recovery.Report, 2)
	errs := make([]error, 2)
	var wg sync.WaitGroup
	for i := range reports {
		conn := connect(t, l, pgx.ReadCommitted)
		wg.Go(func() { reports[i], errs[i] = recovery.Reconcile(t.Context(), conn, both, recovery.Options{}) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		a, b := reports[0].Orphans[i], reports[1].Orphans[i]
		if (a.Fate == recovery.Captured) == (b.Fate == recovery.Captured) || (a.Fate == recovery.Changed) == (b.Fate == recovery.Changed) {
			t.Errorf("row %d: %s and %s", a.ID, a.Fate, b.Fate)
		}
	}
	tally, err := l.Tally(t.Context(), "")
	if err != nil || tally.Stage.Recorded != n || tally.Stage.Captures != n || tally.Stage.Orphans != 0 {
		t.Errorf("%+v, %v", tally.Stage, err)
	}
}

// meeting answers when all have asked.
type meeting struct {
	recovery.Finder
	of int

	mu    sync.Mutex
	asked int
	all   chan struct{}
}

func (m *meeting) Find(ctx context.Context, key string) (scenarios.Receipt, bool, error) {
	m.mu.Lock()
	if m.all == nil {
		m.all = make(chan struct{})
	}
	all := m.all
	if m.asked++; m.asked == m.of {
		m.asked, m.all = 0, nil
		close(all)
	}
	m.mu.Unlock()
	select {
	case <-all:
	case <-ctx.Done():
		return scenarios.Receipt{}, false, ctx.Err()
	}
	return m.Finder.Find(ctx, key)
}

// Ages are the server's: a row is as old as it says, whatever the reconciler's clock, and also within a transaction that began before it.
func TestAgesAreTheServersOwn(t *testing.T) {
	l := lab(t, scenarios.InsertFirst, acquirer.Options{})
	conn := connect(t, l, pgx.ReadCommitted)
	tx, err := conn.Begin(t.Context()) // here now() stands still
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	if _, err := tx.Exec(t.Context(), `SELECT now()`); err != nil {
		t.Fatal(err)
	}
	young, old := try(t, l, attempt.AfterCapture), try(t, l, attempt.AfterCapture)
	if _, err := l.Aside.Exec(t.Context(), `UPDATE cobranca SET criada_em = criada_em - interval '2 minutes' WHERE idempotency_key = $1`, old.Request.Key); err != nil {
		t.Fatal(err)
	}
	r, err := recovery.Reconcile(t.Context(), tx, l.Acquirer.For(""), recovery.Options{Lease: time.Minute, DryRun: true})
	if err != nil || len(r.Orphans) != 1 || r.Orphans[0].Key != old.Request.Key || r.Orphans[0].Age < 2*time.Minute || r.Orphans[0].Age > time.Hour {
		t.Errorf("older than a minute: %+v, %v", r.Orphans, err)
	}
	r, err = recovery.Reconcile(t.Context(), tx, l.Acquirer.For(""), recovery.Options{DryRun: true})
	if err != nil || len(r.Orphans) != 2 || r.Orphans[0].Key != young.Request.Key {
		t.Errorf("of any age: %+v, %v", r.Orphans, err)
	}
}

func TestADryRunWritesNothing(t *testing.T) {
	l := lab(t, scenarios.InsertFirst, acquirer.Options{})
	it := try(t, l, attempt.AfterCapture)
	try(t, l, attempt.AfterClaim)
	for _, eager := range []bool{false, true} {
		r := reconcile(t, l, recovery.Options{DryRun: true, Eager: eager})
		if n, cents := r.Count(recovery.Captured); n != 1 || cents != it.Request.AmountCents || r.Changed() != 0 || r.Orphans[0].HTTP != 201 {
			t.Errorf("%+v", r)
		}
	}
	tally, err := l.Tally(t.Context(), "")
	if err != nil || tally.Stage.Orphans != 2 || tally.Stage.WithoutRecordCents != it.Request.AmountCents {
		t.Errorf("%+v, %v", tally.Stage, err)
	}
}

// A deadline closes what never arrived, and nothing else.
func TestADeadlineClosesWhatTheAcquirerDoesNotKnow(t *testing.T) {
	l := lab(t, scenarios.InsertFirst, acquirer.Options{})
	never, captured, fresh := try(t, l, attempt.AfterClaim), try(t, l, attempt.AfterCapture), try(t, l, attempt.AfterClaim)
	if _, err := l.Aside.Exec(t.Context(), `UPDATE cobranca SET criada_em = criada_em - interval '1 day' WHERE idempotency_key <> $1`, fresh.Request.Key); err != nil {
		t.Fatal(err)
	}
	if r := reconcile(t, l, recovery.Options{Deadline: time.Hour}); fates(r) != "closed captured unknown" {
		t.Fatalf("%+v", r.Orphans)
	}
	for it, want := range map[*attempt.Intent]int{never: 402, captured: 201, fresh: 409} {
		if a := again(t, l, it, attempt.Nothing); a.HTTP != want {
			t.Errorf("intent %d: told %d %s, want %d", it.Number, a.HTTP, a.Answer, want)
		}
	}
}

// An acquirer that does not answer is asked three times, and every row is left.
func TestSilenceLeavesTheRows(t *testing.T) {
	l := lab(t, scenarios.InsertFirst, acquirer.Options{})
	for range 5 {
		try(t, l, attempt.AfterCapture)
	}
	down := &silent{}
	r, err := recovery.Reconcile(t.Context(), l.Aside, down, recovery.Options{})
	if n, _ := r.Count(recovery.Unreachable); err != nil || n != 5 || down.asked != 3 {
		t.Errorf("asked %d times: %+v, %v", down.asked, r.Orphans, err)
	}
	if r := reconcile(t, l, recovery.Options{}); r.Changed() != 5 {
		t.Errorf("afterwards: %+v", r.Orphans)
	}
}

// An e-mail cannot be asked about, which is not "it never went out": its orphans are left whatever is done with those of which the
// acquirer knows nothing, and said so of each.
func TestWhatCannotBeAskedAboutIsLeft(t *testing.T) {
	l := lab(t, scenarios.InsertFirst, acquirer.Options{})
	for range 5 {
		try(t, l, attempt.AfterCapture)
	}
	url, stop, err := l.Acquirer.ListenSMTP(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stop() }()
	m, err := acquirer.DialSMTP(url, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, o := range []recovery.Options{{}, {Eager: true}, {Deadline: time.Nanosecond}} {
		r, err := recovery.Reconcile(t.Context(), l.Aside, m.For("reconciler"), o)
		if n, _ := r.Count(recovery.Unreachable); err != nil || n != 5 || r.Changed() != 0 {
			t.Errorf("%+v: %+v, %v", o, r.Orphans, err)
		}
		for _, orphan := range r.Orphans {
			if !strings.Contains(orphan.Reason, "no way to ask") {
				t.Errorf("left without its reason: %q", orphan.Reason)
			}
		}
	}
	if n := len(l.Acquirer.Ledger()); n != 5 {
		t.Errorf("something was sent: %d", n)
	}
	if r := reconcile(t, l, recovery.Options{}); r.Changed() != 5 { // somebody who can be asked
		t.Errorf("afterwards: %+v", r.Orphans)
	}
}

type silent struct{ asked int }

func (s *silent) Find(context.Context, string) (scenarios.Receipt, bool, error) {
	s.asked++
	return scenarios.Receipt{}, false, errors.New("connection refused")
}

// A table may hold more orphans than are read at once.
func TestEveryBatchIsRead(t *testing.T) {
	l := lab(t, scenarios.InsertFirst, acquirer.Options{})
	const n = 1203
	if _, err := l.Aside.Exec(t.Context(), `INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status)
		SELECT 'k' || i, i, 1, 'PROCESSANDO' FROM generate_series(1, $1) i`, n); err != nil {
		t.Fatal(err)
	}
	seen := 0
	r := reconcile(t, l, recovery.Options{FromOrder: 3, Each: func(recovery.Orphan) { seen++ }})
	if len(r.Orphans) != n-2 || seen != n-2 || r.Orphans[0].OrderID != 3 {
		t.Errorf("%d orphans, told of %d", len(r.Orphans), seen)
	}
	if d := r.Document("only"); d.Found.Count != n-2 || d.Found.Cents != n-2 || len(d.Orphans) != 200 {
		t.Errorf("the document has %d of %d", len(d.Orphans), d.Found.Count)
	}
}

func TestTheEndOfTheContextEndsThePass(t *testing.T) {
	l := lab(t, scenarios.InsertFirst, acquirer.Options{})
	try(t, l, attempt.AfterCapture)
	try(t, l, attempt.AfterCapture)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := recovery.Reconcile(ctx, l.Aside, l.Acquirer.For(""), recovery.Options{Each: func(recovery.Orphan) { cancel() }})
	if !errors.Is(err, context.Canceled) || fates(r) != "captured" {
		t.Errorf("%+v, %v", r.Orphans, err)
	}
}

func TestOptionsThatCannotBeMeant(t *testing.T) {
	for _, o := range []recovery.Options{
		{Lease: -1}, {Deadline: -1}, {Patience: -1}, {Lease: time.Minute, Deadline: time.Second}, {Eager: true, Deadline: time.Hour},
	} {
		if _, err := recovery.Reconcile(t.Context(), nil, nil, o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}

// Where nothing can be on its way any more, what the acquirer does not know is closed at any age; one order's rows can be had alone.
func TestNothingUnderWay(t *testing.T) {
	l := lab(t, scenarios.InsertFirst, acquirer.Options{})
	one, other := try(t, l, attempt.AfterClaim), try(t, l, attempt.AfterClaim)
	o := recovery.Options{NothingUnderWay: true, OnlyOrder: other.Request.OrderID}
	if r := reconcile(t, l, o); fates(r) != "closed" || r.Orphans[0].OrderID != other.Request.OrderID || r.Orphans[0].HTTP != 402 {
		t.Errorf("%+v", r.Orphans)
	}
	if r := reconcile(t, l, recovery.Options{}); fates(r) != "unknown" || r.Orphans[0].OrderID != one.Request.OrderID {
		t.Errorf("what was not to be touched: %+v", r.Orphans)
	}
	o.Eager = true
	if _, err := recovery.Reconcile(t.Context(), l.Aside, l.Acquirer.For("reconciler"), o); err == nil || !strings.Contains(err.Error(), "exclude each other") {
		t.Errorf("%v", err)
	}
}
