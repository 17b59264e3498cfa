package explore

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
)

// catalogue is what PostgreSQL knows of the names in a statement. It is read once, before the run: a strategy that changes the
// schema is not for exploring.
type catalogue struct {
	relations map[string]relation
	harmful   map[string]bool // functions: true where a call may write or wait, false for those known not to
	schemas   map[string]bool
	own       string              // the schema in which things are made
	hidden    bool                // code of the user's may run where no function is named: an operator's, say
	sets      bool                // code of the user's may change a setting of the session
	trying    []string            // functions whose code tries for a lock that may be another's
	code      map[string]bool     // writing this table runs code (triggers, defaults), or checks at COMMIT
	kin       map[string][]string // tables that are touched together with this one: by foreign keys, inheritance, partitions
}

type relation uint8

const (
	table  relation = iota + 1
	opaque          // a view, a foreign table, a sequence, something of the system's
)

func readCatalogue(ctx context.Context, conn *pgx.Conn) (catalogue, error) {
	c := catalogue{
		relations: map[string]relation{}, harmful: map[string]bool{}, schemas: map[string]bool{},
		code: map[string]bool{}, kin: map[string][]string{},
	}
	for _, q := range c.questions() {
		rows, err := conn.Query(ctx, q.sql)
		if err == nil {
			var name, other string
			_, err = pgx.ForEachRow(rows, []any{&name, &other}, func() error { q.note(name, other); return nil })
		}
		if err != nil {
			return catalogue{}, fmt.Errorf("explore: read the catalogue: %w", err)
		}
	}
	c.closeKin()
	return c, nil
}

type question struct {
	sql  string // gives two texts
	note func(name, other string)
}

