package spec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5"
)

// Limit is how long isolationtester of PostgreSQL 15 lets a step run before it cancels it (PGISOLATIONTIMEOUT there).
const Limit = 300 * time.Second

// Options say how a spec is run and what is printed. The zero value prints nothing and passes over what cannot happen.
type Options struct {
	// Name is the test's, for application_name: isolation/NAME/SESSION, as pg_isolation_regress has it. "" leaves the
	// configuration's own application_name in front.
	Name string
	// Output receives what isolationtester would print to stdout, one permutation at a time; nil: nothing is printed.
	Output io.Writer
	// Impossible says what becomes of an order that cannot happen.
	Impossible Impossible
	// Limit is the longest that a step may take, 300 s when 0. A step that provably waits for somebody idle is not given that time:
	// the limit is then only what is printed.
	Limit time.Duration
	// Each is called with every order as it ends; nil: it is not.
	Each func(Order)
}

// Impossible is what to do when the next step's session is itself blocked, and none but steps behind it could free it.
type Impossible int

const (
	// Skip drops the order. Among all orders only those that can happen are run, none of them twice.
	Skip Impossible = iota
	// Cancel does what isolationtester does at its time limit: it cancels the blocked step, says so, and goes on. The output is
	// isolationtester's; the time is not spent.
	Cancel
)

// lab is the connections on which a spec is run.
type lab struct {
	spec     Spec
	options  Options
	cfg      *pgx.ConnConfig
	places   map[string]place
	control  *session // setup, teardown, invariants
	sessions []*session
	watcher  *watcher
	result   Result
}

// Run runs the spec's permutations, or all orders of its steps when it names none, each on a fresh setup, on connections of its
// own made from cfg. The result says what is known by then also when there is an error.
//
// An order is run once. Where PostgreSQL itself leaves open what happens in it, such as which of two waiters gets a row that has changed
// meanwhile, one of the outcomes is seen.
func Run(ctx context.Context, cfg *pgx.ConnConfig, s Spec, o Options) (Result, error) {
	if err := s.check(nil); err != nil {
		return Result{}, err
	}
	if o.Limit == 0 {
		o.Limit = Limit
	}
	if o.Output == nil {
		o.Output = io.Discard
	}
	if o.Name != "" {
		o.Name = "isolation/" + o.Name
	}
	l := &lab{spec: s, options: o, cfg: cfg, places: s.places()}
	err := l.run(ctx)
	l.result.judge(s, err)
	return l.result, err
}

func (l *lab) run(ctx context.Context) (err error) {
	defer func() { l.close(ctx) }()
	if _, err := fmt.Fprintf(l.options.Output, "Parsed test spec with %d sessions\n", len(l.spec.Sessions)); err != nil {
		return err
	}
	if l.control, err = connect(ctx, l.cfg, l.options.Name, "control connection", len(l.spec.Sessions)); err != nil {
		return err
	}
	if err := l.connectSessions(ctx); err != nil {
		return err
	}
	if l.watcher, err = watch(ctx, l.cfg, l.spec); err != nil {
		return err
	}
	switch {
	case len(l.spec.Permutations) > 0:
		for _, p := range l.spec.Permutations {
			if err := l.named(ctx, p); err != nil {
				return err
			}
		}
		return nil
	case l.options.Impossible == Cancel:
		for p := range l.spec.orders() {
			if err := l.named(ctx, p); err != nil {
				return err
			}
		}
		return nil
	default:
		return l.feasible(ctx)
	}
}

// named runs one order that is known beforehand.
func (l *lab) named(ctx context.Context, order Permutation) error {
	p := l.permutation()
	err := p.begin(ctx)
	for _, t := range order {
		if err == nil {
			err = p.ready(ctx, l.sessions[l.places[t.Step].session])
		}
		if err == nil {
			err = p.take(ctx, t)
		}
	}
	if err == nil {
		err = p.finish(ctx)
	}
	return l.settle(ctx, p, order, err)
}

// settle ends a permutation in whichever way it came to its end, prints it and keeps what became of it.
func (l *lab) settle(ctx context.Context, p *permutation, order Permutation, err error) error {
	var no *impossibleError
	if errors.As(err, &no) {
		l.add(Order{Permutation: order, Outcome: Dropped, Why: no.why})
		return l.abandon(ctx, p)
	}
	var found *Violation
	if err == nil {
		found, err = p.end(ctx, order)
	}
	var out bytes.Buffer
	out.WriteString("\nstarting permutation:")
	for _, t := range order {
		out.WriteString(" " + t.Step)
	}
	out.WriteString("\n")
	out.Write(p.out.Bytes())
	if _, printed := l.options.Output.Write(out.Bytes()); err == nil {
		err = printed
	}
	if err != nil {
		return fmt.Errorf("%s: %w", order, err)
	}
	l.add(Order{Permutation: order, Outcome: p.outcome, Why: p.why, Violation: found})
	return nil
}

func (l *lab) add(o Order) {
	l.result.Orders = append(l.result.Orders, o)
	if l.options.Each != nil {
		l.options.Each(o)
	}
}

func (l *lab) connectSessions(ctx context.Context) error {
	l.sessions = nil
	for i, s := range l.spec.Sessions {
		session, err := connect(ctx, l.cfg, l.options.Name, s.Name, i)
		if err != nil {
			return err
		}
		l.sessions = append(l.sessions, session)
	}
	return nil
}
