package spec

import (
	"context"
	"fmt"
	"strings"
)

// end runs the sessions' teardowns, then the invariants, then the teardown: what the sessions leave is judged when their
// transactions are over, and before it is dropped.
func (p *permutation) end(ctx context.Context, order Permutation) (*Violation, error) {
	for i, s := range p.sessions {
		if sql := p.spec.Sessions[i].Teardown; sql != "" {
			if err := p.may(ctx, s, "teardown of session "+quote(s.name), sql); err != nil {
				return nil, err
			}
		}
	}
	found, err := p.judge(ctx, order)
	if err != nil {
		return nil, err
	}
	if sql := p.spec.Teardown; sql != "" {
		return found, p.may(ctx, p.control, "teardown", sql)
	}
	return found, nil
}

// may runs a teardown. That it fails is a warning, as it is to isolationtester.
func (p *permutation) may(ctx context.Context, s *session, what, sql string) error {
	if s.closed {
		p.warn("%s: the server has closed its connection", what)
		return nil
	}
	r, err := p.exec(ctx, s, sql)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if r.err != "" {
		p.warn("%s failed: %s", what, r.err)
	}
	r.print(&p.out)
	return nil
}

func (p *permutation) warn(format string, args ...any) {
	p.result.Warnings = append(p.result.Warnings, fmt.Sprintf(format, args...))
}

// judge asks each invariant for rows. It does so on the connection that set up, which sees its temporary tables and its search
// path, and of the sessions' work what is committed.
func (p *permutation) judge(ctx context.Context, order Permutation) (*Violation, error) {
	if p.outcome != Complete {
		return nil, nil // a cancelled statement is not what the order says
	}
	for _, query := range p.spec.Invariants {
		r, err := p.exec(ctx, p.control, query)
		switch {
		case err != nil:
			return nil, fmt.Errorf("invariant %s: %w", query, err)
		case r.err != "":
			return nil, fmt.Errorf("invariant %s: %s", query, r.err)
		case !r.table:
			return nil, fmt.Errorf("invariant %s: it returns no table: write a SELECT", query)
		}
		if len(r.rows) > 0 {
			var rows strings.Builder
			r.print(&rows)
			return &Violation{Permutation: order, Invariant: query, Rows: rows.String()}, nil
		}
	}
	return nil, nil
}
