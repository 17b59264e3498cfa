package mutate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"idemlab/internal/instance"
	"idemlab/internal/server/servertest"
	"idemlab/scenarios"
)

const ddl = `CREATE TABLE t (k text UNIQUE, v int NOT NULL DEFAULT 0); INSERT INTO t VALUES ('there', 1)`

func named(t *testing.T, name string) Mutant {
	t.Helper()
	for _, m := range All() {
		if m.Name == name {
			return m
		}
	}
	t.Fatalf("no mutant %s", name)
	return Mutant{}
}

func TestMutantsAreNamed(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range All() {
		if m.Name == "" || m.Title == "" || m.Apply == nil || seen[m.Name] {
			t.Errorf("%+v", m)
		}
		seen[m.Name] = true
	}
}

// bench is a table, a handler under a mutant on a pool, and a connection from outside that sees what is committed.
type bench struct {
	t       *testing.T
	conn    *pgx.Conn
	changed atomic.Int64
	mutant  Mutant
	open    func(scenarios.Strategy) *instance.Instance
}

func newBench(t *testing.T, mutant string) *bench {
	t.Helper()
	schema := servertest.Schema(t, ddl)
	conn, err := pgx.ConnectConfig(t.Context(), schema.Config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.WithoutCancel(t.Context())) })
	return &bench{t: t, conn: conn, mutant: named(t, mutant), open: func(s scenarios.Strategy) *instance.Instance {
		inst, err := instance.Open(t.Context(), instance.Config{Conn: schema.Config(), Pool: 2, Isolation: pgx.ReadCommitted, Strategy: s})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(inst.Close)
		return inst
	}}
}

// handle lets f answer one attempt under the mutant, and returns the error that its client would see.
func (b *bench) handle(acq scenarios.Acquirer, f func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer) error) string {
	b.t.Helper()
	s := b.mutant.Apply(scenarios.Strategy{Name: "test", New: func(scenarios.Env) scenarios.Handler {
		return func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, _ scenarios.Request) (scenarios.Response, error) {
			return scenarios.Response{Answer: scenarios.Charged, HTTP: 201}, f(ctx, db, acq)
		}
	}}, func() { b.changed.Add(1) })
	return b.open(s).Handle(b.t.Context(), acq, scenarios.Request{}).Err
}

// rows is the table as everybody else sees it: "k=v k=v".
func (b *bench) rows() string {
	b.t.Helper()
	var all string
	if err := b.conn.QueryRow(b.t.Context(), `SELECT coalesce(string_agg(k || '=' || v, ' ' ORDER BY k), '') FROM t`).Scan(&all); err != nil {
		b.t.Fatal(err)
	}
	return all
}

// teller is an acquirer that looks at the table while it is asked.
type teller struct {
	b    *bench
	seen []string
	fail error
}

func (a *teller) Capture(context.Context, scenarios.Charge) (scenarios.Receipt, error) {
	a.seen = append(a.seen, a.b.rows())
	return scenarios.Receipt{ID: "cap-1", Approved: true}, a.fail
}

func (a *teller) Find(context.Context, string) (scenarios.Receipt, bool, error) {
	return scenarios.Receipt{}, false, nil
}

type step = func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer) error

func exec(sql string) step {
	return func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer) error {
		_, err := db.Exec(ctx, sql)
		return err
	}
}

func capture(ctx context.Context, _ scenarios.DB, acq scenarios.Acquirer) error {
	_, err := acq.Capture(ctx, scenarios.Charge{})
	return err
}

// inOrder is a handler of several steps, the first error of which ends it.
func inOrder(steps ...step) step {
	return func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer) error {
		for _, s := range steps {
			if err := s(ctx, db, acq); err != nil {
				return err
			}
		}
		return nil
	}
}

