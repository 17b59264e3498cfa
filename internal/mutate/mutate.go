// Package mutate breaks a strategy on purpose, to prove that the lab would notice: a guarantee is a test only if something
// can make it fail. Mutants are made at the strategy's DB and Acquirer and in its schema, never in its source, so that every
// strategy has them, a user's own included.
package mutate

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"idemlab/scenarios"
)

// Mutant is one way to break a strategy.
type Mutant struct {
	Name  string
	Title string
	// Apply returns the broken strategy; what it claims never to show stays, for that is what it must now fail. changed is called
	// whenever the mutant has changed something: one that never does is no test.
	Apply func(s scenarios.Strategy, changed func()) scenarios.Strategy
	// Isolation is the level at which it runs; empty: the one that was asked for.
	Isolation pgx.TxIsoLevel
}

// All returns every mutant, the constraint's first.
func All() []Mutant {
	return []Mutant{
		{Name: "no-unique", Title: "the UNIQUE constraint is dropped", Apply: withoutUnique},
		{Name: "late-commit", Title: "the first write's commit is held back until the acquirer has answered", Apply: whereMoneyMoves(wrap(lateCommit))},
		{Name: "refusal-hidden", Title: "a refused INSERT looks like one that inserted", Apply: wrap(refusalHidden)},
		{Name: "repeatable-read", Title: "READ COMMITTED is raised to REPEATABLE READ", Apply: raised, Isolation: pgx.RepeatableRead},
		{Name: "update-dropped", Title: "every UPDATE is rolled back, though it answers as if it were not", Apply: wrap(updateDropped)},
	}
}

// Claims leaves a strategy with what it claims never to show at one level, at whatever level the mutant runs.
func Claims(s scenarios.Strategy, at pgx.TxIsoLevel) scenarios.Strategy {
	var never []scenarios.Claim
	for _, c := range s.Never {
		if c.At == nil || slices.Contains(c.At, at) {
			never = append(never, scenarios.Claim{Under: c.Under, Anomaly: c.Anomaly})
		}
	}
	s.Never, s.Shows = never, nil
	return s
}

// raised is no mutant of a strategy that claims to hold at REPEATABLE READ as well.
func raised(s scenarios.Strategy, changed func()) scenarios.Strategy {
	for _, c := range s.Never {
		if c.At != nil && !slices.Contains(c.At, pgx.RepeatableRead) {
			changed()
		}
	}
	return s
}

// withoutUnique takes the constraint away. What a strategy needs for its SQL to be taken stays needed, so that the lab notices
// before the run.
func withoutUnique(s scenarios.Strategy, changed func()) scenarios.Strategy {
	name := s.Scenario().Unique
	if s.Table != "" { // with a constraint of its own
		name = slices.Concat(s.Needs, []string{""})[0]
	}
	if name == "" || slices.Contains(s.Without, name) {
		return s
	}
	changed()
	s.Without = append(slices.Clone(s.Without), name)
	return s
}

// breaking stands between a handler and its surroundings for one attempt; end is called when the attempt has answered.
type breaking func(db scenarios.DB, acq scenarios.Acquirer, changed func()) (scenarios.DB, scenarios.Acquirer, func(context.Context) error)

func wrap(b breaking) func(scenarios.Strategy, func()) scenarios.Strategy {
	return func(s scenarios.Strategy, changed func()) scenarios.Strategy {
		inner := s.New
		s.New = func(env scenarios.Env) scenarios.Handler {
			handle := inner(env)
			return func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
				db, acq, end := b(db, acq, changed)
				resp, err := handle(ctx, db, acq, req)
				if end != nil {
					err = errors.Join(err, end(ctx))
				}
				return resp, err
			}
		}
		return s
	}
}

// whereMoneyMoves leaves strategies alone that no acquirer has part in: a commit cannot wait for what never comes.
func whereMoneyMoves(apply func(scenarios.Strategy, func()) scenarios.Strategy) func(scenarios.Strategy, func()) scenarios.Strategy {
	return func(s scenarios.Strategy, changed func()) scenarios.Strategy {
		if !s.Scenario().Acquirer {
			return s
		}
		return apply(s, changed)
	}
}

// isWrite says whether a statement writes: whether it begins, behind its step's comment, with a verb that does.
func isWrite(sql string) bool {
	return verb(sql) == "INSERT" || verb(sql) == "UPDATE" || verb(sql) == "MERGE" || verb(sql) == "DELETE"
}

func verb(sql string) string {
	if _, rest, ok := strings.Cut(sql, "*/"); ok {
		sql = rest
	}
	words := strings.Fields(strings.ToUpper(sql))
	if len(words) == 0 {
		return ""
	}
	if words[0] != "WITH" {
		return words[0]
	}
	for _, w := range words { // the verb that counts in WITH … AS (INSERT …) SELECT is the one that writes
		if w = strings.TrimLeft(w, "("); w == "INSERT" || w == "UPDATE" || w == "DELETE" || w == "MERGE" {
			return w
		}
	}
	return "WITH"
}
