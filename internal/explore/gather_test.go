package explore_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/explore"
	"idemlab/internal/schedule"
	"idemlab/scenarios"
)

// gatherer is a strategy of one batch: run is done over the attempts' *crew, and what it leaves in each says what that does next.
func gatherer(name string, most int, run func(ctx context.Context, db scenarios.DB, items []any) error) scenarios.Strategy {
	return scenarios.Strategy{Name: name, New: func(env scenarios.Env) scenarios.Handler {
		return func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
			c := &crew{req: req}
			_, err := env.Gather(ctx, db, scenarios.Batch{Name: "claim", Most: most, Wait: time.Millisecond, Run: run}, c)
			if err != nil {
				return scenarios.Response{}, err
			}
			if !c.won {
				r, _, err := look(db.QueryRow(ctx, lookSQL, req.Key))
				return r, err
			}
			if _, err := acq.Capture(ctx, scenarios.Charge(req)); err != nil {
				return scenarios.Response{}, err
			}
			return record(ctx, db, req)
		}
	}}
}

type crew struct {
	req scenarios.Request
	won bool
}

func claimOne(ctx context.Context, db scenarios.DB, req scenarios.Request) (won bool, err error) {
	tag, err := db.Exec(ctx, `/* claim */ INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status)
		VALUES ($1, $2, $3, 'PROCESSANDO') ON CONFLICT (idempotency_key) DO NOTHING`, req.Key, req.OrderID, req.AmountCents)
	return tag.RowsAffected() == 1, err
}

// firstOfAll claims for the first, whose key the others have too.
func firstOfAll(ctx context.Context, db scenarios.DB, items []any) (err error) {
	c := items[0].(*crew)
	c.won, err = claimOne(ctx, db, c.req)
	return err
}

// allAlike takes what the first has won for everybody's: wrong where a batch is shared, and there only.
func allAlike(ctx context.Context, db scenarios.DB, items []any) error {
	won, err := claimOne(ctx, db, items[0].(*crew).req)
	for _, item := range items {
		item.(*crew).won = won
	}
	return err
}

// nothing leaves it at who came with whom.
func nothing(context.Context, scenarios.DB, []any) error { return nil }

func TestReducedAgreesWithFullWhereSessionsGather(t *testing.T) {
	for name, c := range map[string]struct {
		run  func(context.Context, scenarios.DB, []any) error
		most int
		set  func(*explore.Options)
	}{
		"two":                       {firstOfAll, 64, func(*explore.Options) {}},
		"two, a crash":              {firstOfAll, 64, func(o *explore.Options) { o.Crashes, o.AttemptsPerSession = 1, 1 }},
		"two, a crash, tried again": {nothing, 64, func(o *explore.Options) { o.Crashes = 1 }},
		"two, at repeatable read":   {firstOfAll, 64, func(o *explore.Options) { o.Isolation = pgx.RepeatableRead }},
		"two in two instances":      {firstOfAll, 64, func(o *explore.Options) { o.Instances = 2 }},
		"two that cannot meet":      {firstOfAll, 1, func(*explore.Options) {}},
		"three":                     {nothing, 64, func(o *explore.Options) { o.Sessions = 3 }},
		"three, two to a batch":     {nothing, 2, func(o *explore.Options) { o.Sessions = 3 }},
		"three, two to an instance": {nothing, 64, func(o *explore.Options) { o.Sessions, o.Instances = 3, 2 }},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(gatherer("g", c.most, c.run))
			c.set(&o)
			crossCheck(t, o)
		})
	}
}

// Both are tried, and told apart: sessions that share a batch, and sessions that miss each other.
func TestSessionsShareABatchOrMissEachOther(t *testing.T) {
	for _, c := range []struct {
		name            string
		run             func(context.Context, scenarios.DB, []any) error
		instances, most int
		want            bool
	}{
		{"one claim for each batch", firstOfAll, 1, 64, false},
		{"a batch's claim taken for everybody's", allAlike, 1, 64, true},
		{"the same, where each has a batch to itself", allAlike, 1, 1, false},
		{"the same, where each has an instance to itself", allAlike, 2, 64, false},
	} {
		o := options(gatherer("g", c.most, c.run))
		o.Instances = c.instances
		if got := slices.Contains(found(t, run(t, o)), scenarios.DoubleCharge); got != c.want {
			t.Errorf("%s: a double charge: %v, want %v", c.name, got, c.want)
		}
	}
}

// A relation that does not know that who joins first leads must be noticed.
func TestAWrongRelationOfBatchesIsCaught(t *testing.T) {
	blind := func(f schedule.Footprint) schedule.Footprint {
		return slices.DeleteFunc(slices.Clone(f), func(a schedule.Access) bool { return strings.HasPrefix(a.Object, schedule.Outside("batch ")) })
	}
	full, reduced := both(t, options(gatherer("g", 64, allAlike)).Under(func(f, g schedule.Footprint) bool {
		return schedule.Depend(blind(f), blind(g))
	}))
	if d := explore.Compare(full, reduced); d == "" {
		t.Error("full and reduced agree")
	}
}

// turns are a trace in words: who did what, who waited, who went on, who was told what.
func turns(trace explore.Trace) (all []string) {
	for _, turn := range trace.Turns {
		line := string(rune('A'+turn.Session)) + ":" + turn.Step + " " + turn.Result
		if turn.Blocked {
			line += "waits for " + string(rune('A'+turn.BlockedBy[0]))
		}
		for _, w := range turn.Woke {
			line += ", " + string(rune('A'+w.Session)) + " " + w.Result
		}
		for _, a := range turn.Answers {
			if a.Died {
				line += ", " + string(rune('A'+a.Session)) + " died"
			} else {
				line += ", " + string(rune('A'+a.Session)) + " " + string(a.Answer)
			}
		}
		all = append(all, line)
	}
	return all
}

