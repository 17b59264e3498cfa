package explore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"weak"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"idemlab/internal/tables"
	"idemlab/scenarios"
)

// cleanupLimit bounds what is done after the run, also when its context has ended.
const cleanupLimit = 15 * time.Second

// engine is what the schedules of one run share.
type engine struct {
	o         Options
	config    *pgx.ConnConfig
	control   *pgx.Conn // looks on from outside
	learned   bool      // catalogue and limits are read
	backends  []*backend
	isolation pgx.TxIsoLevel
	version   string

	catalogue  catalogue
	mu         chan struct{} // guards statements; a channel, to keep to one kind of waiting
	statements map[string]statement
	advisory   atomic.Bool // the strategy has used advisory locks

	notices bool          // PostgreSQL says when a session begins to wait
	stops   bool          // backends may be stopped
	hints   chan struct{} // a notice has come

	clock    atomic.Bool             // the strategy has looked at one
	limits   []string                // in time, that hold for every session
	limited  string                  // that one of those waited which a limit could have ended
	late     atomic.Bool             // an attempt has made a step after its end
	answered []weak.Pointer[attempt] // those that have ended alive

	split        splitCommit
	wholeCommits atomic.Bool // a SERIALIZABLE transaction's COMMIT was one step

	intents  int64           // the number of the last; counted on from the clock, so that a second run on the same tables has others
	lowest   int64           // rows of earlier schedules have ids up to this one
	watch    bool            // read the table after each turn, and keep what is sent
	prepared sent            // what Strategy.Prepare has sent
	proofs   []time.Duration // how long it took to prove each wait
}

func open(ctx context.Context, config *pgx.ConnConfig, o Options) (*engine, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	e := &engine{
		o: o, config: config.Copy(), intents: time.Now().UnixMicro(),
		mu: make(chan struct{}, 1), statements: map[string]statement{}, hints: make(chan struct{}, 1),
	}
	if err := e.connect(ctx); err != nil {
		return nil, errors.Join(err, e.close(ctx))
	}
	return e, nil
}

func (e *engine) connect(ctx context.Context) (err error) {
	onlooker := e.config.Copy()
	onlooker.Tracer = &e.prepared
	if e.control, err = pgx.ConnectConfig(ctx, onlooker); err != nil {
		return fmt.Errorf("explore: connect: %w", err)
	}
	// The tables keep the rows of every schedule, and nobody analyses them: left to itself PostgreSQL would read them whole for those of
	// the last one, and a long search would come to spend its time on that.
	if _, err = e.control.Exec(ctx, `SET jit = off; SET enable_seqscan = off`); err != nil {
		return fmt.Errorf("explore: prepare the onlooker: %w", err)
	}
	if err = e.calm(ctx); err != nil {
		return err
	}
	e.notices = !e.o.Poll
	for range e.o.Sessions + len(e.o.Others) {
		b := &backend{open: e.openSession, gone: e.waitGone, prepared: map[string]string{}}
		if err := b.reconnect(ctx); err != nil {
			return err
		}
		e.backends = append(e.backends, b)
	}
	e.stops = e.o.OwnCluster && e.notices && canStop(e.backends[0].pid)
	if e.stops {
		if _, err = e.control.Exec(ctx, `SET synchronous_commit = local`); err != nil { // see splitCommit
			return fmt.Errorf("explore: prepare the onlooker: %w", err)
		}
	}
	err = e.backends[0].conn.QueryRow(ctx, `SELECT current_setting('default_transaction_isolation'), split_part(current_setting('server_version'), ' ', 1)`).
		Scan(&e.isolation, &e.version)
	if err != nil {
		return fmt.Errorf("explore: ask for the isolation level: %w", err)
	}
	rows, err := e.rows(ctx) // of earlier runs on the same tables
	e.pass(rows)
	return err
}

// learn asks what is in the database when everything is: what a strategy's Prepare makes, too, before its first attempt.
func (e *engine) learn(ctx context.Context) (err error) {
	if e.learned {
		return nil
	}
	e.learned = true
	if e.catalogue, err = readCatalogue(ctx, e.control); err != nil {
		return err
	}
	return e.readLimits(ctx)
}

