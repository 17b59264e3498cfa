package load

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

// whileWatched runs f while attempts are watched, until f returns or ends the work itself.
func whileWatched(t *testing.T, limit time.Duration, f func(p *patience, endWork context.CancelCauseFunc)) {
	t.Helper()
	p := newPatience(limit)
	work, end := context.WithCancelCause(t.Context())
	watched := make(chan struct{})
	go func() { defer close(watched); p.watch(work) }()
	f(p, end)
	end(nil)
	<-watched
	for i := range p.parts {
		if p.parts[i].first != nil || p.parts[i].last != nil {
			t.Errorf("part %d still knows of an attempt", i)
		}
	}
}

func TestAnAttemptThatLastsTooLongIsEnded(t *testing.T) {
	whileWatched(t, time.Millisecond, func(p *patience, _ context.CancelCauseFunc) {
		ctx, w := p.begin(1, time.Now())
		defer w.over()
		<-ctx.Done()
		if why := context.Cause(ctx); !errors.Is(why, context.DeadlineExceeded) {
			t.Errorf("ended because of %v", why)
		}
	})
}

// Those of one part are linked to each other: whichever of them ends first, the others are still known.
func TestAttemptsEndInAnyOrder(t *testing.T) {
	errOver := errors.New("the run was ended")
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {1, 2, 0}, {0, 2, 1}, {2, 0, 1}} {
		for kept := range order {
			whileWatched(t, time.Hour, func(p *patience, endWork context.CancelCauseFunc) {
				var ctxs []context.Context
				var overs []func()
				for range order {
					ctx, w := p.begin(parts, time.Now()) // always the same part
					ctxs, overs = append(ctxs, ctx), append(overs, w.over)
				}
				for _, n := range order[:kept] {
					overs[n]()
				}
				endWork(errOver)
				for _, n := range order[kept:] {
					<-ctxs[n].Done()
					if why := context.Cause(ctxs[n]); !errors.Is(why, errOver) {
						t.Errorf("%v, %d over before: attempt %d ended because of %v", order, kept, n, why)
					}
				}
				for _, n := range slices.Backward(order[kept:]) {
					overs[n]()
				}
			})
		}
	}
}

func TestAnAttemptThatBeginsAfterTheEndIsEnded(t *testing.T) {
	whileWatched(t, time.Hour, func(p *patience, endWork context.CancelCauseFunc) {
		first, w := p.begin(0, time.Now())
		endWork(errStopped)
		<-first.Done()
		w.over()
		ctx, w := p.begin(0, time.Now())
		defer w.over()
		if why := context.Cause(ctx); !errors.Is(why, errStopped) {
			t.Errorf("ended because of %v", why)
		}
	})
}
