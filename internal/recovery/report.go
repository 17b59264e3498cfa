package recovery

import (
	"time"

	"idemlab/results"
	"idemlab/scenarios"
)

// Fate is what became of an orphan.
type Fate string

// The fates.
const (
	Captured    Fate = "captured"    // the acquirer has the money: now recorded
	Declined    Fate = "declined"    // the acquirer said no: now recorded
	Closed      Fate = "closed"      // the acquirer knows nothing, and nothing can be on its way any more: now RECUSADA
	Unknown     Fate = "unknown"     // the acquirer knows nothing, yet: left
	Unreachable Fate = "unreachable" // the acquirer did not answer, or cannot be asked: left
	Changed     Fate = "changed"     // somebody else finished, holds or removed the row meanwhile: left
	Deleted     Fate = "deleted"     // Options.Eager
)

// Fates lists every Fate, in the order in which reports show them.
func Fates() []Fate {
	return []Fate{Captured, Declined, Closed, Unknown, Unreachable, Changed, Deleted}
}

// Left says that the row is as it was.
func (f Fate) Left() bool { return f == Unknown || f == Unreachable || f == Changed }

// Orphan is a row that was PROCESSANDO for longer than the lease, and what became of it.
type Orphan struct {
	ID          int64
	Key         string
	OrderID     int64
	AmountCents int64
	Age         time.Duration // by the server's clock, when it was found
	Fate        Fate
	Receipt     scenarios.Receipt // where the acquirer has one
	HTTP        int               // of the answer that a retry is told from now on; 0 where none was stored
	Body        string            // as it was stored, which is as a retry gets it
	Reason      string            // of what was left, in words
	CannotAsk   bool              // of what was left as Unreachable: for ever, since there is nobody to ask
}

// Report is one pass over the table.
type Report struct {
	Orphans []Orphan // by id
	DryRun  bool     // nothing was written: the fates are what would have become of them
}

// Count is how many orphans met that fate, and what they are worth.
func (r Report) Count(f Fate) (n int, cents int64) {
	for _, o := range r.Orphans {
		if o.Fate == f {
			n++
			cents += o.AmountCents
		}
	}
	return n, cents
}

// Left is what the pass left as it was, or would have left.
func (r Report) Left() results.Left {
	var l results.Left
	for _, o := range r.Orphans {
		if o.Fate.Left() {
			l.Orphans++
			l.Cents += o.AmountCents
		}
	}
	return l
}

// Changed is how many rows were written.
func (r Report) Changed() (n int) {
	if r.DryRun {
		return 0
	}
	for _, o := range r.Orphans {
		if !o.Fate.Left() {
			n++
		}
	}
	return n
}