// questions looks at what the search path makes visible. A table without row security and rules is plain; a function is
// harmless that is not volatile, or is one of the volatile ones that neither write nor wait. What is called stable and tells how far other
// transactions are, or gives this one a number, is not, nor is what reads tables that are named in no statement.
func (c *catalogue) questions() []question {
	return []question{
		{`SELECT relname::text,
		         (relkind IN ('r', 'p') AND NOT relrowsecurity AND relnamespace <> 'pg_catalog'::regnamespace
		          AND NOT EXISTS (SELECT FROM pg_rewrite w WHERE w.ev_class = k.oid))::text
		    FROM pg_class k
		   WHERE relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND pg_table_is_visible(oid)`,
			func(name, plain string) {
				c.relations[name] = opaque
				if plain == "true" {
					c.relations[name] = table
				}
			}},
		{`SELECT proname::text, bool_or(provolatile = 'v' AND proname NOT IN ('clock_timestamp', 'random', 'gen_random_uuid')
		                               OR proname ~ '^(txid_|pg_.*(xact|snapshot)|pg_stat_|pg_prepared|pg_get_replication|(mxid_)?age$|(table|schema|database|query|cursor)_to_xml)')::text
		    FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace GROUP BY 1`,
			func(name, harmful string) { c.harmful[name] = harmful == "true" }},
		{`SELECT DISTINCT proname::text, '' FROM pg_proc WHERE pronamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)`,
			func(name, _ string) { c.harmful[name] = true }},
		{`SELECT proname::text, ''
		    FROM pg_proc JOIN pg_namespace n ON n.oid = pronamespace
		   WHERE nspname = ANY (current_schemas(false)) AND prokind IN ('f', 'p')
		     AND pg_get_functiondef(pg_proc.oid) ~* '` + trying + `'`,
			func(name, _ string) { c.trying = add(c.trying, name) }},
		// A SET that is not an UPDATE's.
		{`SELECT 'a function'::text, ''
		    FROM pg_proc JOIN pg_namespace n ON n.oid = pronamespace JOIN pg_language l ON l.oid = prolang
		   WHERE nspname NOT IN ('pg_catalog', 'information_schema') AND lanname NOT IN ('c', 'internal') AND prokind IN ('f', 'p')
		     AND regexp_replace(regexp_replace(pg_get_functiondef(pg_proc.oid), '--[^''\n]*\n', E'\n', 'g'),
		                        '\yupdate\s+(only\s+)?([\w."]+(\s+(as\s+)?\w+)?\s+)?set\y', '', 'gi') ~* '\yset_config\y|\yset\y'
		  UNION SELECT 'a view', '' FROM pg_views WHERE schemaname NOT IN ('pg_catalog', 'information_schema') AND definition ~ 'set_config'
		  UNION SELECT 'a rule', '' FROM pg_rules WHERE schemaname NOT IN ('pg_catalog', 'information_schema') AND definition ~ 'set_config'
		  UNION SELECT 'a default', '' FROM pg_attrdef WHERE pg_get_expr(adbin, adrelid) ~ 'set_config'
		  UNION SELECT 'a check', '' FROM pg_constraint WHERE contype = 'c' AND pg_get_constraintdef(oid) ~ 'set_config'
		  UNION SELECT 'a policy', '' FROM pg_policies WHERE concat(qual, with_check) ~ 'set_config'`,
			func(string, string) { c.sets = true }},
		{`SELECT nspname::text, '' FROM pg_namespace`,
			func(name, _ string) { c.schemas[name] = true }},
		{`SELECT current_schema()::text, ''`,
			func(name, _ string) { c.own = name }},
		// What is immutable looks at no table: extensions are full of that.
		{`WITH f AS (SELECT p.* FROM pg_proc p JOIN pg_namespace n ON n.oid = pronamespace WHERE nspname = ANY (current_schemas(false)) AND provolatile <> 'i')
		  SELECT 'an operator'::text, '' FROM pg_operator JOIN f ON f.oid = oprcode
		   UNION SELECT 'a cast', '' FROM pg_cast JOIN f ON f.oid = castfunc
		   UNION SELECT 'a domain', '' FROM pg_constraint d JOIN pg_depend e ON e.classid = 'pg_constraint'::regclass AND e.objid = d.oid AND e.refclassid = 'pg_proc'::regclass
		                                JOIN f ON f.oid = e.refobjid WHERE d.contypid <> 0
		   UNION SELECT 'a function that can be named like a column', '' FROM f JOIN pg_type t ON t.oid = f.proargtypes[0] WHERE f.pronargs = 1 AND t.typtype = 'c'`,
			func(string, string) { c.hidden = true }},
		{`SELECT k.relname::text, ''
		    FROM pg_class k
		   WHERE pg_table_is_visible(k.oid)
		     AND (EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = k.oid AND NOT t.tgisinternal)
		       OR EXISTS (SELECT FROM pg_constraint d WHERE d.conrelid = k.oid AND d.condeferrable)
		       OR EXISTS (SELECT FROM pg_depend d JOIN pg_attrdef a ON d.classid = 'pg_attrdef'::regclass AND d.objid = a.oid
		                   WHERE a.adrelid = k.oid AND d.refclassid = 'pg_proc'::regclass AND d.refobjid >= 16384)
		       OR EXISTS (SELECT FROM pg_attrdef a WHERE a.adrelid = k.oid AND pg_get_expr(a.adbin, a.adrelid) ~ '(txid_|xact|snapshot|set_config)')
		       OR EXISTS (SELECT FROM pg_constraint a WHERE a.conrelid = k.oid AND a.contype = 'c' AND pg_get_constraintdef(a.oid) ~ '(txid_|xact|snapshot|set_config)')
		       OR EXISTS (SELECT FROM pg_depend d JOIN pg_constraint a ON d.classid = 'pg_constraint'::regclass AND d.objid = a.oid
		                   WHERE a.conrelid = k.oid AND d.refclassid = 'pg_proc'::regclass AND d.refobjid >= 16384))`,
			func(name, _ string) { c.code[name] = true }},
		{`SELECT a.relname::text, b.relname::text
		    FROM (SELECT conrelid AS x, confrelid AS y FROM pg_constraint WHERE contype = 'f'
		          UNION SELECT inhrelid, inhparent FROM pg_inherits
		          UNION SELECT a.adrelid, b.adrelid -- columns that are numbered from one sequence
		                  FROM pg_depend d JOIN pg_attrdef a ON a.oid = d.objid
		                  JOIN pg_depend e USING (classid, refclassid, refobjid) JOIN pg_attrdef b ON b.oid = e.objid
		                 WHERE d.classid = 'pg_attrdef'::regclass AND d.refclassid = 'pg_class'::regclass AND a.adrelid <> b.adrelid
		                   AND d.refobjid IN (SELECT oid FROM pg_class WHERE relkind = 'S')) t
		    JOIN pg_class a ON a.oid = t.x AND a.relkind IN ('r', 'p') JOIN pg_class b ON b.oid = t.y
		   WHERE pg_table_is_visible(a.oid) OR pg_table_is_visible(b.oid)`,
			func(name, other string) {
				c.kin[name], c.kin[other] = add(c.kin[name], other), add(c.kin[other], name)
			}},
	}
}

// trying is how SQL asks for a lock without waiting for it.
const trying = `\ypg_try_advisory|\yskip\s+locked\y|\ynowait\y`

// tryWords is the same for Go, which writes a word's edge otherwise.
var tryWords = regexp.MustCompile(`(?i)` + strings.ReplaceAll(trying, `\y`, `\b`))

// closeKin makes kin of kin kin: a cascade goes on.
func (c *catalogue) closeKin() {
	for name := range c.kin {
		for i := 0; i < len(c.kin[name]); i++ {
			for _, k := range c.kin[c.kin[name][i]] {
				if k != name {
					c.kin[name] = add(c.kin[name], k)
				}
			}
		}
	}
}
