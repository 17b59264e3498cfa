package explore

import (
	"context"

	"idemlab/internal/schedule"
	"idemlab/scenarios"
)

// acquirer is the strategy's acquirer: each request is a step, and may be lost on its way there or back.
type acquirer struct {
	a     *attempt
	inner scenarios.Acquirer
}

var _ scenarios.Acquirer = acquirer{}

// theAcquirer is the object that requests to it touch.
func theAcquirer(m schedule.Mode) schedule.Footprint {
	return schedule.Touch(schedule.Access{Object: schedule.Outside("acquirer"), Mode: m})
}

func (q acquirer) Capture(ctx context.Context, c scenarios.Charge) (scenarios.Receipt, error) {
	o := op{name: "capture", verb: "capture", kind: opCapture, limits: q.a.limits(ctx, "")}
	kind, err := q.a.stand(o)
	if err != nil {
		return scenarios.Receipt{}, err
	}
	if kind == schedule.LostRequest {
		q.a.note(o, "request lost", nil)
		return scenarios.Receipt{}, scenarios.ErrOutcomeUnknown
	}
	if c.Tenant != q.a.s.tenant {
		q.a.astray.Store(true)
	}
	r, err := q.inner.Capture(ctx, c)
	if err == nil && kind == schedule.LostReply {
		q.a.note(o, "reply lost", theAcquirer(schedule.Lock|schedule.Publish))
		return scenarios.Receipt{}, scenarios.ErrOutcomeUnknown
	}
	q.a.note(o, captured(r, err), theAcquirer(schedule.Lock|schedule.Publish))
	return r, err
}

func captured(r scenarios.Receipt, err error) string {
	switch {
	case err != nil:
		return inWords(err)
	case r.Approved:
		return "captured"
	}
	return "declined"
}

func (q acquirer) Find(ctx context.Context, key string) (scenarios.Receipt, bool, error) {
	o := op{name: "find", verb: "find", kind: opFind}
	if _, err := q.a.stand(o); err != nil {
		return scenarios.Receipt{}, false, err
	}
	r, found, err := q.inner.Find(ctx, key)
	word := "not found"
	if found {
		word = "found"
	}
	if err != nil {
		word = inWords(err)
	}
	q.a.note(o, word, theAcquirer(schedule.Read))
	return r, found, err
}