// calm makes the tables of the run's schema behave the same in each schedule. SERIALIZABLE locks pages: an UPDATE that finds its
// page full goes to another, enters it in each index, and collides with who read there; half-empty pages put that off. And
// nobody is to vacuum in between.
func (e *engine) calm(ctx context.Context) error {
	_, err := e.control.Exec(ctx, `SET lock_timeout = '5s'; DO $$
		DECLARE t regclass;
		BEGIN
			FOR t IN SELECT oid FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND pg_has_role(relowner, 'USAGE') LOOP
				EXECUTE format('ALTER TABLE %s SET (fillfactor = 40, autovacuum_enabled = off)', t);
			END LOOP;
		END $$; RESET lock_timeout`)
	if err != nil {
		return fmt.Errorf("explore: prepare the tables: %w", err)
	}
	return nil
}

// openSession connects a session. Plans and their costs must not change while the run goes on: a statement that reads
// another index next time locks other pages under SERIALIZABLE. (jit: sequential scans switched off look expensive to the
// planner, and expensive plans are compiled, at 30 ms each.)
func (e *engine) openSession(ctx context.Context, b *backend) (*pgx.Conn, error) {
	config := e.config.Copy()
	config.Tracer = &b.sent
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		if n.Routine == "ProcSleep" && strings.Contains(n.Message, "still waiting for") { // in English: lc_messages is set below
			b.noticed.Store(true)
			e.hint()
		}
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("explore: connect a session: %w", err)
	}
	sets := `SET jit = off; SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan`
	if e.o.Isolation != "" {
		sets += `; SET default_transaction_isolation = '` + string(e.o.Isolation) + `'`
	}
	if e.o.OwnCluster {
		sets += `; SET synchronous_commit = local` // see splitCommit
	}
	if _, err = conn.Exec(ctx, sets); err != nil {
		return nil, errors.Join(fmt.Errorf("explore: prepare a session: %w", err), conn.Close(ctx))
	}
	if e.notices {
		_, err = conn.Exec(ctx, `SET deadlock_timeout = '1ms'; SET log_lock_waits = on; SET client_min_messages = log; SET lc_messages = 'C'`)
		var pg *pgconn.PgError
		if errors.As(err, &pg) && pg.Code == "42501" { // insufficient_privilege: poll instead
			e.notices, err = false, nil
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("explore: have waits reported: %w", err), conn.Close(ctx))
	}
	return conn, nil
}

// hint has the scheduler look at once.
func (e *engine) hint() {
	select {
	case e.hints <- struct{}{}:
	default: // one is there already, and one is enough
	}
}

// waitGone returns when a backend has ended.
func (e *engine) waitGone(ctx context.Context, pid uint32) error {
	for {
		var there bool
		err := e.control.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_stat_get_activity($1))`, int32(pid)).Scan(&there)
		if err != nil || !there {
			return err
		}
		time.Sleep(soon) // PostgreSQL has no signal for it, and pg_terminate_backend looks every 100 ms
	}
}

// statement analyses SQL, each text once.
func (e *engine) statement(sql string) statement {
	e.mu <- struct{}{}
	defer func() { <-e.mu }()
	s, ok := e.statements[sql]
	if !ok {
		s = analyse(sql, e.catalogue)
		e.statements[sql] = s
		if readsClock(sql) {
			e.clock.Store(true)
		}
	}
	if s.advisory || s.everything && !s.control { // a function may take them, too
		e.advisory.Store(true)
	}
	return s
}

// rows reads the rows of the current schedule, from outside.
func (e *engine) rows(ctx context.Context) ([]scenarios.Row, error) {
	rows, err := tables.Rows(ctx, e.control, e.o.Scenario, e.lowest, e.intents)
	if err != nil {
		return nil, fmt.Errorf("explore: %w", err)
	}
	return rows, nil
}

// pass makes the next schedule begin after these rows.
func (e *engine) pass(rows []scenarios.Row) {
	for _, r := range rows {
		e.lowest = max(e.lowest, r.ID)
	}
}

// close ends every connection, under a context of its own: nothing may stay behind.
func (e *engine) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupLimit)
	defer cancel()
	var errs []error
	for _, b := range e.backends {
		if b.conn != nil && !b.conn.IsClosed() {
			errs = append(errs, b.conn.Close(ctx))
		}
	}
	errs = append(errs, e.split.undo(ctx))
	if e.control != nil {
		errs = append(errs, e.control.Close(ctx))
	}
	return errors.Join(slices.DeleteFunc(errs, func(err error) bool { return err == nil })...)
}
