package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/acquirer"
	"idemlab/scenarios"
)

const crowdSize = 50

// The contract under 50 equal requests at once, where the claim is committed before the call: while the first is at the acquirer
// every other is told 409, and another amount 422; afterwards each is told what the first was told, byte for byte. One capture, one
// row, and never a 5xx.
func TestFiftyEqualPosts(t *testing.T) {
	for _, s := range []scenarios.Strategy{scenarios.InsertFirst, scenarios.InsertFirstCatch} {
		t.Run(s.Name, func(t *testing.T) {
			r := start(t, s, nil)
			gate := r.acq.Hold()
			req := request(key(1))
			replies := r.crowd(t, crowdSize, req)
			<-gate.Arrivals() // the first is at the acquirer, and stays there
			for range crowdSize - 1 {
				if reply := <-replies; reply.Status != 409 || reply.Kind != "outstanding" || reply.RetryAfter <= 0 || reply.Replayed {
					t.Fatalf("a duplicate was told %+v", reply)
				}
			}
			other := req
			other.AmountCents++
			if reply := r.charge(t, other); reply.Status != 422 || reply.Kind != "reused" {
				t.Errorf("another amount, at the same time: %+v", reply)
			}
			gate.Open()
			first := <-replies
			if first.Answer() != scenarios.Charged || first.Body == "" {
				t.Fatalf("the first was told %+v", first)
			}
			for range 3 {
				again := r.charge(t, req)
				if again.Answer() != scenarios.Replayed || again.Status != first.Status || again.Body != first.Body {
					t.Errorf("first %+v\nagain %+v", first, again)
				}
			}
			if reply := r.charge(t, other); reply.Status != 422 {
				t.Errorf("another amount, afterwards: %+v", reply)
			}
			if c := r.acq.Counts()[req.Key]; c.Captures != 1 || c.Requests != 1 {
				t.Errorf("the acquirer was told %+v", c)
			}
			if rows := r.rows(t); len(rows) != 1 || rows[0].Status != "CAPTURADA" || rows[0].Body != first.Body {
				t.Errorf("rows %+v", rows)
			}
			if got, want := r.Answered(), map[int]int64{201: 4, 409: crowdSize - 1, 422: 2}; !maps.Equal(got, want) {
				t.Errorf("answered %v, want %v", got, want)
			}
		})
	}
}

// The bad example under the same requests: the acquirer is told several times, and each of those clients is told "charged".
func TestFiftyEqualPostsAtTheBadExample(t *testing.T) {
	r := start(t, scenarios.CheckThenAct, nil)
	gate := r.acq.Hold()
	req := request(key(1))
	replies := r.crowd(t, crowdSize, req)
	<-gate.Arrivals()
	<-gate.Arrivals() // two have looked, and found nothing
	gate.Open()
	charged := 0
	for range crowdSize {
		reply := <-replies
		switch reply.Answer() {
		case scenarios.Charged:
			charged++
		case scenarios.Replayed:
		default:
			t.Errorf("told %+v", reply)
		}
	}
	if c := r.acq.Counts()[req.Key]; c.Captures < 2 || c.Captures != charged {
		t.Errorf("%d captures, and %d clients were told so", c.Captures, charged)
	}
}

// What each strategy tells 50 equal requests, against what it claims of a race: how often the acquirer is told, and whether a
// duplicate may get a 5xx. go test -v -run EveryStrategy prints the table.
func TestEveryStrategyUnderFiftyEqualPosts(t *testing.T) {
	for _, s := range scenarios.ChargeOnce.Strategies() {
		t.Run(s.Name, func(t *testing.T) {
			r := start(t, s, nil)
			// Time for the others to come, as in life. Nothing that is judged here depends on it.
			r.acq = acquirer.New(acquirer.Options{Dedup: s.WantsDedup, Latency: acquirer.Fixed(50 * time.Millisecond)})
			r.c.Acquirer = r.acq.For
			if why := s.Lacking(r.schemaVersion(t)); why != "" {
				t.Logf("not run: %s %s", s.Name, why)
				return
			}
			never, shows := s.Judged(scenarios.Race, pgx.ReadCommitted)
			atOnce := 1 // captures that are waited for, so that a double charge does not depend on luck
			if slices.Contains(shows, scenarios.DoubleCharge) {
				atOnce = 2
			}
			gate := r.acq.Hold()
			req := request(key(1))
			replies := r.crowd(t, crowdSize, req)
			statuses := map[int]int{}
			bodies := map[string]bool{}
			arrived, replied := 0, 0
			see := func(reply Reply) {
				replied++
				statuses[reply.Status]++
				if reply.Kind == "" {
					bodies[reply.Body] = true
				}
			}
			for arrived < atOnce && replied < crowdSize-1 {
				select {
				case <-gate.Arrivals():
					arrived++
				case reply := <-replies:
					see(reply)
				}
			}
			gate.Open()
			for replied < crowdSize {
				see(<-replies)
			}
			before := r.acq.Counts()[req.Key]
			again := r.charge(t, req)
			count := r.acq.Counts()[req.Key]
			t.Logf("| `%s` | %s | %d | %d |", s.Name, statusWords(statuses), before.Captures, again.Status)

			claimed := func(a scenarios.Anomaly) bool { return slices.Contains(never, a) }
			if claimed(scenarios.DoubleCharge) && count.Captures != 1 {
				t.Errorf("%d captures", count.Captures)
			}
			if slices.Contains(shows, scenarios.DoubleCharge) && arrived >= 2 && count.Captures < 2 {
				t.Errorf("%d captures, and two were at the acquirer at once", count.Captures)
			}
			if claimed(scenarios.DivergentAnswers) && len(bodies) > 1 {
				t.Errorf("different answers to one key: %v", slices.Collect(maps.Keys(bodies)))
			}
			for status, n := range statuses {
				if status >= 500 && claimed(scenarios.ErrorToDuplicate) {
					t.Errorf("%d clients were told %d", n, status)
				}
				if status < 500 && !slices.Contains([]int{201, 402, 409, 422}, status) {
					t.Errorf("%d clients were told %d, which is not in the contract", n, status)
				}
			}
		})
	}
}

