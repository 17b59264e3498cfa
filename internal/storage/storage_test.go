package storage

import (
	"context"
	"math"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/meter"
	"idemlab/internal/server"
	"idemlab/internal/server/servertest"
	"idemlab/results"
)

func options(t *testing.T, layout string) Options {
	t.Helper()
	ddl, err := os.ReadFile("../../schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	all := Layouts()
	n := slices.IndexFunc(all, func(l Layout) bool { return l.Name == layout })
	if n < 0 {
		t.Fatalf("no layout %s", layout)
	}
	return Options{
		Layout: all[n], Keys: 6000, Rate: 100, Lifetime: 2 * aDay, Batch: 700, Sample: 60, Seed: 1,
		Today: time.Date(2026, 1, 15, 13, 0, 0, 0, time.UTC), DDL: string(ddl),
	}
}

// manyKeys are enough that the pages which PostgreSQL 16 and later add ahead of a COPY, up to 64, change no figure by a tenth.
const manyKeys = 60_000

// start makes the layout's table, for tests that go through the steps themselves.
func start(t *testing.T, o Options) *job {
	t.Helper()
	schema := servertest.Schema(t, o.DDL)
	conn, err := meter.Connect(t.Context(), schema.Config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.CloseConn(context.Background(), conn) })
	j := &job{Options: o, calendar: newCalendar(o.Today, o.Lifetime), conn: conn, explains: true}
	if _, err := o.Layout.shape(t.Context(), conn, j.calendar); err != nil {
		t.Fatal(err)
	}
	return j
}

func number[T any](t *testing.T, conn *pgx.Conn, sql string, args ...any) (n T) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return n
}

// Every layout comes to its end, with the verdict that it is known for, and lets a purged key in again.
func TestEveryLayout(t *testing.T) {
	for _, l := range Layouts() {
		t.Run(l.Name, func(t *testing.T) {
			o := options(t, l.Name)
			run, err := Run(t.Context(), servertest.Server(t), o)
			if err != nil {
				t.Fatal(err)
			}
			want, rows := results.Held, 1
			if l.PartitionedBy == ByDay {
				want, rows = results.Violated, 2
			}
			d := run.Storage
			if run.Status != results.Complete || run.Verdict != want || run.Expected != want || run.ExitCode != 0 {
				t.Errorf("%s, %s, expected %s, exit %d: %s", run.Status, run.Verdict, run.Expected, run.ExitCode, run.Reason)
			}
			if d.SameKey.RowsSameDay != 1 || d.SameKey.RowsNextDay != rows {
				t.Errorf("rows of one key: %+v", d.SameKey)
			}
			if refused := strings.Contains(d.SameKey.Refusal, "must include all partitioning columns (SQLSTATE 0A000)"); refused != (l.PartitionedBy == ByDay) {
				t.Errorf("PostgreSQL says %q", d.SameKey.Refusal)
			}
			if d.KeysLoaded != o.Keys || d.WAL.Keys != o.Sample || d.Purge.ExpiredKeys != o.Keys/3 || !d.Purge.ExpiredKeyAccepted {
				t.Errorf("%d loaded, %d written, purge %+v", d.KeysLoaded, d.WAL.Keys, d.Purge)
			}
			if per := d.Size.BytesPerKey; math.Abs(per*float64(o.Keys)-float64(d.Size.HeapBytes+d.Size.UniqueIndexBytes+d.Size.OtherIndexesBytes)) > 1 {
				t.Errorf("%v bytes a key of %+v", per, d.Size)
			}
			if a, b := d.Projection.BytesPerDay, 100*86400*d.Size.BytesPerKey; math.Abs(a-b) > 1 || math.Abs(d.Projection.SteadyBytes-2*b) > 1 {
				t.Errorf("a day %v, by hand %v; two days %v", a, b, d.Projection.SteadyBytes)
			}
			if schemas := leftBehindOn(t); schemas != 0 {
				t.Errorf("%d schemas left", schemas)
			}
		})
	}
}

