package race

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/acquirer"
	"idemlab/internal/instance"
	"idemlab/internal/server/servertest"
	"idemlab/internal/tables"
	"idemlab/results"
	"idemlab/scenarios"
)

// The article's two with an e-mail in the place of the capture, from this process and from two: the one sends a customer several, the
// other exactly one, and the document says of what it speaks.
func TestEMailsAreCountedLikeCaptures(t *testing.T) {
	for _, instances := range []int{1, 2} {
		for _, s := range []scenarios.Strategy{scenarios.CheckThenAct, scenarios.InsertFirst} {
			o := small(t, s)
			o.Effect, o.Instances, o.Rounds = scenarios.EMail, instances, 1
			r := run(t, o)
			c := r.Counts
			if r.ExitCode != 0 || r.Settings.Effect != "email" || r.Followups.ReplayedSameBytes != c.Intents {
				t.Errorf("%s, %d instances: %s, %s; %+v", s.Name, instances, r.Verdict, r.Reason, r.Followups)
			}
			if s.Name == scenarios.InsertFirst.Name {
				if r.Verdict != results.Held || c.Captures != c.Intents || c.CaptureRequests != c.Intents || !r.Control.Caught() || r.Control.Captures != 2 {
					t.Errorf("%d instances: %s: %s; %+v, control %+v", instances, r.Verdict, r.Reason, c.AcquirerCounts, r.Control)
				}
				continue
			}
			if r.Verdict != results.Violated || c.IntentsDoubleCharged != c.Intents || c.Captures <= c.Intents {
				t.Errorf("%d instances: %s: %s; %+v", instances, r.Verdict, r.Reason, c.AcquirerCounts)
			}
			if a := r.Anomalies[0]; a.Kind != string(scenarios.DoubleCharge) || !strings.HasSuffix(a.Detail, " e-mails for one intent") {
				t.Errorf("%d instances: %+v", instances, a)
			}
		}
	}
}

// Attempts in this process go through the same door as those of others: the counts alone would not show it.
func TestReachIsTheEffectsDoor(t *testing.T) {
	for _, e := range []scenarios.Effect{scenarios.Money, scenarios.EMail} {
		acq := acquirer.New(acquirer.Options{})
		of, hangUp, err := Options{Effect: e, Attempts: 1}.reach(t.Context(), acq)
		if err != nil {
			t.Fatal(err)
		}
		if r, err := of("i").Capture(t.Context(), scenarios.Charge{Key: "k"}); err != nil || !r.Approved || acq.Counts()["i"].Captures != 1 {
			t.Errorf("%s: %v, %v", e, r, err)
		}
		if _, _, err := of("i").Find(t.Context(), "k"); errors.Is(err, scenarios.ErrCannotAsk) != (e == scenarios.EMail) {
			t.Errorf("%s: asked about it: %v", e, err)
		}
		if err := hangUp(); err != nil {
			t.Error(err)
		}
	}
}

// The 250 is lost, and the attempt is made again. Nobody can be asked what became of the e-mail: a strategy that promises not to charge
// twice after a lost reply does not send another one, also those whose way it is to ask; and check-then-act does.
func TestALostAcceptanceIsNotSentAgain(t *testing.T) {
	ddl, err := os.ReadFile("../../schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	twice := map[string]bool{}
	for _, s := range scenarios.ChargeOnce.Strategies() {
		t.Run(s.Name, func(t *testing.T) {
			srv := servertest.Server(t)
			if why := s.Lacking(srv.Info().VersionNum); why != "" {
				t.Skip(s.Name, why)
			}
			schema, err := tables.Create(t.Context(), srv, string(ddl), s)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = schema.Drop(t.Context()) }()
			acq := acquirer.New(acquirer.Options{Dedup: s.WantsDedup})
			if err := acq.SetFaults([]acquirer.Rule{{Fault: acquirer.LostReply, Nth: 1}}); err != nil {
				t.Fatal(err)
			}
			url, stop, err := acq.ListenSMTP(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = stop() }()
			m, err := acquirer.DialSMTP(url, 1)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			inst, err := instance.Open(t.Context(), instance.Config{Conn: schema.Config(), Pool: 1, Isolation: pgx.ReadCommitted, Strategy: s})
			if err != nil {
				t.Fatal(err)
			}
			defer inst.Close()
			it := newIntent(1, 0, 0)
			conn, err := pgx.ConnectConfig(t.Context(), schema.Config())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(t.Context())
			if err := instance.Prepare(t.Context(), conn, s.Scenario(), s, it.req, 1); err != nil {
				t.Fatal(err)
			}
			var answers []scenarios.Answer
			for range 3 {
				r := inst.Handle(t.Context(), m.For(it.req.Key), it.req)
				answers = append(answers, r.Answer)
				if r.LostServer {
					t.Errorf("an e-mail's outcome was taken for PostgreSQL's end: %s", r.Err)
				}
			}
			n := acq.Counts()[it.req.Key].Captures
			twice[s.Name] = n > 1
			if never, _ := s.Judged(scenarios.LostReply, pgx.ReadCommitted); slices.Contains(never, scenarios.DoubleCharge) && n != 1 {
				t.Errorf("%d e-mails, answers %v", n, answers)
			}
			if strings.Contains(s.Name, "reconcile") && answers[1] != scenarios.InProgress {
				t.Errorf("whoever asks and cannot be told answers %v", answers)
			}
		})
	}
	if !twice[scenarios.CheckThenAct.Name] || twice[scenarios.IntentThenReconcile.Name] {
		t.Errorf("sent again: %v", twice)
	}
}
