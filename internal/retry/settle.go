package retry

import (
	"context"
	"errors"
	"sync"
	"time"

	"idemlab/internal/acquirer"
	"idemlab/internal/recovery"
	"idemlab/internal/server"
	"idemlab/internal/tables"
	"idemlab/scenarios"
)

// snapshot is what there is at a moment at which nothing is in flight.
type snapshot struct {
	ledger map[string][]acquirer.Entry // by intent
	rows   map[int64][]scenarios.Row   // by order; nil where they could not be read
}

// settle brings to its end what was left half-way: with the faults off, what is PROCESSANDO is asked about, and who has no final answer
// comes back. Without reconciliation nothing is done, and what is left is what there is to see.
func (r *runner) settle(ctx context.Context, url string) error {
	r.plan.Off()
	if err := r.acq.SetFaults(nil); err != nil {
		return err
	}
	var err error
	if r.before, err = r.look(ctx); err != nil {
		return err
	}
	r.after = r.before
	if !r.o.Reconcile {
		return nil
	}
	if _, err := r.reconcile(ctx, 0, true); err != nil {
		return err
	}
	if err := r.comeBack(ctx, url); err != nil {
		return err
	}
	if _, err := r.reconcile(ctx, 0, true); err != nil {
		return err
	}
	again, err := r.reconcile(ctx, 0, true)
	r.reconciled.AgainChanged = again
	if err != nil {
		return err
	}
	r.after, err = r.look(ctx)
	return err
}

// comeBack lets those who have no final answer ask again, some at a time.
func (r *runner) comeBack(ctx context.Context, url string) (err error) {
	var waiting []*customer
	for _, c := range r.customers {
		if !c.isFinal() {
			waiting = append(waiting, c)
		}
	}
	if len(waiting) == 0 {
		return nil
	}
	work, cancel := context.WithCancel(ctx)
	defer cancel()
	r.fleet, err = r.launch(work, url, nil)
	defer r.disband()
	if err != nil {
		return r.lost(ctx, err)
	}
	free := make(chan struct{}, r.o.Concurrency)
	var all sync.WaitGroup
	for _, c := range waiting {
		free <- struct{}{}
		all.Add(1)
		go func() {
			defer all.Done()
			defer func() { <-free }()
			c.askOnce(work, r)
			c.settled = c.isFinal()
		}()
	}
	all.Wait()
	return ctx.Err()
}

// look reads the ledger and the table.
func (r *runner) look(ctx context.Context) (*snapshot, error) {
	s := &snapshot{ledger: map[string][]acquirer.Entry{}}
	for _, e := range r.acq.Ledger() {
		s.ledger[e.Intent] = append(s.ledger[e.Intent], e)
	}
	conn, err := r.connect(ctx)
	if err != nil {
		return s, err
	}
	defer server.CloseConn(ctx, conn)
	rows, err := tables.Rows(ctx, conn, scenarios.ChargeOnce, 0, firstOrder)
	if err != nil {
		return s, err
	}
	s.rows = map[int64][]scenarios.Row{}
	for _, row := range rows {
		s.rows[row.OrderID] = append(s.rows[row.OrderID], row)
	}
	return s, nil
}

// reconcileMeanwhile goes over the table now and then while the run goes on, where that was asked for. A pass that fails, because the
// server has just crashed or a row is somebody's, is made again.
func (r *runner) reconcileMeanwhile(ctx context.Context) (stop func()) {
	if !r.o.Reconcile {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(r.o.reconcileAfter())
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				_, _ = r.reconcile(ctx, r.o.reconcileAfter(), false)
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// reconcile makes one pass and enters it into the stories of those whom it concerns.
func (r *runner) reconcile(ctx context.Context, lease time.Duration, nothingUnderWay bool) (changed int, err error) {
	conn, err := r.connect(ctx)
	if err != nil {
		return 0, err
	}
	defer server.CloseConn(ctx, conn)
	report, err := recovery.Reconcile(ctx, conn, r.finder, recovery.Options{
		Lease: lease, NothingUnderWay: nothingUnderWay, FromOrder: firstOrder, AcquirerKey: r.o.Strategy.AcquirerKey,
	})
	r.reconciled.Passes++
	r.reconciled.CannotAsk = 0
	for _, o := range report.Orphans {
		r.tell(o)
	}
	if errors.Is(err, context.Canceled) {
		return report.Changed(), ctx.Err()
	}
	return report.Changed(), err
}

// tell enters what became of an orphan into the counts and its customer's story. What was left was left: the next pass finds it again.
func (r *runner) tell(o recovery.Orphan) {
	var c *customer // none where somebody else's key is on the table
	if n := o.OrderID - firstOrder; n >= 0 && n < int64(len(r.customers)) {
		c = r.customers[n]
	}
	var what string
	far := r.o.Effect.Words().Far
	status, _, _ := scenarios.Recorded(o.Receipt)
	switch {
	case o.CannotAsk:
		r.reconciled.CannotAsk++
		if c == nil || c.unasked {
			return // said before
		}
		what, c.unasked = "left: "+o.Reason, true
	case o.Fate == recovery.Closed:
		r.reconciled.Closed++
		what = "the " + far + " knows nothing of it, and nothing is under way: closed as " + status
	case o.Fate == recovery.Captured:
		r.reconciled.Captured++
		what = "the " + far + " has " + o.Receipt.ID + ": recorded as " + status
	case o.Fate == recovery.Declined:
		r.reconciled.Declined++
		what = "the " + far + " has " + o.Receipt.ID + ": recorded as " + status
	default:
		return
	}
	if c != nil {
		c.story.say("reconciler: %s", what)
	}
}