func leftBehindOn(t *testing.T) int {
	t.Helper()
	conn, err := pgx.ConnectConfig(t.Context(), servertest.Server(t).Config())
	if err != nil {
		t.Fatal(err)
	}
	defer server.CloseConn(t.Context(), conn)
	return number[int](t, conn, `SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'idemlab%'`)
}

// The bytes are those that PostgreSQL gives when it is asked for each file by name.
func TestSizesAgreeWithPostgreSQL(t *testing.T) {
	for layout, files := range map[string]struct{ heap, key, others []string }{
		"text-v4": {[]string{"cobranca"}, []string{"uq_cobranca_idempotency_key"}, []string{"cobranca_pkey"}},
		"uuid-v7": {[]string{"cobranca"}, []string{"uq_cobranca_idempotency_key"}, []string{"cobranca_pkey"}},
		"text-v4-by-day": {
			[]string{"dia_0", "dia_1", "dia_2", "dia_3"},
			[]string{"dia_0_idempotency_key_dia_key", "dia_1_idempotency_key_dia_key", "dia_2_idempotency_key_dia_key", "dia_3_idempotency_key_dia_key"},
			[]string{"dia_0_pkey", "dia_1_pkey", "dia_2_pkey", "dia_3_pkey"},
		},
		"uuid-v7-by-key": {
			[]string{"dia_0", "dia_1", "dia_2", "dia_3", "sem_dia"},
			[]string{"dia_0_pkey", "dia_1_pkey", "dia_2_pkey", "dia_3_pkey", "sem_dia_pkey"}, nil,
		},
	} {
		t.Run(layout, func(t *testing.T) {
			j := start(t, options(t, layout))
			if err := j.load(t.Context()); err != nil {
				t.Fatal(err)
			}
			got, err := measure(t.Context(), j.conn)
			if err != nil {
				t.Fatal(err)
			}
			ask := func(names []string) (sum int64) {
				for _, name := range names {
					sum += number[int64](t, j.conn, `SELECT pg_relation_size($1::text::regclass)`, name)
				}
				return sum
			}
			if want := (sizes{ask(files.heap), ask(files.key), ask(files.others)}); got != want || got.heap == 0 || got.key == 0 {
				t.Errorf("measured %+v, asked for directly %+v", got, want)
			}
			doc := got.document(j.Keys)
			if all := number[int64](t, j.conn, `SELECT count(*) FROM cobranca`); doc.HeapBytesPerKey != float64(got.heap)/float64(all) {
				t.Errorf("%v bytes of heap a key, %d in %d keys", doc.HeapBytesPerKey, got.heap, all)
			}
		})
	}
}

