package retry

import (
	"strings"
	"testing"
	"time"

	"idemlab/results"
	"idemlab/scenarios"
)

func byEMail(o Options) Options {
	o.Effect = scenarios.EMail
	return o
}

// RFC 1047 with a service in front: the 250 is lost, the client comes again, and the customer has two e-mails, or one.
func TestALost250(t *testing.T) {
	for _, c := range []struct {
		s       scenarios.Strategy
		e, kind int
	}{{scenarios.CheckThenAct, 2, 1}, {scenarios.InsertFirst, 1, 0}} {
		o := byEMail(options(t, c.s, "capture:reply-lost"))
		o.Retries = 3
		r := run(t, o)
		if n := r.Counts; n.Captures != c.e*n.Intents || n.IntentsDoubleCharged != c.kind*n.Intents || r.Settings.Effect != "email" {
			t.Errorf("%s: %+v", c.s.Name, n.AcquirerCounts)
		}
		if r.ExitCode != 0 || r.Hazard != string(scenarios.LostReply) || r.Retry.Faults[0].Struck != 3 {
			t.Errorf("%s: %s: %s, %+v", c.s.Name, r.Verdict, r.Reason, r.Retry.Faults)
		}
		lines := strings.Join(r.Retry.Stories[0].Lines, "\n")
		if !strings.Contains(lines, "mail server: queues the e-mail as cap-") || strings.Contains(lines, "captures") {
			t.Errorf("%s: the story is of something else:\n%s", c.s.Name, lines)
		}
	}
}

// Where a lease was taken over and no orphan is left, nothing is said of one.
func TestNoEMailsOrphanWasLeft(t *testing.T) {
	o := byEMail(options(t, scenarios.LeaseTakeoverFenced, "capture:reply-lost"))
	o.Reconcile, o.Lease = true, 20*time.Millisecond
	r := run(t, o)
	if r.ExitCode != 0 || r.Retry.Orphans.After != 0 || strings.Contains(r.Reason, "is left") {
		t.Errorf("%s, exit %d: %s; %+v", r.Verdict, r.ExitCode, r.Reason, r.Retry.Orphans)
	}
}

// What is done about orphans everywhere else cannot be done here: nobody can be asked. They are left, with that reason, and nothing is sent
// again, whoever it is that would ask; the same run over HTTP mends them all.
func TestAnEMailsOrphanCannotBeReconciled(t *testing.T) {
	for _, s := range []scenarios.Strategy{scenarios.InsertFirst, scenarios.IntentThenReconcile} {
		o := options(t, s, "capture:reply-lost")
		o.Retries, o.Reconcile = 3, true
		if r := run(t, o); r.Verdict != results.Held || r.Retry.Orphans.After != 0 || r.Retry.Reconciliation.CannotAsk != 0 {
			t.Errorf("%s, captures: %s: %s; %+v", s.Name, r.Verdict, r.Reason, r.Retry.Orphans)
		}
		r := run(t, byEMail(o))
		n, left := r.Counts, r.Retry.Reconciliation
		if n.Captures != n.Intents || n.CaptureRequests != n.Intents || r.Retry.Orphans.After != n.Intents || left.CannotAsk != n.Intents || left.Closed != 0 {
			t.Errorf("%s: %+v, %+v", s.Name, n.AcquirerCounts, left)
		}
		if r.ExitCode != 0 || !strings.Contains(r.Reason, "cannot be reconciled") {
			t.Errorf("%s: %s, exit %d: %s", s.Name, r.Verdict, r.ExitCode, r.Reason)
		}
		lines := strings.Join(r.Retry.Stories[0].Lines, "\n")
		if strings.Count(lines, "no way to ask") != 1 {
			t.Errorf("%s: the story says why other than once:\n%s", s.Name, lines)
		}
	}
}
