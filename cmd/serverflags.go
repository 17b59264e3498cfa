package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"idemlab/internal/server"
)

// serverFlags say which PostgreSQL, for every command that needs one.
type serverFlags struct {
	dsn, bin string
	set      []string
	fast     bool
}

func (f *serverFlags) add(c *cobra.Command) {
	fl := c.Flags()
	fl.StringVar(&f.dsn, "dsn", "", "PostgreSQL to use (else IDEMLAB_DSN, DATABASE_URL, PGHOST or PGSERVICE; else one is started and thrown away)")
	fl.StringVar(&f.bin, "pg-bin", "", "folder with the initdb and postgres to start (else IDEMLAB_PG_BIN, PATH, the usual folders)")
	fl.StringArrayVar(&f.set, "pg-set", nil, "setting of the started server, name=value; may be repeated")
	fl.BoolVar(&f.fast, "pg-fast", false, "start the server without durability: commits are 3 to 4 times too fast")
}

func (f *serverFlags) options(a *app, connections int) server.Options {
	return server.Options{
		DSN: f.dsn, PGBin: f.bin, Settings: f.set, Fast: f.fast, Connections: connections, Environ: a.environ, Say: a.say,
	}
}

// quiet is options for commands that count what the server writes: one of our own runs no autovacuum, which would come when it pleases,
// write WAL of its own and keep dead rows from being pruned. --pg-set autovacuum=on has the last word.
func (f *serverFlags) quiet(a *app, connections int) server.Options {
	o := f.options(a, connections)
	if !o.NamesServer() {
		o.Settings = append([]string{"autovacuum=off"}, o.Settings...)
	}
	return o
}

// say is one line for people, on stderr.
func (a *app) say(format string, args ...any) { fmt.Fprintf(a.stderr, format+"\n", args...) }