// The first write outside a transaction stays uncommitted until the acquirer has answered, or the attempt has.
func TestLateCommit(t *testing.T) {
	insert := exec(`/* claim */ INSERT INTO t VALUES ('new')`)
	scan := func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer) error {
		return db.QueryRow(ctx, `/* claim */ INSERT INTO t VALUES ('new') RETURNING k`).Scan(new(string))
	}
	query := func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer) error {
		rows, err := db.Query(ctx, `/* claim */ INSERT INTO t VALUES ('new') RETURNING k`)
		if err != nil {
			return err
		}
		_, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	}
	read := func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer) error {
		var n int
		err := db.QueryRow(ctx, `/* read */ SELECT count(*) FROM t`).Scan(&n)
		if err == nil && n != 2 {
			err = fmt.Errorf("it sees %d rows, its own is missing", n)
		}
		return err
	}
	inTx := func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer) error {
		tx, err := db.BeginTx(ctx, pgx.TxOptions{})
		if err != nil {
			return err
		}
		defer tx.Rollback(ctx)
		if _, err := tx.Exec(ctx, `/* claim */ INSERT INTO t VALUES ('new')`); err != nil {
			return err
		}
		return tx.Commit(ctx)
	}
	refusedThenRead := func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer) error {
		_, err := db.Exec(ctx, `/* claim */ INSERT INTO t VALUES ('there')`)
		var pg *pgconn.PgError
		if !errors.As(err, &pg) || pg.Code != "23505" {
			return fmt.Errorf("the duplicate was told %v", err)
		}
		return db.QueryRow(ctx, `/* read */ SELECT v FROM t WHERE k = 'there'`).Scan(new(int))
	}
	for name, c := range map[string]struct {
		f       step
		during  string // what everybody else saw while the acquirer was asked, call by call
		after   string
		changed int64
	}{
		"exec":                        {inOrder(insert, capture), "there=1", "new=0 there=1", 1},
		"row":                         {inOrder(scan, capture), "there=1", "new=0 there=1", 1},
		"rows":                        {inOrder(query, capture), "there=1", "new=0 there=1", 1},
		"it sees its own row":         {inOrder(insert, read, capture), "there=1", "new=0 there=1", 1},
		"no capture":                  {insert, "", "new=0 there=1", 1},
		"a write before the capture":  {inOrder(insert, exec(`/* more */ UPDATE t SET v = 9`), capture), "there=1", "new=9 there=9", 1},
		"a write after the capture":   {inOrder(insert, capture, exec(`/* record */ UPDATE t SET v = 9`), capture), "there=1, new=9 there=9", "new=9 there=9", 1},
		"only reads":                  {inOrder(exec(`/* read */ SELECT 1`), capture), "there=1", "there=1", 0},
		"a transaction of its own":    {inOrder(inTx, capture), "new=0 there=1", "new=0 there=1", 0},
		"refused, and handled":        {inOrder(refusedThenRead, capture), "there=1", "there=1", 1},
		"refused, then another write": {inOrder(refusedThenRead, insert, capture), "new=0 there=1", "new=0 there=1", 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "late-commit")
			acq := &teller{b: b}
			if err := b.handle(acq, c.f); err != "" {
				t.Error(err)
			}
			if got := strings.Join(acq.seen, ", "); got != c.during {
				t.Errorf("during the capture the table was %q, want %q", got, c.during)
			}
			if got := b.rows(); got != c.after {
				t.Errorf("afterwards the table is %q, want %q", got, c.after)
			}
			if n := b.changed.Load(); n != c.changed {
				t.Errorf("changed %d times, want %d", n, c.changed)
			}
		})
	}
}

// An outcome that nobody knows is passed on, and the write that was held back is kept all the same.
func TestLateCommitPassesErrorsOn(t *testing.T) {
	b := newBench(t, "late-commit")
	acq := &teller{b: b, fail: scenarios.ErrOutcomeUnknown}
	if err := b.handle(acq, inOrder(exec(`/* claim */ INSERT INTO t VALUES ('new')`), capture)); !strings.Contains(err, "outcome unknown") {
		t.Errorf("told %q", err)
	}
	if got := b.rows(); got != "new=0 there=1" {
		t.Errorf("afterwards the table is %q", got)
	}
}

