package explore

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"idemlab/internal/schedule"
	"idemlab/scenarios"
)

// statement is what can be known of SQL from its text and the catalogue.
type statement struct {
	name string // its step: from the comment in front, else its verb
	verb string // the SQL's first words, for people: "INSERT cobranca"

	reads, writes, locks []string // tables
	everything           bool     // not understood: it may touch anything
	advisory             bool     // takes or gives back advisory locks
	control              bool     // BEGIN, COMMIT and the like, sent as text
	setting              bool     // SET or SHOW: no snapshot is taken for it
	lasting              bool     // may change a setting for all that the connection does afterwards
	ofSession            bool     // uses what ends with the session: its number, or a temporary table
	leaves               bool     // changes nothing for good, and yet the session can tell that it was there
	keeps                bool     // the same, or a setting that lasts: it is of no use to whoever has another connection next
	sessionLock          bool     // takes or gives back an advisory lock that outlives transactions
	tries                string   // how it tries for a lock and looks elsewhere: between the two, in PostgreSQL, somebody may come
	needsBlock           bool     // is refused outside a transaction block
	targets              int      // how often something is written: more than once where a CTE writes, too
}

// wroteNothing says that the statement is known to have changed no row. What PostgreSQL counts is what the outermost statement did: a
// CTE in it may have written all the same.
func (s statement) wroteNothing(r *result) bool {
	return !s.everything && s.targets == 1 && r.changed() == 0
}

// plain says that the statement, outside a transaction, is one step: it makes nothing visible.
func (s statement) plain() bool {
	return !s.everything && len(s.writes) == 0
}

// analyse reads SQL without a grammar, and errs on one side only: every table that is mentioned at all counts as read, and
// whatever could be more than that counts as everything.
func analyse(sql string, c catalogue) statement {
	tokens := tokenize(sql)
	s := statement{name: schedule.Name(scenarios.StepOf(sql))}
	if len(tokens) == 0 {
		s.everything = true
		return named(s, "sql")
	}
	s.everything = !understood(tokens) || slices.ContainsFunc(tokens, beyondTables) || c.hidden
	s.setting = tokens[0] == "set" || tokens[0] == "show"
	s.needsBlock = tokens[0] == "lock" || tokens[0] == "declare"
	s.ofSession = slices.ContainsFunc(tokens, func(t string) bool {
		return slices.Contains([]string{"temp", "temporary", "pg_temp", "pg_backend_pid", "listen", "currval", "lastval", "setseed"}, t)
	})
	s.control = slices.Contains([]string{"begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release"}, tokens[0])
	for i, t := range tokens {
		s.table(tokens, i, c)
		s.function(tokens, i, t, c)
	}
	mentioned := slices.Concat(s.reads, s.writes)
	s.related(c)
	s.lasting = s.everything && (lasting(tokens, sql) || c.sets)
	s.leaves = leaves(tokens, sql)
	s.keeps = s.ofSession || s.lasting && (tokens[0] == "set" || slices.Contains(tokens, "set_config"))
	s.tries = s.trying(sql, tokens, mentioned, c)
	if s.control {
		s = statement{name: s.name, control: true}
	}
	return named(s, tokens[0])
}

// beyondTables: a name with escapes, or a column of PostgreSQL's own, which shows what another transaction is about to do with a row.
func beyondTables(token string) bool {
	return slices.Contains([]string{undecoded, "xmin", "xmax", "cmin", "cmax", "ctid"}, token)
}

func named(s statement, verb string) statement {
	s.verb = strings.ToUpper(verb)
	for _, t := range slices.Concat(s.writes, s.reads) {
		s.verb += " " + t
		break
	}
	if s.name == "" {
		s.name = schedule.Name(verb)
	}
	return s
}

