package server

import "strings"

// Where a server can come from, as Info.Source says it.
const (
	SourceFlag        = "--dsn"
	SourceEnv         = "IDEMLAB_DSN"
	SourceDatabaseURL = "DATABASE_URL"
	SourcePG          = "PG* variables"
	SourceEmbedded    = "embedded"
)

// source is the answer to "which server": where its address was found, and the address. dsn is "" for embedded.
type source struct {
	name string
	dsn  string
}

// chooseSource takes the first source that is given. Empty means not given, everywhere: `DATABASE_URL= idemlab race`
// is the way past a variable that happens to be set.
func chooseSource(flag string, env environ) source {
	for _, s := range []source{
		{SourceFlag, flag},
		{SourceEnv, env.get("IDEMLAB_DSN")},
		{SourceDatabaseURL, env.get("DATABASE_URL")},
		{SourcePG, pgPlace(env)},
	} {
		if s.dsn != "" {
			return s
		}
	}
	return source{name: SourceEmbedded}
}

// pgPlace builds a connection string from those PG* variables that name a place, or "" when none is set. Who connects
// (PGUSER, PGPASSWORD) says nothing about where to, and is set on many machines for other reasons.
//
// The string is complete as to the place, so that a child process can be pointed at it, and silent about the rest: the
// other PG* variables stay in force, and no password is copied out of the environment.
func pgPlace(env environ) string {
	var parts []string
	for _, p := range []struct{ variable, keyword string }{
		{"PGSERVICE", "service"}, {"PGHOST", "host"}, {"PGHOSTADDR", "hostaddr"}, {"PGPORT", "port"},
	} {
		if v := env.get(p.variable); v != "" {
			parts = append(parts, p.keyword+"="+quoteDSN(v))
		}
	}
	return strings.Join(parts, " ")
}

// quoteDSN quotes a value for a keyword=value connection string.
// Source of the rules: PostgreSQL, 34.1.1.1 "Keyword/Value Connection Strings".
func quoteDSN(v string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(v) + "'"
}