func statusWords(statuses map[int]int) string {
	var words []string
	for _, status := range slices.Sorted(maps.Keys(statuses)) {
		words = append(words, fmt.Sprintf("%d × %d", statuses[status], status))
	}
	return strings.Join(words, ", ")
}

func (r *running) schemaVersion(t *testing.T) (n int) {
	t.Helper()
	if err := r.side.QueryRow(t.Context(), `SELECT current_setting('server_version_num')::int`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// A refusal by the acquirer is an answer like any other: stored, and told again.
func TestADeclineIsReplayed(t *testing.T) {
	r := start(t, scenarios.InsertFirst, nil)
	if err := r.acq.SetFaults([]acquirer.Rule{{Fault: acquirer.Decline, Nth: 1}}); err != nil {
		t.Fatal(err)
	}
	first, again := r.charge(t, request(key(1))), r.charge(t, request(key(1)))
	if first.Status != 402 || first.Replayed || again.Status != 402 || !again.Replayed || again.Body != first.Body || again.Answer() != scenarios.Replayed {
		t.Errorf("first %+v\nagain %+v", first, again)
	}
}

// A strategy that answers duplicates with an error is seen to: a 500 that names PostgreSQL's word for it.
func TestAStrategysErrorIsShown(t *testing.T) {
	r := start(t, scenarios.CatchInTx, nil)
	if first := r.charge(t, request(key(1))); first.Answer() != scenarios.Charged {
		t.Fatalf("%+v", first)
	}
	if again := r.charge(t, request(key(1))); again.Status != 500 || again.Kind != "failed" || again.SQLState != "25P02" {
		t.Errorf("%+v", again)
	}
}

// An answer of the acquirer's that never came is no answer of the service's either: 502, the claim stays, and the retry is told 409.
func TestAnUnknownOutcome(t *testing.T) {
	r := start(t, scenarios.InsertFirst, nil)
	if err := r.acq.SetFaults([]acquirer.Rule{{Fault: acquirer.LostReply, Nth: 1}}); err != nil {
		t.Fatal(err)
	}
	if reply := r.charge(t, request(key(1))); reply.Status != 502 || reply.Kind != "outcome-unknown" {
		t.Errorf("%+v", reply)
	}
	if reply := r.charge(t, request(key(1))); reply.Status != 409 {
		t.Errorf("%+v", reply)
	}
	if c := r.acq.Counts()[key(1)]; c.Captures != 1 {
		t.Errorf("%+v", c)
	}
}

// What may have happened, or not, is what the acquirer was asked for: no client of e-mails is told of money.
func TestAnUnknownOutcomeIsOfTheEffect(t *testing.T) {
	for effect, want := range map[scenarios.Effect][2]string{
		scenarios.Money: {"The acquirer's answer did not come", "the money may have moved, or not: send"},
		scenarios.EMail: {"The mail server's answer did not come", "the e-mail may have gone out, or not: send"},
	} {
		r := start(t, scenarios.InsertFirst, func(c *Config) { c.Effect = effect })
		if err := r.acq.SetFaults([]acquirer.Rule{{Fault: acquirer.LostReply, Nth: 1}}); err != nil {
			t.Fatal(err)
		}
		_, text := r.post(t, headers(KeyHeader, key(1)), body)
		if !strings.Contains(text, want[0]) || !strings.Contains(text, want[1]) || effect != scenarios.Money && strings.Contains(text, "money") {
			t.Errorf("%v: %s", effect, text)
		}
	}
}

// A client that hangs up does not undo what it asked for: the attempt goes on, and its retry gets the answer. Where the attempt
// ends with its client, as with a handler that passes the request's context on, the retry finds a charge that nobody works on.
func TestAClientThatHangsUp(t *testing.T) {
	for name, c := range map[string]struct {
		cancel bool
		want   scenarios.Answer
	}{"the attempt goes on": {false, scenarios.Replayed}, "the attempt ends": {true, scenarios.InProgress}} {
		t.Run(name, func(t *testing.T) {
			r := start(t, scenarios.InsertFirst, func(o *Config) { o.CancelWithClient = c.cancel })
			gate := r.acq.Hold()
			ctx, hangUp := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() {
				_, err := r.client.Charge(ctx, "i", request(key(1)))
				ended <- err
			}()
			<-gate.Arrivals()
			hangUp()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if !c.cancel {
				gate.Open()
			}
			r.attempts.Wait() // the attempt has come to its end, one way or the other
			gate.Open()
			if reply := r.charge(t, request(key(1))); reply.Answer() != c.want {
				t.Errorf("the retry was told %+v", reply)
			}
		})
	}
}

// Attempts that are cut off end, and their clients learn that nothing is known.
func TestCutOff(t *testing.T) {
	r := start(t, scenarios.InsertFirst, nil)
	gate := r.acq.Hold()
	replies := r.crowd(t, 1, request(key(1)))
	<-gate.Arrivals()
	r.CutOff()
	if reply := <-replies; reply.Status != 502 {
		t.Errorf("told %+v", reply)
	}
}

// The ledger counts by intent, which only the client knows: with a new key for each retry, it is the header that shows that one wish
// to pay was charged twice.
func TestTheIntentIsTheClients(t *testing.T) {
	r := start(t, scenarios.InsertFirst, nil)
	for n := range 2 {
		if _, err := r.client.Charge(t.Context(), "wish", request(key(n))); err != nil {
			t.Fatal(err)
		}
	}
	r.post(t, headers(KeyHeader, key(2)), body)
	counts := r.acq.Counts()
	if counts["wish"].Captures != 2 || counts[key(2)].Captures != 1 || len(counts) != 2 {
		t.Errorf("%v", counts)
	}
}

// An order's row is there when a strategy wants it, made outside the strategy, once.
func TestOrdersAreThereBeforehand(t *testing.T) {
	r := start(t, scenarios.VersionColumn, nil)
	replies := r.crowd(t, 10, request(key(1)))
	told := map[int]int{}
	for range 10 {
		told[(<-replies).Status]++
	}
	if told[201] == 0 || told[201]+told[409] != 10 || r.acq.Counts()[key(1)].Captures != 1 {
		t.Errorf("told %v, captured %+v", told, r.acq.Counts())
	}
	if !r.orders.known(7) || r.orders.known(8) {
		t.Errorf("orders made: %v", r.orders.done)
	}
}

// Our own client asks once, also on a connection that breaks under it after it has been used before, which is where Go's would ask
// again because of the key's header.
func TestTheClientAsksOnce(t *testing.T) {
	var arrived atomic.Int64
	url := serveFunc(t, func(w http.ResponseWriter, r *http.Request) {
		if arrived.Add(1) == 2 {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(http.StatusCreated)
	})
	c := Dial(url, 1)
	defer c.Close()
	for n, want := range []bool{true, false} {
		if _, err := c.Charge(t.Context(), "i", request(key(1))); (err == nil) != want || arrived.Load() != int64(n+1) {
			t.Errorf("request %d: %v, %d arrived", n+1, err, arrived.Load())
		}
	}
}

// An instalment is a part of the payload: the same key with another one is refused where the strategy knows of instalments, and said to
// be taken for the same where it does not. Nothing said and the first are the same.
func TestInstallments(t *testing.T) {
	second := func(key string) scenarios.Request {
		r := request(key)
		r.Installment = 1
		return r
	}
	var said []string
	warn := func(c *Config) { c.Warn = func(text string) { said = append(said, text) } }
	r := start(t, scenarios.BusinessEvent, warn)
	first := r.charge(t, request(key(1)))
	if _, text := r.post(t, headers(KeyHeader, key(1)), `{"parcela": 1, "pedido_id": 7, "valor_centavos": 25000}`); text != first.Body {
		t.Errorf("the first by name is told %s, and without a name %s", text, first.Body)
	}
	if reply := r.charge(t, second(key(1))); reply.Status != 422 || reply.Answer() != scenarios.Mismatched {
		t.Errorf("the key with another instalment: %+v", reply)
	}
	if reply := r.charge(t, second(key(2))); reply.Answer() != scenarios.Charged || reply.Body == first.Body {
		t.Errorf("the second instalment under a key of its own: %+v", reply)
	}
	if reply := r.charge(t, second(key(3))); reply.Answer() != scenarios.Replayed {
		t.Errorf("and once more under a third: %+v", reply)
	}
	if n := len(r.acq.Ledger()); n != 2 || r.acq.Ledger()[1].Charge.Installment != 1 || len(said) > 0 {
		t.Errorf("%+v, said %q", r.acq.Ledger(), said)
	}

	r = start(t, scenarios.InsertFirst, warn)
	first = r.charge(t, request(key(1)))
	for range 2 {
		if reply := r.charge(t, second(key(1))); reply.Answer() != scenarios.Replayed || reply.Body != first.Body {
			t.Errorf("%+v", reply)
		}
	}
	if len(said) != 1 || !strings.Contains(said[0], "does not compare parcela") {
		t.Errorf("said %q", said)
	}
}