// understood: one statement that begins with a word whose effects are known.
func understood(tokens []string) bool {
	i := slices.Index(tokens, ";")
	if i >= 0 && i < len(tokens)-1 {
		return false
	}
	if tokens[0] == "set" { // a setting that changes neither what is seen nor what is locked
		return slices.ContainsFunc(tokens, func(t string) bool {
			return slices.Contains([]string{"lock_timeout", "statement_timeout", "application_name", "work_mem"}, t)
		})
	}
	return slices.Contains([]string{"select", "insert", "update", "delete", "merge", "with", "values", "show"}, tokens[0])
}

// lasting says that a statement which is not understood may change a setting of the session, as its level of isolation or search path.
func lasting(tokens []string, sql string) bool {
	switch tokens[0] {
	case "set":
		return len(tokens) == 1 || tokens[1] != "local" && tokens[1] != "transaction"
	case "reset", "discard", "do", "call", "prepare", "load":
		return true
	}
	if slices.Contains(tokens, ";") {
		return true
	}
	for i, t := range tokens {
		if t == "set_config" && (!ofTransaction(tokens[i+1:]) || strings.Contains(sql, `"true"`)) {
			return true
		}
	}
	return false
}

// ofTransaction says that set_config's arguments end with true, so that the setting goes with the transaction, as SET LOCAL's does. The
// others are strings and parameters, which are no tokens, or else it is not sure.
func ofTransaction(arguments []string) bool {
	want := []string{"(", ",", ",", "true", ")"}
	return len(arguments) >= len(want) && slices.Equal(arguments[:len(want)], want)
}

// known is set_config of a setting that PostgreSQL has itself: its name has no dot.
var known = regexp.MustCompile(`(?i)\bset_config"?\s*\(\s*'[a-z_]+'\s*,`)

// leaves says that a statement may make a setting of the application's own. It stays when its transaction's value goes: what was NULL before is
// an empty text from then on, and nothing but the session's end takes it away.
func leaves(tokens []string, sql string) bool {
	named := len(known.FindAllString(sql, -1))
	for _, t := range tokens {
		switch {
		case tokens[0] == "set" && strings.Contains(t, "."):
			return true
		case t == "set_config":
			named--
		}
	}
	return named < 0
}

// table notes tokens[i] if it is a table, and how it is used there.
func (s *statement) table(tokens []string, i int, c catalogue) {
	t := tokens[i]
	kind, ok := c.relations[t]
	if ok {
		s.reads = add(s.reads, t)
		s.everything = s.everything || kind == opaque
	}
	if i > 1 && tokens[i-1] == "." && c.schemas[tokens[i-2]] && (!ok || tokens[i-2] != c.own) {
		s.everything = true // of another schema
	}
	switch t {
	case "into", "update", "delete", "truncate":
		s.written(tokens, i, c)
	case "from", "join", "using":
		s.everything = s.everything || unknown(tokens, i, c)
	case "for":
		if i+1 < len(tokens) && slices.Contains([]string{"update", "share", "no", "key"}, tokens[i+1]) {
			s.locks = add(s.locks, "") // which tables is settled when all have been seen
		}
	}
}

// unknown says that tokens[i], FROM or the like, is followed by a name that could be a table's and that nobody has heard of.
func unknown(tokens []string, i int, c catalogue) bool {
	if i > 0 && tokens[i-1] == "distinct" {
		return false // IS DISTINCT FROM
	}
	for i++; i < len(tokens) && slices.Contains([]string{"only", "lateral"}, tokens[i]); i++ {
	}
	if i >= len(tokens) || !word(tokens[i]) {
		return false // a parenthesis: what is in it is looked at by itself. A literal is no token.
	}
	t := tokens[i]
	if i+1 < len(tokens) && (tokens[i+1] == "(" || tokens[i+1] == ".") {
		return false // a function or a schema, which are looked at elsewhere
	}
	return c.relations[t] == 0 && t != "current_timestamp" && !isCTE(tokens, t) // EXTRACT (EPOCH FROM current_timestamp)
}

