package instance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"idemlab/scenarios"
)

// crew gathers under one name, and holds every batch until the test lets it go.
type crew struct {
	t     *testing.T
	g     Gatherer
	batch scenarios.Batch
	left  chan *sailing // batches, as they leave
}

// sailing is a batch under way.
type sailing struct {
	ctx   context.Context
	items []any
	land  chan error // what Run is to return
}

// told is what a Gather came to.
type told struct {
	n   int
	err error
}

func newCrew(t *testing.T) *crew {
	c := &crew{t: t, left: make(chan *sailing)}
	// The wait is for ever: what leaves in these tests does not leave because time has passed.
	c.batch = scenarios.Batch{Name: "x", Most: 64, Wait: time.Hour, Run: func(ctx context.Context, _ scenarios.DB, items []any) error {
		s := &sailing{ctx: ctx, items: slices.Clone(items), land: make(chan error)}
		c.left <- s
		return <-s.land
	}}
	return c
}

// gather sends an attempt that will have to wait, and returns when it does.
func (c *crew) gather(ctx context.Context, item int) <-chan told {
	before := c.members()
	out := c.send(ctx, item)
	for c.members() == before {
		time.Sleep(100 * time.Microsecond) // nothing tells that it has joined
	}
	return out
}

// first sends an attempt where none is under way, and returns its batch.
func (c *crew) first(item int) (<-chan told, *sailing) {
	out := c.send(c.t.Context(), item)
	s := <-c.left
	c.wants(s, item)
	return out, s
}

func (c *crew) send(ctx context.Context, item int) <-chan told {
	out := make(chan told, 1)
	go func() {
		n, err := c.g.Gather(ctx, nil, c.batch, item)
		out <- told{n, err}
	}()
	return out
}

// members are those that have not left.
func (c *crew) members() (n int) {
	c.g.mu.Lock()
	defer c.g.mu.Unlock()
	for _, b := range c.g.queue {
		n += len(b.items)
	}
	return n
}

func (c *crew) wants(s *sailing, items ...int) {
	c.t.Helper()
	var got []int
	for _, item := range s.items {
		got = append(got, item.(int))
	}
	if !slices.Equal(got, items) {
		c.t.Errorf("it left with %v, want %v", got, items)
	}
}

func wantsTold(t *testing.T, what string, got <-chan told, n int, err error) {
	t.Helper()
	if r := <-got; r.n != n || !errors.Is(r.err, err) {
		t.Errorf("%s: told %d, %v; want %d, %v", what, r.n, r.err, n, err)
	}
}

var errMine = errors.New("mine")

func TestWhoComesAloneLeavesAtOnce(t *testing.T) {
	c := newCrew(t)
	ctx, cancel := context.WithCancel(t.Context())
	one := c.send(ctx, 1)
	s := <-c.left
	c.wants(s, 1)
	if cancel(); s.ctx.Err() == nil {
		t.Error("its context is not the attempt's own")
	}
	s.land <- errMine
	wantsTold(t, "it", one, 1, errMine)
}

// Whoever comes while a batch is under way leaves together when that returns, in the order in which they came.
func TestThoseWhoComeMeanwhileShareTheNext(t *testing.T) {
	c := newCrew(t)
	first, s := c.first(1)
	var next []<-chan told
	for i := 2; i <= 5; i++ {
		next = append(next, c.gather(t.Context(), i))
	}
	s.land <- nil
	wantsTold(t, "the first", first, 1, nil)
	s = <-c.left
	c.wants(s, 2, 3, 4, 5)
	s.land <- errMine
	for i, n := range next {
		wantsTold(t, fmt.Sprint("member ", i), n, 4, errMine)
	}
	alone, s := c.first(6)
	s.land <- nil
	wantsTold(t, "the last", alone, 1, nil)
}

func TestAFullBatchDoesNotWait(t *testing.T) {
	c := newCrew(t)
	c.batch.Most = 2
	one, first := c.first(1)
	two, three := c.gather(t.Context(), 2), c.gather(t.Context(), 3)
	second := <-c.left // though the first is under way
	c.wants(second, 2, 3)
	four := c.gather(t.Context(), 4)
	second.land <- nil
	wantsTold(t, "two", two, 2, nil)
	wantsTold(t, "three", three, 2, nil)
	first.land <- nil
	wantsTold(t, "one", one, 1, nil)
	third := <-c.left
	c.wants(third, 4)
	third.land <- nil
	wantsTold(t, "four", four, 1, nil)
}

