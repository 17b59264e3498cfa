package server

// mostConnections is far below PostgreSQL's own limit (262143) and far above what one machine can serve.
const mostConnections = 100_000

// Options say which server is wanted and what for. The zero value asks for a throwaway server with PostgreSQL's
// defaults, in an empty environment.
type Options struct {
	DSN         string                           // --dsn: connection string of the user's server; "" when not given
	PGBin       string                           // --pg-bin: folder with initdb and postgres; "" when not given (IDEMLAB_PG_BIN counts then)
	Settings    []string                         // --pg-set: name=value each, for a server of our own only
	Fast        bool                             // --pg-fast: fsync, synchronous_commit and full_page_writes off, for a server of our own only
	Connections int                              // connections that the run will hold at once, the lab's own included
	Spare       string                           // a schema of an earlier run that is not to be dropped as a leftover: Join is to follow
	Environ     []string                         // the environment, as os.Environ gives it; pgx itself reads the process's
	Say         func(format string, args ...any) // receives one line for people at a time; nil: os.Stderr
}

// checkOptions refuses what only a server of our own could honour when the server is the user's. Ignoring it would
// report numbers from other settings than those asked for.
func checkOptions(o Options, src source) error {
	if o.Connections < 0 || o.Connections > mostConnections {
		return usagef("a run cannot hold %d connections", o.Connections)
	}
	if src.name == SourceEmbedded {
		_, err := parseSettings(o.Settings)
		return err
	}
	for _, f := range []struct {
		name  string
		given bool
	}{{"--pg-set", len(o.Settings) > 0}, {"--pg-fast", o.Fast}, {"--pg-bin", o.PGBin != ""}} {
		if f.given {
			return usagef("%s is for a server that the lab starts itself, but %s names one of yours: leave %s out, or %s",
				f.name, src.name, f.name, withoutSource(src))
		}
	}
	return nil
}

// NamesServer says whether the options or the environment name a server of the user's, so that none of our own is started.
func (o Options) NamesServer() bool { return chooseSource(o.DSN, o.Environ).name != SourceEmbedded }

// withoutSource says how to get past a source, for the end of a sentence.
func withoutSource(src source) string {
	switch src.name {
	case SourceFlag:
		return "leave out --dsn"
	case SourcePG:
		return "unset PGHOST PGHOSTADDR PGPORT PGSERVICE"
	}
	return "unset " + src.name
}
