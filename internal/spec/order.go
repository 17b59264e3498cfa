package spec

import (
	"context"
	"errors"
	"iter"
	"slices"
)

// orders gives every interleaving of the sessions' steps, in isolationtester's order: the first session goes first.
func (s Spec) orders() iter.Seq[Permutation] {
	return func(yield func(Permutation) bool) {
		taken := make([]int, len(s.Sessions))
		var order Permutation
		var deeper func() bool
		deeper = func() bool {
			leaf := true
			for i, session := range s.Sessions {
				if taken[i] == len(session.Steps) {
					continue
				}
				leaf = false
				order = append(order, Turn{Step: session.Steps[taken[i]].Name})
				taken[i]++
				more := deeper()
				taken[i]--
				order = order[:len(order)-1]
				if !more {
					return false
				}
			}
			return !leaf || yield(slices.Clone(order))
		}
		deeper()
	}
}

// branch is one place in an order: whose step was taken there, and whose else could be.
type branch struct {
	took int
	rest []int
}

// tree walks the orders that can happen, depth first. What can happen is found out on the way: a run takes up to its last branch
// what the run before it took, and from there on the first session that can move. So an order that cannot happen costs nothing,
// not even a setup, unless all of its sessions end up waiting.
type tree []branch

// next turns to the next order, and says whether there is one.
func (t *tree) next() bool {
	for len(*t) > 0 {
		if last := &(*t)[len(*t)-1]; len(last.rest) > 0 {
			last.took, last.rest = last.rest[0], last.rest[1:]
			return true
		}
		*t = (*t)[:len(*t)-1]
	}
	return false
}

// feasible runs every order that can happen.
func (l *lab) feasible(ctx context.Context) error {
	var t tree
	for more := true; more; more = t.next() {
		p := l.permutation()
		order, err := l.follow(ctx, p, &t)
		if err := l.settle(ctx, p, order, err); err != nil {
			return err
		}
	}
	return nil
}

// follow runs one order: along the tree, then on from its end, which it notes there.
func (l *lab) follow(ctx context.Context, p *permutation, t *tree) (order Permutation, err error) {
	if err := p.begin(ctx); err != nil {
		return nil, err
	}
	taken := make([]int, len(l.sessions))
	for at := 0; at < l.spec.steps(); at++ {
		if at == len(*t) {
			can, err := p.candidates(ctx, taken)
			if err != nil {
				return order, err
			}
			*t = append(*t, branch{can[0], can[1:]})
		}
		i, err := p.choose(ctx, &(*t)[at])
		if err != nil {
			*t = (*t)[:at+1] // nothing was found out about what comes behind it
			return order, err
		}
		turn := Turn{Step: l.spec.Sessions[i].Steps[taken[i]].Name}
		taken[i]++
		order = append(order, turn)
		if err := p.take(ctx, turn); err != nil {
			return order, err
		}
	}
	return order, p.finish(ctx)
}

// choose waits until the branch's session can move. When it turns out that it cannot, another one of the branch takes its place.
func (p *permutation) choose(ctx context.Context, b *branch) (int, error) {
	for {
		err := p.ready(ctx, p.sessions[b.took])
		var no *impossibleError
		if !errors.As(err, &no) || len(b.rest) == 0 {
			return b.took, err
		}
		b.took, b.rest = b.rest[0], b.rest[1:]
	}
}

// candidates lists the sessions that have a step left and do not wait for somebody idle. When all of them do, it lists one, which
// ends the order.
func (p *permutation) candidates(ctx context.Context, taken []int) ([]int, error) {
	w := make(waits, len(p.sessions))
	if len(p.waiting) > 0 {
		var err error
		if w, err = p.watcher.look(ctx, p.sessions); err != nil {
			return nil, err
		}
	}
	var can, cannot []int
	for i := range p.sessions {
		switch {
		case taken[i] == len(p.spec.Sessions[i].Steps):
		case w.hopeless(i):
			cannot = append(cannot, i)
		default:
			can = append(can, i)
		}
	}
	if len(can) == 0 {
		return cannot[:1], nil
	}
	return can, nil
}

func (s Spec) steps() int {
	n := 0
	for _, session := range s.Sessions {
		n += len(session.Steps)
	}
	return n
}