func TestABatchLeavesWhenItsTimeIsUp(t *testing.T) {
	c := newCrew(t)
	c.batch.Wait = time.Millisecond
	one, first := c.first(1)
	two := c.send(t.Context(), 2)
	second := <-c.left // though the first is under way
	c.wants(second, 2)
	first.land <- nil
	second.land <- nil
	wantsTold(t, "one", one, 1, nil)
	wantsTold(t, "two", two, 1, nil)
}

// Whoever a batch has let go and comes again is waited for by the next, for as long as that has patience.
func TestWhoIsOnTheWayComesAlong(t *testing.T) {
	for patience, want := range map[time.Duration][]int{time.Hour: {2, 3, 4}, 1: {2, 3}} {
		c := newCrew(t)
		c.g.patience = patience
		first, s := c.first(1)
		two, three := c.gather(t.Context(), 2), c.gather(t.Context(), 3)
		s.land <- nil
		wantsTold(t, "the first", first, 1, nil)
		if len(want) == 3 {
			time.Sleep(5 * time.Millisecond) // whoever does not wait for it has left by now
			again := c.send(t.Context(), 4)
			defer func() { wantsTold(t, "the first again", again, 3, nil) }()
		}
		s = <-c.left
		c.wants(s, want...)
		s.land <- nil
		wantsTold(t, "two", two, len(want), nil)
		wantsTold(t, "three", three, len(want), nil)
	}
}

// Items of two names never meet, and their batches take turns.
func TestOfTwoNamesEachHasItsBatch(t *testing.T) {
	c := newCrew(t)
	one, s := c.first(1)
	two := c.gather(t.Context(), 2)
	c.batch.Name = "y"
	three := c.gather(t.Context(), 3)
	s.land <- nil
	for _, item := range []int{2, 3} {
		s = <-c.left
		c.wants(s, item)
		s.land <- nil
	}
	for _, r := range []<-chan told{one, two, three} {
		wantsTold(t, "each", r, 1, nil)
	}
}

// A member whose context ends before the batch leaves is not taken along; one whose context ends afterwards goes, and the batch
// goes on.
func TestAMemberThatGivesUpCancelsNobody(t *testing.T) {
	c := newCrew(t)
	first, s := c.first(1)
	early, endEarly := context.WithCancel(t.Context())
	late, endLate := context.WithCancel(t.Context())
	two, three := c.gather(t.Context(), 2), c.gather(early, 3)
	four, five := c.gather(late, 4), c.gather(t.Context(), 5)
	endEarly()
	wantsTold(t, "who gave up early", three, 0, context.Canceled)
	s.land <- nil
	wantsTold(t, "the first", first, 1, nil)
	s = <-c.left
	c.wants(s, 2, 4, 5)
	endLate()
	wantsTold(t, "who gave up late", four, 0, context.Canceled)
	if s.ctx.Err() != nil {
		t.Error("the batch was cancelled with it")
	}
	s.land <- nil
	wantsTold(t, "two", two, 3, nil)
	wantsTold(t, "five", five, 3, nil)
}

// A leader whose context ends takes the others where they want to go: before it leaves without an item of its own, afterwards to the end.
func TestALeaderThatGivesUpTakesTheOthersAlong(t *testing.T) {
	for _, early := range []bool{true, false} {
		c := newCrew(t)
		first, s := c.first(1)
		ctx, end := context.WithCancel(t.Context())
		two, three := c.gather(ctx, 2), c.gather(t.Context(), 3)
		n, items := 2, []int{2, 3}
		if early {
			n, items = 1, []int{3}
			end()
			second := <-c.left // though the first is under way: it was to go, and does
			s.land <- nil
			s = second
		} else {
			s.land <- nil
			s = <-c.left
			end()
		}
		wantsTold(t, "the first", first, 1, nil)
		c.wants(s, items...)
		if s.ctx.Err() != nil {
			t.Error("the batch was cancelled with its leader")
		}
		s.land <- errMine
		wantsTold(t, "the leader", two, 0, context.Canceled)
		wantsTold(t, "the other", three, n, errMine)
	}
}

