package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// cleanupLimit bounds what is done after the caller's context may have ended: dropping, stopping, removing.
const cleanupLimit = 15 * time.Second

// Server is a PostgreSQL that answers. Its methods may be called from several goroutines.
type Server struct {
	info   Info
	dsn    string
	config *pgx.ConnConfig
	say    func(format string, args ...any)

	turn     chan struct{} // full while a schema of this Server has the turn, or waits for it in the database
	sayWaits sync.Once

	mu      sync.Mutex
	own     *embedded        // the processes and the folder of a server of our own; nil for the user's, and once stopped
	schemas map[*Schema]bool // those neither dropped nor kept
}

// Open finds the server (see the package's documentation for the order), starts one if none is named, checks that
// the run's connections fit, and drops what killed runs left behind. The first line it says names the server.
//
// For a server of our own Open removes every PG* variable from this process's environment (pgx would obey them even with
// a complete connection string), so child processes must be given os.Environ as it is after Open.
//
// ctx bounds Open alone: cancelling it later does not stop the server. Errors are *UsageError where the options
// cannot be meant, and else say what was tried and what to type. After an error nothing is left running.
func Open(ctx context.Context, o Options) (*Server, error) {
	if o.Say == nil {
		o.Say = func(format string, args ...any) { _, _ = fmt.Fprintf(os.Stderr, format+"\n", args...) }
	}
	src := chooseSource(o.DSN, o.Environ)
	if err := checkOptions(o, src); err != nil {
		return nil, err
	}
	if src.name == SourceEmbedded {
		return openEmbedded(ctx, o)
	}
	return openForeign(ctx, o, src)
}

// openForeign connects to a server of the user's.
func openForeign(ctx context.Context, o Options, src source) (*Server, error) {
	cfg, err := foreignConfig(src)
	if err != nil {
		return nil, err
	}
	s := &Server{dsn: src.dsn, config: cfg, say: o.Say, schemas: map[*Schema]bool{}, turn: make(chan struct{}, 1)}
	s.info = Info{Source: src.name}
	conn, err := pgx.ConnectConfig(ctx, s.Config())
	if err != nil {
		return nil, refused(src, cfg, err)
	}
	defer CloseConn(ctx, conn)
	f, err := readFacts(ctx, conn, nil)
	if err != nil {
		return nil, fmt.Errorf("asking the server from %s about itself: %w", src.name, err)
	}
	f.fill(&s.info)
	s.say("server: PostgreSQL %s, %s (%s)%s", s.info.Version, src.name, place(cfg), s.info.warning())
	if err := f.usable(src); err != nil {
		return nil, err
	}
	if err := f.enough(o.Connections, src); err != nil {
		return nil, err
	}
	n, err := sweepSchemas(ctx, conn, o.Spare, s.say)
	if err != nil {
		return nil, fmt.Errorf("looking for leftovers of earlier runs in database %s: %w", database(cfg), err)
	}
	if n > 0 {
		s.say("server: dropped %d %s left by runs that were killed", n, plural(n, "schema", "schemas"))
	}
	return s, nil
}

// openEmbedded starts a server of our own.
func openEmbedded(ctx context.Context, o Options) (_ *Server, err error) {
	settings, err := parseSettings(o.Settings)
	if err != nil {
		return nil, err
	}
	bin, err := binaries(ctx, o)
	if err != nil {
		return nil, err
	}
	unsetPG()
	own, err := startEmbedded(ctx, bin, embeddedConf(o.Connections, o.Fast, settings), o.Environ)
	if err != nil {
		return nil, err
	}
	s := &Server{dsn: own.dsn(), say: o.Say, own: own, schemas: map[*Schema]bool{}, turn: make(chan struct{}, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Stop(ctx))
		}
	}()
	if s.config, err = embeddedConfig(s.dsn); err != nil {
		return nil, err
	}
	conn, err := pgx.ConnectConfig(ctx, s.Config())
	if err != nil {
		return nil, fmt.Errorf("connecting to the server just started: %w", err)
	}
	defer CloseConn(ctx, conn)
	f, err := readFacts(ctx, conn, settingNames(settings))
	if err != nil {
		return nil, fmt.Errorf("asking the server just started about itself: %w", err)
	}
	s.info = Info{Source: SourceEmbedded, Embedded: true, onMemory: own.onMemory}
	f.fill(&s.info)
	s.say("server: PostgreSQL %s, embedded (binaries %s), throwaway%s", s.info.Version, bin, s.info.warning())
	for _, note := range own.notes {
		s.say("server: %s", note)
	}
	if err := f.enough(o.Connections, source{name: SourceEmbedded}); err != nil {
		return nil, err
	}
	return s, nil
}

// Info tells what was found when the server was opened.
func (s *Server) Info() Info { return s.info.clone() }

// Config gives a new copy, at each call, of how to connect. Its search_path is pg_catalog: tables belong into a Schema.
func (s *Server) Config() *pgx.ConnConfig { return s.config.Copy() }

// DSN is a connection string with which another process of the same operating system user, with the same environment,
// reaches this server. It may hold the user's password: hand it on in an environment variable, not in an argument
// (those are readable by everybody on the machine), and do not print it.
func (s *Server) DSN() string { return s.dsn }

// Stop ends the lab's use of the server: it drops the schemas that were neither dropped nor kept (see Leave), and stops and removes
// a server of our own, with everything in it. It works under a context that has ended, within 15 seconds. A second
// call does nothing.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	own, left := s.own, s.schemas
	s.own, s.schemas = nil, map[*Schema]bool{}
	s.mu.Unlock()
	var errs []error
	for h := range left {
		if own != nil {
			h.abandon() // the schema goes with the server
			continue
		}
		errs = append(errs, h.Leave(ctx))
	}
	if own != nil {
		errs = append(errs, own.stop(ctx))
	}
	return errors.Join(errs...)
}

// CloseConn closes politely where that is possible within a second, and in any case; ctx may have ended.
func CloseConn(ctx context.Context, c *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = c.Close(ctx) // nothing depends on the farewell: the server notices the closed socket
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
