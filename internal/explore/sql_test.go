package explore

import (
	"fmt"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/schedule"
)

func toyCatalogue() catalogue {
	return catalogue{
		relations: map[string]relation{"cobranca": table, "pedido": table, "item": table, "audited": table, "seen": opaque},
		harmful:   map[string]bool{"now": false, "count": false, "coalesce": false, "nextval": true, "mine": true, "pg_advisory_xact_lock": true},
		schemas:   map[string]bool{"public": true, "other": true},
		own:       "public",
		code:      map[string]bool{"audited": true},
		kin:       map[string][]string{"item": {"pedido"}, "pedido": {"item"}},
	}
}

func TestAnalyse(t *testing.T) {
	for _, c := range []struct{ sql, want string }{
		{`SELECT 1`, "name=select r=[] w=[] l=[]"},
		{`/* check */ SELECT status FROM cobranca WHERE k = $1 AND t = 'DELETE FROM pedido'`, "name=check r=[cobranca] w=[] l=[]"},
		{`/* Two Words */ select "status" from "cobranca" -- update pedido`, "name=two-words r=[cobranca] w=[] l=[]"},
		{`INSERT INTO cobranca (k) VALUES ($1) ON CONFLICT (k) DO NOTHING RETURNING id`, "name=insert r=[cobranca] w=[cobranca] l=[]"},
		{`INSERT INTO cobranca (k) VALUES ($1) ON CONFLICT (k) DO UPDATE SET k = $1`, "name=insert r=[cobranca] w=[cobranca] l=[]"},
		{`INSERT INTO cobranca SELECT $1 WHERE NOT EXISTS (SELECT FROM pedido)`, "name=insert r=[cobranca pedido item] w=[cobranca] l=[]"},
		{`UPDATE ONLY public.cobranca c SET x = coalesce(x, 0)`, "name=update r=[cobranca] w=[cobranca] l=[]"},
		{`DELETE FROM item WHERE a = E'it\'s' AND b = $t$ ; DROP TABLE cobranca $t$`, "name=delete r=[item pedido] w=[item pedido] l=[]"},
		{`WITH ins AS (INSERT INTO cobranca (k) VALUES ($1) RETURNING id) SELECT id FROM ins UNION ALL SELECT id FROM cobranca`, "name=with r=[cobranca] w=[cobranca] l=[]"},
		{`MERGE INTO cobranca c USING (VALUES ($1)) v (k) ON c.k = v.k WHEN MATCHED THEN UPDATE SET k = 1 WHEN NOT MATCHED THEN INSERT (k) VALUES (v.k)`, "name=merge r=[cobranca] w=[cobranca] l=[]"},
		{`SELECT id FROM cobranca FOR NO KEY UPDATE SKIP LOCKED`, "name=select r=[cobranca] w=[] l=[cobranca]"},
		{`SELECT pg_advisory_xact_lock($1)`, "name=select r=[] w=[] l=[] advisory"},
		{`SELECT count(*), now() FROM cobranca`, "name=select r=[cobranca] w=[] l=[]"},
		{`COMMIT`, "name=commit r=[] w=[] l=[] control"},
		// Not understood: anything may happen.
		{``, "name=sql everything"},
		{`TRUNCATE cobranca`, "name=truncate everything"},
		{`CALL charge($1)`, "name=call everything"},
		{`LOCK TABLE cobranca`, "name=lock everything"},
		{`SELECT mine($1)`, "name=select everything"},
		{`SELECT nextval('s')`, "name=select everything"},
		{`SELECT * FROM seen`, "name=select everything"},
		{`SELECT * FROM other.cobrancas`, "name=select everything"},
		{`INSERT INTO audited VALUES (1)`, "name=insert everything"},
		{`INSERT INTO nowhere VALUES (1)`, "name=insert everything"},
		{`SELECT 1 INTO copied FROM cobranca`, "name=select everything"},
		{`SELECT 1; DELETE FROM cobranca`, "name=select everything"},
		{`SET LOCAL lock_timeout = '1s'`, "name=set r=[] w=[] l=[]"},
		{`SET TRANSACTION ISOLATION LEVEL SERIALIZABLE`, "name=set everything"},
		{`DO $$ BEGIN DELETE FROM cobranca; END $$`, "name=do everything"},
	} {
		s := analyse(c.sql, toyCatalogue())
		got := fmt.Sprintf("name=%s r=%v w=%v l=%v", s.name, s.reads, s.writes, s.locks)
		if s.everything && !s.control {
			got = fmt.Sprintf("name=%s everything", s.name)
		}
		if s.advisory && !s.everything {
			got += " advisory"
		}
		if s.control {
			got += " control"
		}
		if got != c.want {
			t.Errorf("%s\n  got  %s\n  want %s", c.sql, got, c.want)
		}
	}
}

// step is the footprint of the statements, one after another, in one transaction, or of its end.
func step(iso pgx.TxIsoLevel, end string, sql ...string) schedule.Footprint {
	t := &txn{iso: iso}
	var f schedule.Footprint
	for _, q := range sql {
		f = t.statement(analyse(q, toyCatalogue()))
	}
	switch end {
	case "commit":
		return t.commit()
	case "rollback":
		return t.rollback()
	}
	return f
}