// What nobody waits for any more is cancelled; what nobody waits for before it leaves does not leave.
func TestABatchThatEverybodyGivesUpOn(t *testing.T) {
	c := newCrew(t)
	first, s := c.first(1)
	ctx, end := context.WithCancel(t.Context())
	two, three := c.gather(ctx, 2), c.gather(ctx, 3)
	s.land <- nil
	wantsTold(t, "the first", first, 1, nil)
	s = <-c.left
	c.wants(s, 2, 3)
	end()
	<-s.ctx.Done()
	s.land <- s.ctx.Err()
	wantsTold(t, "two", two, 0, context.Canceled)
	wantsTold(t, "three", three, 0, context.Canceled)

	four, s := c.first(4)
	ctx, end = context.WithCancel(t.Context())
	five := c.gather(ctx, 5)
	end()
	wantsTold(t, "five", five, 0, context.Canceled)
	six := c.gather(t.Context(), 6)
	s.land <- nil
	wantsTold(t, "four", four, 1, nil)
	s = <-c.left
	c.wants(s, 6)
	s.land <- nil
	wantsTold(t, "six", six, 1, nil)
}

// A leader that panics leaves nobody waiting.
func TestAPanicIsTheLeadersOwn(t *testing.T) {
	c := newCrew(t)
	first, s := c.first(1)
	run := c.batch.Run
	c.batch.Run = func(context.Context, scenarios.DB, []any) error { panic("a bug") }
	panicked := make(chan any, 1)
	go func() {
		defer func() { panicked <- recover() }()
		_, _ = c.g.Gather(t.Context(), nil, c.batch, 2)
	}()
	for c.members() == 0 {
		time.Sleep(100 * time.Microsecond) // no event tells that it has joined
	}
	three := c.gather(t.Context(), 3)
	s.land <- nil
	wantsTold(t, "the first", first, 1, nil)
	wantsTold(t, "the other", three, 2, errLeader)
	if p := <-panicked; p != "a bug" {
		t.Errorf("the leader's panic: %v", p)
	}
	c.batch.Run = run
	four, s := c.first(4)
	s.land <- nil
	wantsTold(t, "who comes afterwards", four, 1, nil)
}

// Whatever happens, each item is taken along once, or its attempt has given up.
func TestEachItemIsTakenAlongOnce(t *testing.T) {
	var g Gatherer
	var taken [400]atomic.Int32
	batch := scenarios.Batch{Name: "x", Most: 8, Wait: 100 * time.Microsecond, Run: func(_ context.Context, _ scenarios.DB, items []any) error {
		if len(items) > 8 {
			t.Errorf("%d together", len(items))
		}
		for _, item := range items {
			taken[item.(int)].Add(1)
		}
		return nil
	}}
	var told [400]atomic.Bool
	var wg sync.WaitGroup
	for i := range taken {
		wg.Go(func() {
			ctx := t.Context()
			if i%3 == 0 {
				c, cancel := context.WithCancel(ctx)
				go cancel()
				ctx = c
			}
			n, err := g.Gather(ctx, nil, batch, i)
			if told[i].Store(err == nil); err == nil && (n < 1 || n > 8) {
				t.Errorf("%d: told of %d", i, n)
			}
		})
	}
	wg.Wait()
	for i := range taken {
		if n := taken[i].Load(); n > 1 || n == 0 && told[i].Load() {
			t.Errorf("item %d was taken along %d times, and told so: %v", i, n, told[i].Load())
		}
	}
	if len(g.open) != 0 || len(g.queue) != 0 || g.underWay != 0 {
		t.Errorf("left behind: %v, %v, %d under way", g.open, g.queue, g.underWay)
	}
}

// Who gathers is in flight, though it may be another attempt that sends.
func TestGatheringIsInFlight(t *testing.T) {
	inst := open(t, func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer, _ scenarios.Request) (scenarios.Response, error) {
		var g Gatherer
		_, err := g.Gather(ctx, db, scenarios.Batch{Name: "x", Most: 1, Run: func(context.Context, scenarios.DB, []any) error { return nil }}, 1)
		return ok, err
	})
	if rec := handle(t, inst); rec.Sent.Before(rec.Called) || rec.Sent.After(rec.Answered) {
		t.Errorf("called at %v, in flight since %v, answered at %v", rec.Called, rec.Sent, rec.Answered)
	}
}

// What gathering costs where there is nothing to gather for, and where there is: a batch that takes no time.
func BenchmarkGather(b *testing.B) {
	what := scenarios.Batch{Name: "x", Most: 64, Wait: 2 * time.Millisecond, Run: func(context.Context, scenarios.DB, []any) error { return nil }}
	b.Run("alone", func(b *testing.B) {
		var g Gatherer
		item := new(int)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := g.Gather(b.Context(), nil, what, item); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, n := range []int{8, 64} {
		b.Run(fmt.Sprint("goroutines=", n), func(b *testing.B) {
			var g Gatherer
			item := new(int)
			b.ReportAllocs()
			b.SetParallelism(n)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := g.Gather(b.Context(), nil, what, item); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}