func TestWhatABatchLooksLike(t *testing.T) {
	for schedule, want := range map[string][]string{
		"A:join B:join A:depart A:claim A:commit A:arrive B:look": {
			"A:join leads", "B:join waits for A", "A:depart 2 together", "A:claim 1 row", "A:commit ok", "A:arrive ok, B arrived",
			"B:look 1 row, B in_progress", "A:capture captured", "A:record 1 row", "A:commit ok, A charged",
		},
		// Who comes when the batch has left opens the next.
		"A:join A:depart B:join B:depart B:claim A:claim B:commit": {
			"A:join leads", "A:depart alone", "B:join leads", "B:depart alone", "B:claim 1 row", "A:claim waits for B", "B:commit ok, A 0 rows",
			"B:capture captured", "B:record 1 row", "B:commit ok, B charged", "A:look 1 row, A replayed",
		},
		// A process that dies takes along all who share its batch, whether that has left or not, and before they know what came of it.
		"A:join B:join a:depart A:join B:join": {
			"A:join leads", "B:join waits for A", "A:depart dies, B dies with A, A died, B died", "A:join leads", "B:join waits for A",
			"A:depart 2 together", "A:claim 1 row", "A:commit ok", "A:arrive ok, B arrived",
			"A:capture captured", "A:record 1 row", "A:commit ok, A charged", "B:look 1 row, B replayed",
		},
		"B:join A:join B:depart B:claim B:commit b:arrive A:join A:depart B:join B:depart": {
			"B:join leads", "A:join waits for B", "B:depart 2 together", "B:claim 1 row", "B:commit ok", "B:arrive dies, A dies with B, A died, B died",
			"A:join leads", "A:depart alone", "B:join leads", "B:depart alone", "B:claim 0 rows", "B:look 1 row, B in_progress",
			"A:claim 0 rows", "A:look 1 row, A in_progress",
		},
		// Once it has arrived, each dies for itself.
		"A:join B:join A:depart A:claim A:commit A:arrive a:capture B:look": {
			"A:join leads", "B:join waits for A", "A:depart 2 together", "A:claim 1 row", "A:commit ok", "A:arrive ok, B arrived",
			"A:capture dies, A died", "B:look 1 row, B in_progress",
			"A:join leads", "A:depart alone", "A:claim 0 rows", "A:look 1 row, A in_progress",
		},
	} {
		trace, err := replay(t, options(gatherer("g", 64, firstOfAll)), schedule)
		if got := turns(trace); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v\ngot\n%s\nwant\n%s", schedule, err, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// A batch that is full is joined no more, though it has not left.
func TestAFullBatch(t *testing.T) {
	o := options(gatherer("g", 2, firstOfAll))
	o.Sessions = 3
	trace, err := replay(t, o, "A:join B:join C:join C:depart C:claim C:commit A:depart")
	want := []string{"A:join leads", "B:join waits for A", "C:join leads", "C:depart alone", "C:claim 1 row", "C:commit ok", "A:depart 2 together"}
	if got := turns(trace); err != nil || len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
		t.Errorf("%v\ngot\n%s", err, strings.Join(got, "\n"))
	}
}

// A death in a batch counts once, closes each one's socket where that is asked for, and comes to the same.
func TestADeathInABatchIsOne(t *testing.T) {
	o := options(gatherer("g", 64, firstOfAll))
	o.Crashes, o.AttemptsPerSession = 1, 1
	soft := run(t, o)
	o.Hard = true
	hard := run(t, o)
	same(t, "soft and hard", soft, hard)
	for _, v := range soft.Violations {
		if v.Faults > 1 {
			t.Errorf("%s has %d faults", v.Schedule, v.Faults)
		}
	}
	if !slices.Equal(found(t, soft), []scenarios.Anomaly{scenarios.ChargedWithoutRecord, scenarios.Orphan}) {
		t.Errorf("found %v", soft.Violations)
	}
}

// Whoever waits for a batch keeps what it holds. Where the batch needs that, nobody gets on.
func TestABatchThatWaitsForItsOwnMember(t *testing.T) {
	s := strategy("own", nil)
	s.New = func(env scenarios.Env) scenarios.Handler {
		lockRow := func(ctx context.Context, db scenarios.DB, items []any) error {
			_, err := db.Exec(ctx, `/* lock */ UPDATE ordem SET pago = true WHERE id = $1`, items[0])
			return err
		}
		return func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
			tx, err := db.BeginTx(ctx, pgx.TxOptions{})
			if err != nil {
				return scenarios.Response{}, err
			}
			defer tx.Rollback(ctx)
			if _, err := tx.Exec(ctx, `/* share */ SELECT FROM ordem WHERE id = $1 FOR SHARE`, req.OrderID); err != nil {
				return scenarios.Response{}, err
			}
			_, err = env.Gather(ctx, inside{tx}, scenarios.Batch{Name: "x", Most: 64, Run: lockRow}, req.OrderID)
			return scenarios.Response{Answer: scenarios.InProgress}, err
		}
	}
	o := options(s)
	if r := run(t, o); !strings.Contains(r.Inconclusive, "for ever") {
		t.Errorf("%d of %d schedules, inconclusive %q", r.Violating, r.Schedules, r.Inconclusive)
	}
}

// inside is a transaction as a DB.
type inside struct{ pgx.Tx }

func (d inside) BeginTx(ctx context.Context, _ pgx.TxOptions) (pgx.Tx, error) { return d.Tx.Begin(ctx) }

func (d inside) Session(_ context.Context, f func(scenarios.DB) error) error { return f(d) }