func TestWhatDependsOnWhat(t *testing.T) {
	const (
		read      = `SELECT 1 FROM cobranca`
		write     = `UPDATE cobranca SET x = 1`
		elsewhere = `SELECT 1 FROM pedido`
		lock      = `SELECT 1 FROM cobranca FOR UPDATE`
		unknown   = `CALL f()`
	)
	rc, rr, ser := pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable
	for _, c := range []struct {
		name string
		a, b schedule.Footprint
		want bool
	}{
		{"two reads", step(rc, "", read), step(rc, "", read), false},
		{"a read and a write not yet visible", step(rc, "", read), step(rc, "", write), false},
		{"a read and a commit", step(rc, "", read), step(rc, "commit", write), true},
		{"a read and a rollback", step(rc, "", read), step(rc, "rollback", write), false},
		{"a read elsewhere and a commit", step(rc, "", elsewhere), step(rc, "commit", write), false},
		{"two writes", step(rc, "", write), step(rc, "", write), true},
		{"a write and a rollback", step(rc, "", write), step(rc, "rollback", write), true},
		{"a lock and a lock", step(rc, "", lock), step(rc, "", lock), true},
		{"a lock and the commit that gives it back", step(rc, "", lock), step(rc, "commit", lock), true},
		{"two commits", step(rc, "commit", write), step(rc, "commit", write), false},
		{"a snapshot and a commit of anything", step(rr, "", elsewhere), step(rc, "commit", write), true},
		{"a read from a snapshot taken before and a commit", step(rr, "", elsewhere, read), step(rc, "commit", write), false},
		{"a write under a snapshot and a commit", step(rr, "", elsewhere, write), step(rc, "commit", write), true},
		{"reads and a write, serializable", step(ser, "", elsewhere, read), step(ser, "", elsewhere, write), true},
		{"a step after colliding ones, serializable", step(ser, "", read, elsewhere), step(ser, "commit", write), true},
		{"the same without a collision", step(ser, "", elsewhere, elsewhere), step(ser, "", read, write), false},
		{"a snapshot and the end of a reader, serializable", step(ser, "", write), step(ser, "commit", elsewhere), true},
		{"anything and what is not understood", step(rc, "", elsewhere), step(rc, "", unknown), true},
		{"the acquirer and what is not understood", theAcquirer(schedule.Lock), step(rc, "", unknown), false},
		{"two captures", theAcquirer(schedule.Lock | schedule.Publish), theAcquirer(schedule.Lock | schedule.Publish), true},
	} {
		if schedule.Depend(c.a, c.b) != c.want || schedule.Depend(c.b, c.a) != c.want {
			t.Errorf("%s: %v and %v: want %v", c.name, c.a, c.b, c.want)
		}
	}
}

func TestTokenize(t *testing.T) {
	got := tokenize(`SELECT a."B c",'it''s'/* x /* y */ z */,E'\'',$1,$$ q $$ FROM t--c`)
	if want := []string{"select", "a", ".", "B c", ",", ",", ",", ",", "from", "t"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A setting that goes with its transaction says nothing of the next; one that may stay does.
func TestWhatLasts(t *testing.T) {
	c := toyCatalogue()
	c.harmful["set_config"] = true
	for sql, want := range map[string]bool{
		`SELECT set_config('app.tenant', $1, true)`:                                      false,
		`SELECT set_config($1, $2, TRUE), set_config('a', $tag$b$tag$, true)`:            false,
		`SELECT pg_catalog."set_config"('app.tenant', $1, true)`:                         false,
		`SELECT set_config('app.tenant', $1, false)`:                                     true,
		`SELECT set_config('app.tenant', $1, $2)`:                                        true,
		`SELECT set_config('app.tenant', $1, true), set_config('app.tenant', $1, false)`: true,
		`SELECT set_config('app.tenant', $1, true AND false)`:                            true,
		`SELECT set_config('app.tenant', $1, not true)`:                                  true,
		`SELECT set_config('app.tenant', $1, is_local => true)`:                          true,
		`SELECT set_config('app.tenant', $1, "true") FROM (SELECT false AS "true") x`:    true,
		`SELECT set_config('app.tenant', coalesce($1, ''), true)`:                        true, // not sure
		`SELECT set_config('app.tenant', $1, true); SET search_path = other`:             true,
		`SET LOCAL search_path = other`:                                                  false,
		`SET search_path = other`:                                                        true,
	} {
		if got := analyse(sql, c).lasting; got != want {
			t.Errorf("%s: lasts %v", sql, got)
		}
	}
}

// A queue tries in the one table that it names, whatever that table's foreign keys lead to; a trigger's code may try, too.
func TestWhatTriesForALock(t *testing.T) {
	c := toyCatalogue()
	c.trying = []string{"tries"}
	for sql, want := range map[string]bool{
		`SELECT id FROM item FOR UPDATE SKIP LOCKED`:                       false, // of kin with pedido
		`UPDATE item SET id = 1 WHERE id = (SELECT id FROM item LIMIT 1)`:  false,
		`SELECT id FROM item, cobranca FOR UPDATE SKIP LOCKED`:             true,
		`SELECT id FROM item i JOIN pedido p USING (id) FOR UPDATE NOWAIT`: true,
		`INSERT INTO audited VALUES (1)`:                                   true, // what runs then may be that function
		`INSERT INTO cobranca (k) VALUES (1)`:                              false,
	} {
		if got := analyse(sql, c).tries; (got != "") != want {
			t.Errorf("%s: %q", sql, got)
		}
	}
}