// No INSERT is refused as far as the strategy can see: neither by a missing row nor by a unique violation.
func TestRefusalHidden(t *testing.T) {
	affects := func(sql string, want int64) step {
		return func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer) error {
			tag, err := db.Exec(ctx, sql)
			if err == nil && tag.RowsAffected() != want {
				err = fmt.Errorf("%d rows affected, want %d", tag.RowsAffected(), want)
			}
			return err
		}
	}
	scans := func(sql string, want int) step {
		return func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer) error {
			got := 77 // what was there before
			err := db.QueryRow(ctx, sql).Scan(&got)
			if err == nil && got != want {
				err = fmt.Errorf("scanned %d, want %d", got, want)
			}
			return err
		}
	}
	collects := func(sql string, want []string, args ...any) step {
		return func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer) error {
			rows, err := db.Query(ctx, sql, args...)
			if err != nil {
				return err
			}
			got, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err == nil && !slices.Equal(got, want) {
				err = fmt.Errorf("collected %q, want %q", got, want)
			}
			return err
		}
	}
	within := func(f step) step {
		return func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer) error {
			tx, err := db.BeginTx(ctx, pgx.TxOptions{})
			if err != nil {
				return err
			}
			defer tx.Rollback(ctx)
			if err := f(ctx, asDB{tx}, acq); err != nil {
				return err
			}
			return tx.Commit(ctx)
		}
	}
	const (
		quiet     = `/* claim */ INSERT INTO t VALUES ('there') ON CONFLICT DO NOTHING`
		plain     = `/* claim */ INSERT INTO t VALUES ('there')`
		quietBack = `/* claim */ INSERT INTO t VALUES ('there') ON CONFLICT DO NOTHING RETURNING v`
		plainBack = `/* claim */ INSERT INTO t VALUES ('there') RETURNING v`
		batch     = `/* claim */ INSERT INTO t SELECT unnest($1::text[]) ON CONFLICT DO NOTHING RETURNING k`
		name      = `/* claim */ INSERT INTO t VALUES ('there') ON CONFLICT DO NOTHING RETURNING k`
	)
	for name, c := range map[string]struct {
		f       step
		err     string
		after   string
		changed int64
	}{
		"no row inserted":                {affects(quiet, 1), "", "there=1", 1},
		"a unique violation":             {affects(plain, 1), "", "there=1", 1},
		"no row back":                    {scans(quietBack, 0), "", "there=1", 1},
		"a unique violation, not a row":  {scans(plainBack, 0), "", "there=1", 1},
		"no row inserted, in a tx":       {within(affects(quiet, 1)), "", "there=1", 1},
		"no row back, in a tx":           {within(scans(quietBack, 0)), "", "there=1", 1},
		"a violation breaks its tx":      {within(inOrder(affects(plain, 1), scans(`/* read */ SELECT 1`, 1))), "25P02", "there=1", 1},
		"a member of a batch":            {collects(batch, []string{"a", "c", "there"}, []string{"a", "there", "c"}), "", "a=0 c=0 there=1", 1},
		"a member, in a tx":              {within(collects(batch, []string{"a", "there"}, []string{"a", "there"})), "", "a=0 there=1", 1},
		"a whole batch":                  {collects(batch, []string{"there"}, []string{"there"}), "", "there=1", 1},
		"nobody of a batch":              {collects(batch, []string{"a", "c"}, []string{"a", "c"}), "", "a=0 c=0 there=1", 0},
		"no rows back":                   {collects(name, []string{""}), "", "there=1", 1},
		"a unique violation, not rows":   {collects(`/* claim */ INSERT INTO t VALUES ('there') RETURNING k`, []string{""}), "", "there=1", 1},
		"another error, not rows":        {collects(`/* claim */ INSERT INTO t VALUES ('new', 1/0) RETURNING k`, nil), "22012", "there=1", 0},
		"a SELECT that finds no rows":    {collects(`/* read */ SELECT k FROM t WHERE k = ANY($1)`, nil, []string{"none"}), "", "there=1", 0},
		"one that inserts":               {affects(`/* claim */ INSERT INTO t VALUES ('new', 5)`, 1), "", "new=5 there=1", 0},
		"one that inserts and says so":   {scans(`/* claim */ INSERT INTO t VALUES ('new', 5) RETURNING v`, 5), "", "new=5 there=1", 0},
		"one that inserts, in a tx":      {within(scans(`/* claim */ INSERT INTO t VALUES ('new', 5) RETURNING v`, 5)), "", "new=5 there=1", 0},
		"another error of an INSERT":     {affects(`/* claim */ INSERT INTO t VALUES ('new', 1/0)`, 1), "22012", "there=1", 0},
		"another error, not a row":       {scans(`/* claim */ INSERT INTO t VALUES ('new', 1/0) RETURNING v`, 1), "22012", "there=1", 0},
		"an UPDATE of nothing":           {affects(`/* record */ UPDATE t SET v = 9 WHERE k = 'none'`, 0), "", "there=1", 0},
		"an UPDATE that gives no row":    {scans(`/* record */ UPDATE t SET v = 9 WHERE k = 'none' RETURNING v`, 0), "no rows", "there=1", 0},
		"a SELECT that finds nothing":    {scans(`/* read */ SELECT v FROM t WHERE k = 'none'`, 0), "no rows", "there=1", 0},
		"an UPDATE, and what it changed": {affects(`/* record */ UPDATE t SET v = 9`, 1), "", "there=9", 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "refusal-hidden")
			if err := b.handle(nil, c.f); !strings.Contains(err, c.err) || (err == "") != (c.err == "") {
				t.Errorf("told %q, want %q", err, c.err)
			}
			if got := b.rows(); got != c.after {
				t.Errorf("afterwards the table is %q, want %q", got, c.after)
			}
			if n := b.changed.Load(); n != c.changed {
				t.Errorf("changed %d times, want %d", n, c.changed)
			}
		})
	}
}

