package load

import (
	"idemlab/scenarios"
)

// recorded is the status of a row whose charge went through.
const recorded = "CAPTURADA"

// readRows compares the table with the book. Rows come one by one, and only those of odd intents are kept: an ordinary intent that
// turns out to have another row, or none, becomes odd.
func (b *book) readRows(eachRow func(func(scenarios.Row)) error) error {
	err := eachRow(func(r scenarios.Row) {
		b.totals.rows++
		number := uint64(r.OrderID - firstOrder)
		switch b.states.get(number) {
		case awaitsRow:
			if b.plain(number, r) {
				b.states.set(number, hasRow)
				return
			}
		case hasRow:
			b.totals.duplicateRows++
			first := b.plan.request(errand{intent: number})
			b.makeOdd(number).Rows = []scenarios.Row{{
				Key: first.Key, OrderID: first.OrderID, AmountCents: first.AmountCents, Status: recorded,
			}}
		case unfinished:
			return
		case isOdd:
			if len(b.odd[number].Rows) > 0 {
				b.totals.duplicateRows++
			}
		}
		in := b.makeOdd(number)
		in.Rows = append(in.Rows, r)
	})
	if err != nil {
		for _, in := range b.odd {
			in.RowsUnknown, in.Rows = true, nil
		}
		return err
	}
	b.totals.rowsRead = true
	b.states.each(awaitsRow, func(number uint64) { b.makeOdd(number) })
	return nil
}

// plain says that a row is the one that an ordinary intent leaves.
func (b *book) plain(number uint64, r scenarios.Row) bool {
	want := b.plan.request(errand{intent: number})
	return r.Status == recorded && r.Key == want.Key && r.AmountCents == want.AmountCents
}

// makeOdd returns an intent to add to, and makes one of what an ordinary intent is known by.
func (b *book) makeOdd(number uint64) *scenarios.Intent {
	if in, ok := b.odd[number]; ok {
		return in
	}
	req := b.plan.request(errand{intent: number})
	in := &scenarios.Intent{Request: req}
	if b.states.get(number) != unseen {
		in.Clients, in.Requests, in.Captures, in.CapturedCents = 1, 1, 1, req.AmountCents
		in.Attempts = []scenarios.Attempt{{Answer: scenarios.Charged}}
	}
	b.states.set(number, isOdd)
	b.odd[number] = in
	return in
}
