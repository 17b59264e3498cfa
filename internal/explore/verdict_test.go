package explore_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/explore"
	"idemlab/scenarios"
)

// found are the anomalies of a complete run.
func found(t *testing.T, r explore.Result) []scenarios.Anomaly {
	t.Helper()
	if !r.Complete || r.Inconclusive != "" {
		t.Fatalf("%s (%s), %s", r.Coverage(), r.Cut, r.Inconclusive)
	}
	var out []scenarios.Anomaly
	for _, v := range r.Violations {
		out = append(out, v.Anomaly)
	}
	return out
}

func TestVerdicts(t *testing.T) {
	double, unrecorded, orphan := scenarios.DoubleCharge, scenarios.ChargedWithoutRecord, scenarios.Orphan
	for _, c := range []struct {
		strategy          string
		sessions, crashes int
		want              []scenarios.Anomaly // all, worst first
	}{
		{"check-then-act", 2, 0, []scenarios.Anomaly{double, scenarios.DivergentAnswers}},
		{"check-then-act", 3, 0, []scenarios.Anomaly{double, scenarios.DivergentAnswers}},
		{"insert-first", 2, 0, nil},
		{"insert-first", 3, 0, nil},
		{"insert-first", 2, 1, []scenarios.Anomaly{unrecorded, orphan}},
		{"insert-first-catch", 2, 0, nil},
		{"insert-first-catch", 3, 0, nil},
		{"insert-first-catch", 2, 1, []scenarios.Anomaly{unrecorded, orphan}},
		{"insert-first-batched", 2, 0, nil},
		{"insert-first-batched", 2, 1, []scenarios.Anomaly{unrecorded, orphan}},
		{"insert-first-open-tx", 2, 0, nil},
		{"insert-first-open-tx", 3, 0, nil},
		{"insert-first-open-tx", 1, 1, []scenarios.Anomaly{double, unrecorded}}, // one client alone
		{"insert-not-exists", 2, 0, []scenarios.Anomaly{double}},
		{"get-or-create", 2, 0, []scenarios.Anomaly{scenarios.ErrorToDuplicate}},
		{"advisory-rc", 2, 0, nil},
		{"advisory-rr", 2, 0, []scenarios.Anomaly{double}},
		{"for-update-rc", 2, 0, nil},
		{"for-update-rr", 2, 0, []scenarios.Anomaly{double}},
		{"mutex", 2, 0, nil},
		{"remembers", 2, 0, nil},
		{"remembers", 1, 0, nil},
		{"remembers", 1, 1, []scenarios.Anomaly{double, unrecorded}}, // what a process remembers ends with it
		{"savepoint", 2, 0, nil},
		{"two-locks", 2, 0, []scenarios.Anomaly{scenarios.ErrorToDuplicate}}, // 40P01 is an outcome
	} {
		t.Run(fmt.Sprintf("%s/sessions=%d,crashes=%d", c.strategy, c.sessions, c.crashes), func(t *testing.T) {
			o := options(named(c.strategy))
			o.Sessions, o.Crashes = c.sessions, c.crashes
			r := run(t, o)
			if got := found(t, r); !slices.Equal(got, c.want) {
				t.Errorf("found %v, want %v", got, c.want)
			}
			for _, v := range r.Violations {
				if !v.Minimal {
					t.Errorf("%s: %s is not proved to be the shortest", v.Anomaly, v.Short)
				}
			}
			if r.Divergences > 0 {
				t.Errorf("%d divergences", r.Divergences)
			}
		})
	}
}

// At the levels with a snapshot a claim can be refused although nothing is wrong. Whoever tries it again is told no error.
func TestRefusalsAtSnapshotLevels(t *testing.T) {
	for _, level := range []pgx.TxIsoLevel{pgx.RepeatableRead, pgx.Serializable} {
		for name, want := range map[string][]scenarios.Anomaly{
			"insert-first": {scenarios.ErrorToDuplicate}, "insert-first-batched": nil,
		} {
			o := options(named(name))
			o.Isolation = level
			if got := found(t, run(t, o)); !slices.Equal(got, want) {
				t.Errorf("%s at %s: found %v, want %v", name, level, got, want)
			}
		}
	}
}

func TestAMutexHoldsInOneInstanceOnly(t *testing.T) {
	o := options(named("mutex"))
	o.Instances = 2
	if got := found(t, run(t, o)); !slices.Contains(got, scenarios.DoubleCharge) {
		t.Errorf("over two instances: found %v, want a double charge", got)
	}
}

func TestACleanerThatDeletesClaimsIsFound(t *testing.T) {
	o := options(scenarios.InsertFirst)
	o.Others = []scenarios.Job{cleaner}
	if got := found(t, run(t, o)); !slices.Contains(got, scenarios.DoubleCharge) {
		t.Errorf("found %v, want a double charge", got)
	}
}

// Each mutant breaks one line of a strategy that holds without faults.
func TestMutantsOfStrategiesAreFound(t *testing.T) {
	commitRemoved := func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
		tx, err := db.BeginTx(ctx, pgx.TxOptions{})
		if err != nil {
			return scenarios.Response{}, err
		}
		defer tx.Rollback(ctx)
		if r, found, err := look(tx.QueryRow(ctx, lookSQL, req.Key)); found || err != nil {
			return r, err
		}
		return captureAndInsert(ctx, tx, acq, req)
	}
	updateRemoved := func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
		return scenarios.InsertFirst.New(scenarios.Env{})(ctx, noUpdates{db}, acq, req)
	}
	for _, c := range []struct {
		name     string
		strategy scenarios.Strategy
		want     scenarios.Anomaly
	}{
		{"no UNIQUE", unconstrained(strategy("m", scenarios.InsertFirstCatch.New(scenarios.Env{}))), scenarios.DoubleCharge},
		{"capture first", strategy("m", effectFirst), scenarios.DoubleCharge},
		{"REPEATABLE READ for READ COMMITTED", named("advisory-rr"), scenarios.DoubleCharge},
		{"COMMIT removed", strategy("m", commitRemoved), scenarios.ChargedWithoutRecord},
		{"UPDATE removed", strategy("m", updateRemoved), scenarios.Orphan},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := found(t, run(t, options(c.strategy))); !slices.Contains(got, c.want) {
				t.Errorf("found %v, want %s among them", got, c.want)
			}
		})
	}
}

// noUpdates answers an UPDATE without making it.
type noUpdates struct{ scenarios.DB }

func (d noUpdates) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	if scenarios.StepOf(sql) == "record" {
		return stored{}
	}
	return d.DB.QueryRow(ctx, sql, args...)
}

type stored struct{}

func (stored) Scan(dest ...any) error {
	*dest[0].(*int), *dest[1].(*string) = 201, "{}"
	return nil
}
