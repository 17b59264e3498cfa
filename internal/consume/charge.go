package consume

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"

	"idemlab/internal/broker"
	"idemlab/internal/intents"
	"idemlab/scenarios"
)

const firstOrder = intents.FirstOrder

// charge is one wish to pay, and the messages that its producer sends for it.
type charge struct {
	req      scenarios.Request
	messages []broker.Message
	account
}

// payload is what a message says.
type payload struct {
	Key         string `json:"idempotency_key"`
	OrderID     int64  `json:"pedido_id"`
	AmountCents int64  `json:"valor_centavos"`
	Installment int    `json:"parcela,omitempty"`
	Tenant      int64  `json:"inquilino,omitempty"`
}

// payloadOf counts instalments from 1, as the service does; the first is not named.
func payloadOf(req scenarios.Request) payload {
	p := payload(req)
	if p.Installment > 0 {
		p.Installment++
	}
	return p
}

// newCharges makes the charges and messages of a run: the same seed makes the same.
func newCharges(o Options) []*charge {
	charges := make([]*charge, o.Charges)
	for n := range charges {
		req, r := intents.Rand(o.Seed, uint64(n))
		body, _ := json.Marshal(payloadOf(req)) // of a string and two numbers
		charges[n] = &charge{req: req, messages: []broker.Message{{ID: intents.Key(r), Body: body}}}
	}
	for _, n := range rand.New(rand.NewPCG(o.Seed, secondStream)).Perm(o.Charges)[:o.seconds()] {
		c := charges[n]
		second := c.messages[0]
		if !o.Second.Same {
			second.ID = intents.Key(rand.New(rand.NewPCG(o.Seed^secondStream, uint64(n))))
		}
		c.messages = append(c.messages, second)
	}
	return charges
}

// seconds is how many charges are sent twice: of a share that is not 0, at least one.
func (o Options) seconds() int {
	if o.Second.Share == 0 {
		return 0
	}
	return min(o.Charges, max(1, int(math.Round(o.Second.Share*float64(o.Charges)))))
}

// Messages is how many a run publishes.
func (o Options) Messages() int { return o.Charges + o.seconds() }

// The streams of chance that are not an intent's own.
const (
	secondStream = math.MaxUint64 - iota
	killStream
)

// read makes a request of a message, and names the charge that it is for, by which the acquirer's ledger knows it.
func (k KeyFrom) read(m broker.Message) (req scenarios.Request, charge string, err error) {
	var p payload
	if err := json.Unmarshal(m.Body, &p); err != nil {
		return req, "", fmt.Errorf("read message %s: %w", m.ID, err)
	}
	req = scenarios.Request(p)
	if p.Installment > 0 {
		req.Installment--
	}
	if k == MessageID {
		req.Key = m.ID
	}
	return req, p.Key, nil
}