// An UPDATE answers as ever, and nothing of it stays; what stands beside it does.
func TestUpdateDropped(t *testing.T) {
	update := func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer) error {
		tag, err := db.Exec(ctx, `/* record */ UPDATE t SET v = 9`)
		if err == nil && tag.RowsAffected() != 1 {
			err = fmt.Errorf("%d rows affected", tag.RowsAffected())
		}
		return err
	}
	scan := func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer) error {
		var v int
		err := db.QueryRow(ctx, `/* record */ UPDATE t SET v = 9 RETURNING v`).Scan(&v)
		if err == nil && v != 9 {
			err = fmt.Errorf("scanned %d", v)
		}
		return err
	}
	query := func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer) error {
		rows, err := db.Query(ctx, `/* record */ UPDATE t SET v = 9 RETURNING v`)
		if err != nil {
			return err
		}
		got, err := pgx.CollectRows(rows, pgx.RowTo[int])
		if err == nil && !slices.Equal(got, []int{9}) {
			err = fmt.Errorf("collected %d", got)
		}
		return err
	}
	insert := exec(`/* claim */ INSERT INTO t VALUES ('new')`)
	within := func(steps ...step) step {
		return func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer) error {
			tx, err := db.BeginTx(ctx, pgx.TxOptions{})
			if err != nil {
				return err
			}
			defer tx.Rollback(ctx)
			if err := inOrder(steps...)(ctx, asDB{tx}, acq); err != nil {
				return err
			}
			return tx.Commit(ctx)
		}
	}
	for name, c := range map[string]struct {
		f       step
		err     string
		after   string
		changed int64
	}{
		"exec":                     {update, "", "there=1", 1},
		"row":                      {scan, "", "there=1", 1},
		"rows":                     {query, "", "there=1", 1},
		"in a tx":                  {within(update), "", "there=1", 1},
		"in a tx, rows":            {within(query, insert), "", "new=0 there=1", 1},
		"in a tx, row":             {within(scan), "", "there=1", 1},
		"in a tx, the rest stands": {within(update, insert, scan), "", "new=0 there=1", 2},
		"an INSERT":                {insert, "", "new=0 there=1", 0},
		"a DELETE":                 {exec(`/* undo */ DELETE FROM t`), "", "", 0},
		"an UPDATE that fails":     {exec(`/* record */ UPDATE t SET v = 1/0`), "22012", "there=1", 1},
		"one that gives no row": {func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer) error {
			return db.QueryRow(ctx, `/* record */ UPDATE t SET v = 9 WHERE k = 'none' RETURNING v`).Scan(new(int))
		}, "no rows", "there=1", 1},
		"one after another, on a pool":  {inOrder(update, scan, query, update, scan, query), "", "there=1", 6},
		"an INSERT that updates stands": {exec(`/* claim */ INSERT INTO t VALUES ('there') ON CONFLICT (k) DO UPDATE SET v = 9`), "", "there=9", 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "update-dropped")
			if err := b.handle(nil, c.f); !strings.Contains(err, c.err) || (err == "") != (c.err == "") {
				t.Errorf("told %q, want %q", err, c.err)
			}
			if got := b.rows(); got != c.after {
				t.Errorf("afterwards the table is %q, want %q", got, c.after)
			}
			if n := b.changed.Load(); n != c.changed {
				t.Errorf("changed %d times, want %d", n, c.changed)
			}
		})
	}
}

