package acquirer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"idemlab/scenarios"
)

// What the acquirer says and hears over HTTP, and writes to its ledger's file. The names are its own, as a payment provider's
// would be; they can be typed and read with curl.

// captureRequest is the body of POST /captures.
type captureRequest struct {
	Intent      string     `json:"intent"` // empty: the key stands for it
	Key         string     `json:"key"`
	OrderID     int64      `json:"order_id"`
	AmountCents int64      `json:"amount_cents"`
	Installment instalment `json:"installment,omitempty"`
	Tenant      int64      `json:"tenant,omitempty"`
}

// instalment is which of an order's charges it is, from 0; whoever reads or writes it outside counts from 1, as the shop's client does, and
// says nothing of the first.
type instalment int

func (n instalment) MarshalJSON() ([]byte, error) { return json.Marshal(int(n) + 1) }

func (n *instalment) UnmarshalJSON(text []byte) error {
	var counted int
	if err := json.Unmarshal(text, &counted); err != nil {
		return err
	}
	if counted < 1 {
		return fmt.Errorf("installment is %d: the first is 1, and so is none at all", counted)
	}
	*n = instalment(counted - 1)
	return nil
}

// receiptJSON is its answer.
type receiptJSON struct {
	Receipt  string `json:"receipt"`
	Approved bool   `json:"approved"`
}

// findReply is the answer to GET /receipts. Receipt and Approved are absent where there is none.
type findReply struct {
	Found    bool   `json:"found"`
	Receipt  string `json:"receipt,omitempty"`
	Approved *bool  `json:"approved,omitempty"`
}

// entryJSON is an entry of GET /ledger, and a line of the ledger's file.
type entryJSON struct {
	Number      int        `json:"number"`
	At          time.Time  `json:"at"`
	Intent      string     `json:"intent"`
	Key         string     `json:"key"`
	OrderID     int64      `json:"order_id"`
	AmountCents int64      `json:"amount_cents"`
	Receipt     string     `json:"receipt"`
	Approved    bool       `json:"approved"`
	Repeat      bool       `json:"repeat,omitempty"`
	Installment instalment `json:"installment,omitempty"`
	Tenant      int64      `json:"tenant,omitempty"`
}

// ledgerReply is the answer to GET /ledger: the sums first, for whoever reads it on a screen.
type ledgerReply struct {
	Intents       int         `json:"intents"`
	Requests      int         `json:"requests"`
	Captures      int         `json:"captures"`
	Declines      int         `json:"declines"`
	Repeats       int         `json:"repeats"`
	CapturedCents int64       `json:"captured_cents"`
	ChargedTwice  int         `json:"intents_charged_more_than_once"`
	Entries       []entryJSON `json:"entries"`
}

// rulesJSON is the body of PUT /faults and, with how often each rule has struck, the answer to GET /faults.
type rulesJSON struct {
	Rules  []Rule `json:"rules"`
	Struck []int  `json:"struck,omitempty"`
}

func jsonOf(e Entry) entryJSON {
	return entryJSON{e.Number, e.At.UTC(), e.Intent, e.Charge.Key, e.Charge.OrderID, e.Charge.AmountCents, e.Receipt.ID, e.Receipt.Approved, e.Repeat, instalment(e.Charge.Installment), e.Charge.Tenant}
}

func (e entryJSON) entry() Entry {
	return Entry{
		Number: e.Number, Intent: e.Intent, Charge: scenarios.Charge{Key: e.Key, OrderID: e.OrderID, AmountCents: e.AmountCents, Installment: int(e.Installment), Tenant: e.Tenant},
		Receipt: scenarios.Receipt{ID: e.Receipt, Approved: e.Approved}, At: e.At, Repeat: e.Repeat,
	}
}

func replyOf(ledger []Entry) ledgerReply {
	reply := ledgerReply{Entries: []entryJSON{}}
	for _, e := range ledger {
		reply.Entries = append(reply.Entries, jsonOf(e))
	}
	for _, c := range CountsOf(ledger) {
		reply.Intents++
		reply.Requests += c.Requests
		reply.Captures += c.Captures
		reply.Declines += c.Declines
		reply.Repeats += c.Repeats
		reply.CapturedCents += c.CapturedCents
		if c.Captures > 1 {
			reply.ChargedTwice++
		}
	}
	return reply
}

// strict reads one JSON value that has the fields of v and no others, and nothing behind it.
func strict(text []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more than one JSON value")
	}
	return nil
}
