package retry

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"idemlab/internal/fault"
	"idemlab/internal/intents"
	"idemlab/internal/service"
	"idemlab/scenarios"
)

// customer is one wish to pay, and who wants it.
type customer struct {
	number int
	of     scenarios.Request // its key is the intent's name, whatever key an attempt carries
	story  *story

	mu       sync.Mutex
	rand     *rand.Rand
	attempts []attempt
	began    time.Time
	final    *attempt // the first answer that ended it
	finalAt  time.Time
	done     chan struct{} // closed when final is there
	settled  bool          // the final answer came only at the end, with the faults off

	unasked bool // its story says already that nobody can be asked; the reconciler's own
}

// attempt is one request as its client saw it.
type attempt struct {
	scenarios.Attempt
	sqlstate string
	ended    time.Time
}

func newCustomer(seed uint64, number int, s *story) *customer {
	of, r := intents.Rand(seed, uint64(number))
	return &customer{number: number, of: of, rand: r, story: s, done: make(chan struct{})}
}

// pay taps, and taps again within the time-out, each tap with its retries, until one of them has a final answer.
func (c *customer) pay(ctx context.Context, r *runner) {
	c.mu.Lock()
	c.began = time.Now()
	c.mu.Unlock()
	var taps sync.WaitGroup
	for n := range r.o.Clicks {
		// Impatience has no event: the next tap comes when the customer has waited for a part of the time-out.
		if n > 0 && !c.pause(ctx, r.o.Timeout/time.Duration(r.o.Clicks)) {
			break
		}
		taps.Add(1)
		go func() {
			defer taps.Done()
			c.tap(ctx, r, n+1)
		}()
	}
	taps.Wait()
}

// tap is one press of the button: a request, and its retries by the policy.
func (c *customer) tap(ctx context.Context, r *runner, n int) {
	for try := 0; ; try++ {
		name := fmt.Sprintf("tap %d", n)
		if try > 0 {
			name += fmt.Sprintf(", retry %d", try)
		}
		after := c.send(ctx, r, name, r.o.Timeout)
		if try == r.o.Retries {
			return
		}
		if !c.pause(ctx, max(r.o.Backoff.wait(try+1, c.chance()), min(after, r.o.RetryAfterCap))) {
			return
		}
	}
}

func (c *customer) chance() *rand.Rand {
	c.mu.Lock()
	defer c.mu.Unlock()
	return rand.New(rand.NewPCG(c.rand.Uint64(), c.rand.Uint64()))
}

// pause waits, and says whether there is still something to wait for.
func (c *customer) pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.done:
	case <-ctx.Done():
	}
	select {
	case <-c.done:
		return false
	default:
		return ctx.Err() == nil
	}
}

// send makes one attempt, for which the client has so much patience, and notes how it ended. It returns what the service said about when to come back.
func (c *customer) send(ctx context.Context, r *runner, name string, patience time.Duration) (retryAfter time.Duration) {
	r.attempted(ctx)
	limit, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if _, lost := r.plan.Reach(fault.Request, c.of.Key); lost {
		c.story.say("%s: POST, and the request is lost on its way", name)
		<-limit.Done() // the client cannot know: it waits
		c.note(ctx, attempt{Attempt: scenarios.Attempt{Died: true}})
		return 0
	}
	c.story.say("%s: POST", name)
	reply, err := c.post(limit, r)
	if err == nil {
		if _, lost := r.plan.Reach(fault.Answer, c.of.Key); lost {
			c.story.say("%s: the service answered %s, and the answer is lost on its way", name, spoken(reply))
			<-limit.Done()
			c.note(ctx, attempt{Attempt: scenarios.Attempt{Died: true}})
			return 0
		}
	}
	switch {
	case err == nil:
		c.story.say("%s: answered %s", name, spoken(reply))
	case errors.Is(err, context.DeadlineExceeded):
		c.story.say("%s: no answer within %v", name, patience)
	default:
		c.story.say("%s: no answer: %v", name, cause(err))
	}
	a := attempt{Attempt: scenarios.Attempt{Died: err != nil}}
	if err == nil {
		a.Answer, a.HTTP, a.Body, a.sqlstate = reply.Answer(), reply.Status, reply.Body, reply.SQLState
	}
	c.note(ctx, a)
	return reply.RetryAfter
}

func (c *customer) post(ctx context.Context, r *runner) (service.Reply, error) {
	client, err := r.fleet.client(ctx, r.place())
	if err != nil {
		return service.Reply{}, err
	}
	req := c.of
	switch r.o.KeyPolicy {
	case NewPerAttempt:
		req.Key = intents.Key(c.chance())
	case OrderID:
		req.Key = fmt.Sprintf("pedido-%d", c.of.OrderID)
	}
	return client.Charge(ctx, c.of.Key, req)
}

// note keeps an attempt. One that the run's end cut off is none: its client was not heard out.
func (c *customer) note(ctx context.Context, a attempt) {
	if ctx.Err() != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	a.ended = time.Now()
	c.attempts = append(c.attempts, a)
	if c.final == nil && !a.Died && final(a.Answer) {
		c.final, c.finalAt = &a, a.ended
		close(c.done)
	}
}

// final says whether a client has nothing to come back for.
func final(a scenarios.Answer) bool { return a != scenarios.InProgress && a != scenarios.Failed }

// askOnce is the customer who comes back when all is over: a few times at most, and with as much patience as the service has. Whoever hangs
// up on a slow machine would leave it to chance whether there is an end.
func (c *customer) askOnce(ctx context.Context, r *runner) {
	const most = 5
	for n := range most {
		if c.isFinal() || ctx.Err() != nil {
			return
		}
		if n > 0 && !c.pause(ctx, r.o.RetryAfterCap) {
			return
		}
		c.send(ctx, r, "the customer comes back", r.o.attemptTimeout())
	}
}

func (c *customer) isFinal() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.final != nil
}

// told is what the customer heard last; nothing where no answer ever came.
func (c *customer) told() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.final != nil {
		if c.final.Answer == scenarios.Replayed && c.final.HTTP >= 400 {
			return string(scenarios.Declined) // stored, and told again
		}
		return string(c.final.Answer)
	}
	for i := len(c.attempts) - 1; i >= 0; i-- {
		if a := c.attempts[i]; !a.Died {
			return string(a.Answer)
		}
	}
	return "nothing"
}