// The WAL of the statements, added up, is what pg_wal_lsn_diff gives for all of them together: no statement is counted twice or left out.
// What the server's own processes write in between, a record now and then, is in the second alone.
func TestWALAgreesWithPostgreSQL(t *testing.T) {
	servertest.Quiet(t)
	for _, layout := range []string{"text-v4", "text-v4-by-day"} {
		t.Run(layout, func(t *testing.T) {
			j := start(t, options(t, layout))
			if err := j.load(t.Context()); err != nil {
				t.Fatal(err)
			}
			// The insert position: pg_current_wal_lsn lags behind here, where no commit waits for the disk.
			before := number[string](t, j.conn, `SELECT pg_current_wal_insert_lsn()::text`)
			claims, records, err := j.writeOneByOne(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			all := number[int64](t, j.conn, `SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), $1::text::pg_lsn)::bigint`, before)
			var sum int64
			for _, c := range append(claims, records...) {
				sum += c.bytes
			}
			if sum > all || float64(sum) < 0.95*float64(all) {
				t.Errorf("the statements wrote %d bytes, the server %d", sum, all)
			}
			if len(claims) != j.Sample || number[int](t, j.conn, `SELECT count(*) FROM cobranca WHERE resposta_http = 201`) != j.Keys+j.Sample {
				t.Errorf("%d claims of %d", len(claims), j.Sample)
			}
		})
	}
}

// After a checkpoint a claim with a random key costs many times one whose key stands next to the last; without page images they are alike.
func TestRandomKeysWritePageImages(t *testing.T) {
	servertest.Quiet(t)
	weigh := func(layout string) results.StorageStatement {
		o := options(t, layout)
		o.Keys, o.Sample = 20_000, 300
		j := start(t, o)
		if err := j.load(t.Context()); err != nil {
			t.Fatal(err)
		}
		// The server of the tests writes no images by itself, for it is not durable.
		if _, err := j.conn.Exec(t.Context(), `ALTER SYSTEM SET full_page_writes = on`); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if _, err := j.conn.Exec(t.Context(), `ALTER SYSTEM RESET full_page_writes`); err != nil {
				t.Error(err)
			}
			reload(t, j.conn, "off")
		}()
		reload(t, j.conn, "on")
		w, err := j.wal(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !w.Checkpointed || w.Record.Images == nil {
			t.Errorf("%+v", w)
		}
		return w.Claim
	}
	random, ordered := weigh("text-v4"), weigh("text-v7")
	if random.WALBytes < 3*ordered.WALBytes || *random.Images < 3**ordered.Images {
		t.Errorf("random %+v, ordered %+v", random, ordered)
	}
	if a, b := *random.WALBytesNoImage, *ordered.WALBytesNoImage; a > 2*b || b > 2*a {
		t.Errorf("without images: random %v, ordered %v", a, b)
	}
}

// reload has the server read its configuration, and returns when it has.
func reload(t *testing.T, conn *pgx.Conn, want string) {
	t.Helper()
	for number[string](t, conn, `SELECT current_setting('full_page_writes')`) != want {
		number[bool](t, conn, `SELECT pg_reload_conf()`)
	}
}

// What is loaded weighs what a service leaves that claims and records one key after another: dead versions are pruned on the way.
func TestLoadedRowsWeighWhatAServiceLeaves(t *testing.T) {
	o := options(t, "text-v4")
	o.Keys, o.Sample = manyKeys, 4000
	loaded, written := start(t, o), start(t, o)
	if err := loaded.load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := written.writeOneByOne(t.Context()); err != nil {
		t.Fatal(err)
	}
	perKey := func(j *job, keys int) float64 {
		s, err := measure(t.Context(), j.conn)
		if err != nil {
			t.Fatal(err)
		}
		return float64(s.heap) / float64(keys)
	}
	if a, b := perKey(loaded, o.Keys), perKey(written, o.Sample); math.Abs(a-b) > 0.1*a {
		t.Errorf("loaded rows take %.1f bytes, written ones %.1f", a, b)
	}
}

// DELETE and VACUUM get rid of the expired keys and of no others, and leave the files as large as they were; DROP gives the room back.
func TestPurge(t *testing.T) {
	for _, layout := range []string{"uuid-v4", "text-v4-by-day", "uuid-v7-by-key"} {
		t.Run(layout, func(t *testing.T) {
			o := options(t, layout)
			o.Keys, o.Batch = manyKeys, 7000
			j := start(t, o)
			if err := j.load(t.Context()); err != nil {
				t.Fatal(err)
			}
			p, err := j.purge(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			expired, all := number[int](t, j.conn, `SELECT count(*) FROM cobranca WHERE criada_em < $1`, j.calendar.cut()), number[int](t, j.conn, `SELECT count(*) FROM cobranca`)
			// One more: the key that was let in again.
			if expired != 0 || all != j.Keys-j.Keys/3+1 || p.ExpiredKeys != j.Keys/3 {
				t.Errorf("%d expired ones of %d are left, %d purged", expired, all, p.ExpiredKeys)
			}
			third := float64(p.BytesBefore) / 3
			if j.Layout.PartitionedBy == "" {
				if p.Statements != j.Keys/3/j.Batch+1 || p.BytesAfter < p.BytesBefore || p.Vacuum.BytesAfter < p.BytesBefore || math.Abs(float64(p.BytesUnused)-third) > 0.1*third {
					t.Errorf("%+v, %+v", p, p.Vacuum)
				}
				return
			}
			if gone := float64(p.BytesBefore - p.BytesAfter); math.Abs(gone-third) > 0.1*third || p.Vacuum != nil || p.WALBytes > 1<<20 {
				t.Errorf("%+v", p)
			}
		})
	}
}

// A layout that keeps its word is held, one that breaks it is violated, and neither hides behind what is expected of it.
func TestVerdictBothWays(t *testing.T) {
	plain, byDay := options(t, "text-v4").Layout, options(t, "text-v4-by-day").Layout
	for name, c := range map[string]struct {
		layout  Layout
		same    *results.StorageSameKey
		verdict results.Verdict
		exit    int
	}{
		"one table, one row":                    {plain, &results.StorageSameKey{RowsSameDay: 1, RowsNextDay: 1}, results.Held, 0},
		"one table, two rows on two days":       {plain, &results.StorageSameKey{RowsSameDay: 1, RowsNextDay: 2}, results.Violated, 1},
		"one table, two rows at once":           {plain, &results.StorageSameKey{RowsSameDay: 2, RowsNextDay: 2}, results.Violated, 1},
		"one table, no row":                     {plain, &results.StorageSameKey{}, results.Violated, 1},
		"one table, not asked":                  {plain, nil, results.Inconclusive, 4},
		"a table by day, two rows on two days":  {byDay, &results.StorageSameKey{RowsSameDay: 1, RowsNextDay: 2}, results.Violated, 0},
		"a table by day that keeps one row all": {byDay, &results.StorageSameKey{RowsSameDay: 1, RowsNextDay: 1}, results.Held, 1},
	} {
		run := results.Run{Storage: &results.Storage{SameKey: c.same}}
		judge(&run, c.layout)
		if run.Verdict != c.verdict || run.ExitCode != c.exit || run.Reason == "" {
			t.Errorf("%s: %s (%s), exit %d", name, run.Verdict, run.Reason, run.ExitCode)
		}
	}
}

// The unique constraint is what holds: without it the claim is refused by PostgreSQL, and the run fails and says so.
func TestWithoutTheConstraintTheRunFails(t *testing.T) {
	o := options(t, "text-v4")
	o.DDL = strings.Replace(o.DDL, "CONSTRAINT uq_cobranca_idempotency_key UNIQUE (idempotency_key)", "CHECK (true)", 1)
	run, err := Run(t.Context(), servertest.Server(t), o)
	if err == nil || run.Status != results.Errored || run.Verdict != results.Inconclusive || run.Storage.Size == nil {
		t.Errorf("%s, %s, %v", run.Status, run.Verdict, err)
	}
}

// Ctrl-C while a COPY runs: the statement is cancelled, the schema goes, and what was measured until then is there.
func TestInterrupted(t *testing.T) {
	o := options(t, "text-v4")
	o.Keys = 5_000_000
	o.Done = &atomic.Int64{}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for o.Done.Load() == 0 && ctx.Err() == nil {
			time.Sleep(time.Millisecond) // between two looks: the event is the first keys' arrival
		}
		cancel()
	}()
	run, err := Run(ctx, servertest.Server(t), o)
	if err != nil || run.Status != results.Aborted || run.Verdict != results.Inconclusive {
		t.Errorf("%s, %s, %v", run.Status, run.Verdict, err)
	}
	if d := run.Storage; d.KeysLoaded == 0 || d.KeysLoaded == o.Keys || d.Size != nil || d.Purge != nil {
		t.Errorf("%+v", d)
	}
	if n := leftBehindOn(t); n != 0 {
		t.Errorf("%d schemas left", n)
	}
}