func TestNoUniqueDropsTheConstraint(t *testing.T) {
	m := named(t, "no-unique")
	changed := 0
	without := make([]string, 1, 4) // with room, so that an append in place would show
	without[0] = "another"
	s := scenarios.Strategy{Name: "s", Without: without, Needs: []string{scenarios.KeyConstraint}}
	broken := m.Apply(s, func() { changed++ })
	if !slices.Equal(broken.Without, []string{"another", scenarios.KeyConstraint}) || changed != 1 {
		t.Errorf("it does without %v, changed %d times", broken.Without, changed)
	}
	if !slices.Equal(broken.Needs, s.Needs) {
		t.Errorf("what it needs became %v", broken.Needs)
	}
	if without[:2][1] != "" || len(s.Without) != 1 {
		t.Errorf("the strategy itself was changed: %v", without[:2])
	}
	if again := m.Apply(broken, func() { changed++ }); !slices.Equal(again.Without, broken.Without) || changed != 1 {
		t.Errorf("a strategy without the constraint: %v, changed %d times", again.Without, changed)
	}
}

func TestRepeatableReadIsAMutantOfWhoClaimsLess(t *testing.T) {
	m := named(t, "repeatable-read")
	if m.Isolation != pgx.RepeatableRead {
		t.Errorf("it runs at %s", m.Isolation)
	}
	at := func(levels ...pgx.TxIsoLevel) scenarios.Claim {
		return scenarios.Claim{Under: scenarios.Race, At: levels, Anomaly: scenarios.DoubleCharge}
	}
	for name, c := range map[string]struct {
		never []scenarios.Claim
		want  bool
	}{
		"at every level":                {[]scenarios.Claim{at()}, false},
		"at this one, too":              {[]scenarios.Claim{at(pgx.ReadCommitted, pgx.RepeatableRead)}, false},
		"at read committed only":        {[]scenarios.Claim{at(pgx.ReadCommitted)}, true},
		"one claim of several":          {[]scenarios.Claim{at(), at(pgx.ReadCommitted)}, true},
		"nothing":                       {nil, false},
		"at serializable and below, no": {[]scenarios.Claim{at(pgx.Serializable, pgx.ReadCommitted)}, true},
	} {
		changed := false
		m.Apply(scenarios.Strategy{Never: c.never}, func() { changed = true })
		if changed != c.want {
			t.Errorf("who claims it %s: changed %v, want %v", name, changed, c.want)
		}
	}
}

// What a strategy claims at the level that was asked for is held against the mutant at whatever level that runs.
func TestClaimsAreThoseOfTheLevel(t *testing.T) {
	claim := func(a scenarios.Anomaly, levels ...pgx.TxIsoLevel) scenarios.Claim {
		return scenarios.Claim{Under: scenarios.Crash, At: levels, Anomaly: a}
	}
	s := Claims(scenarios.Strategy{
		Never: []scenarios.Claim{
			claim(scenarios.DoubleCharge), claim(scenarios.Orphan, pgx.ReadCommitted), claim(scenarios.MissingCharge, pgx.Serializable),
		},
		Shows: []scenarios.Claim{claim(scenarios.ErrorToDuplicate)},
	}, pgx.ReadCommitted)
	for _, level := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable} {
		never, shows := s.Judged(scenarios.Crash, level)
		if !slices.Equal(never, []scenarios.Anomaly{scenarios.DoubleCharge, scenarios.Orphan}) || len(shows) != 0 {
			t.Errorf("at %s: never %v, shows %v", level, never, shows)
		}
		if never, _ := s.Judged(scenarios.Race, level); len(never) != 0 {
			t.Errorf("under another hazard: %v", never)
		}
	}
}

func TestVerbStandsBehindTheStep(t *testing.T) {
	for sql, want := range map[string]string{
		"/* claim */ INSERT INTO t": "INSERT", "/* claim */\n\t\tINSERT INTO t": "INSERT", "insert into t": "INSERT",
		"/* record */ UPDATE t": "UPDATE", "/* undo */ DELETE FROM t": "DELETE", "/* claim */ MERGE INTO t": "MERGE",
		"/* read INSERT */ SELECT 1": "SELECT", "": "",
	} {
		if got := verb(sql); got != want {
			t.Errorf("%q: %q", sql, got)
		}
		if writes := want != "SELECT" && want != ""; isWrite(sql) != writes {
			t.Errorf("%q writes: %v", sql, !writes)
		}
	}
}