// isCTE says that the name stands before AS ( or AS [NOT] MATERIALIZED (, with or without names of columns.
func isCTE(tokens []string, name string) bool {
	for i, t := range tokens {
		if t != name || i == 0 || !slices.Contains([]string{"with", "recursive", ","}, tokens[i-1]) {
			continue
		}
		i++
		if i < len(tokens) && tokens[i] == "(" {
			for i < len(tokens) && tokens[i] != ")" {
				i++
			}
			i++
		}
		if i < len(tokens) && tokens[i] == "as" {
			return true
		}
	}
	return false
}

// written notes the table that a writing word is followed by. Where there is none that is known, anything may be written.
func (s *statement) written(tokens []string, i int, c catalogue) {
	if i > 0 && slices.Contains([]string{"for", "do", "key", "then", "on"}, tokens[i-1]) {
		return // FOR UPDATE, DO UPDATE, NO KEY UPDATE, WHEN … THEN UPDATE/DELETE, ON DELETE: the table was named before
	}
	s.targets++
	for _, t := range tokens[i+1 : min(i+6, len(tokens))] {
		switch {
		case slices.Contains([]string{"from", "only", "table", "into", "."}, t):
		case c.relations[t] == table:
			s.writes = add(s.writes, t)
			return
		case c.schemas[t]:
		default:
			s.everything = true
			return
		}
	}
	s.everything = true
}

// function notes what a call may do: functions of PostgreSQL's own that are not volatile do nothing, the rest may do anything.
func (s *statement) function(tokens []string, i int, t string, c catalogue) {
	if i+1 >= len(tokens) || tokens[i+1] != "(" || !word(t) {
		return
	}
	switch {
	case strings.HasPrefix(t, "pg_advisory_") || strings.HasPrefix(t, "pg_try_advisory_"):
		s.advisory = true
		s.sessionLock = s.sessionLock || !strings.Contains(t, "_xact_")
	case c.harmful[t]: // what is no function at all is a keyword (IN, VALUES) or a table's list of columns
		s.everything = true
	}
}

// trying says how the statement tries for a lock and looks at something besides, or may do so in code that is not understood. A row that
// is locked is looked at again by PostgreSQL, if it has changed: one table alone, whose rows are tried for, is looked at once.
func (s *statement) trying(sql string, tokens, tables []string, c catalogue) string {
	tables = slices.Compact(slices.Sorted(slices.Values(tables))) // that the statement names, without what is related to them
	switch {
	case s.everything && tokens[0] != "lock" && tryWords.MatchString(sql):
		return "may try for a lock and look at a table"
	case s.everything && !s.setting && len(c.trying) > 0:
		return fmt.Sprintf("may run %s, which tries for a lock,", strings.Join(c.trying, " or "))
	case slices.ContainsFunc(tokens, func(t string) bool { return strings.HasPrefix(t, "pg_try_advisory_") }) && len(tables) > 0:
		return "tries for a lock and looks at a table"
	case (slices.Contains(tokens, "nowait") || slices.Contains(tokens, "skip")) && tryWords.MatchString(sql) && len(tables) > 1:
		return "tries for a lock in one table and looks at another"
	}
	return ""
}

// related adds what foreign keys, partitions and triggers touch besides.
func (s *statement) related(c catalogue) {
	if len(s.locks) > 0 {
		s.locks = slices.Clone(s.reads)
	}
	for _, t := range slices.Concat(s.reads, s.writes) {
		for _, r := range c.kin[t] {
			s.everything = s.everything || c.relations[r] != table // a foreign table, or of a schema that is not visible
			s.reads = add(s.reads, r)
			if slices.Contains(s.writes, t) {
				s.writes = add(s.writes, r)
			}
		}
	}
	for _, t := range s.writes { // also those that only a cascade reaches
		s.everything = s.everything || c.code[t]
	}
}

func add(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}
