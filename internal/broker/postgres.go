package broker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// postgresTables are the queue. A message is a row; whoever takes it has it until visible_at. deliveries says how often that
// happened, and is at the same time the receipt: who comes with an older one is too late.
const postgresTables = `
	CREATE TABLE idemlab_queue (
	    seq        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	    message_id text        NOT NULL,
	    body       bytea       NOT NULL,
	    visible_at timestamptz NOT NULL,
	    deliveries int         NOT NULL DEFAULT 0
	);
	CREATE INDEX ON idemlab_queue (visible_at, seq);
	CREATE TABLE idemlab_dead_letter (
	    seq        bigint PRIMARY KEY,
	    message_id text   NOT NULL,
	    body       bytea  NOT NULL,
	    deliveries int    NOT NULL
	);
	CREATE TABLE idemlab_taken (
	    message_id text        PRIMARY KEY,
	    taken_at   timestamptz NOT NULL
	)`

// PostgresOptions say how a queue in PostgreSQL behaves.
type PostgresOptions struct {
	// Window is how long a delivery is its consumer's own. When it has run out the message is delivered again, whether that
	// consumer is dead or only slow: nobody can tell.
	Window time.Duration
	// Dedup is for how long the ID of a message that was taken is remembered, and another with it dropped; 0 for never. It is what
	// SQS's FIFO queues do, for five minutes.
	Dedup time.Duration
}

// postgresQueue is a queue in a schema, shared by everybody who can connect to it.
type postgresQueue struct {
	cfg     *pgx.ConnConfig
	options PostgresOptions
	version string
}

// CreatePostgres makes a queue in the schema that the configuration leads to.
func CreatePostgres(ctx context.Context, cfg *pgx.ConnConfig, o PostgresOptions) (Queue, error) {
	q := &postgresQueue{cfg: cfg, options: o}
	err := q.once(ctx, func(conn *pgx.Conn) error {
		if err := conn.QueryRow(ctx, `SELECT current_setting('server_version')`).Scan(&q.version); err != nil {
			return err
		}
		_, err := conn.Exec(ctx, postgresTables, pgx.QueryExecModeSimpleProtocol)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("make a queue in PostgreSQL: %w", err)
	}
	return q, nil
}

func (q *postgresQueue) Version() string { return q.version }

func (q *postgresQueue) Address() Address { return Address{PostgreSQL: &q.options} }

// Left has nobody to wait for: a message in a consumer's hands is a row like the others.
func (q *postgresQueue) Left(ctx context.Context) (l Left, err error) {
	err = q.once(ctx, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, `/* left */
			SELECT (SELECT count(*) FROM idemlab_queue), (SELECT count(*) FROM idemlab_dead_letter)`).Scan(&l.Waiting, &l.Dead)
	})
	if err != nil {
		return l, fmt.Errorf("count what is left in the queue: %w", err)
	}
	return l, nil
}

func (q *postgresQueue) Remove(ctx context.Context) error {
	err := q.once(ctx, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, `DROP TABLE IF EXISTS idemlab_queue, idemlab_dead_letter, idemlab_taken`)
		return err
	})
	if err != nil {
		return fmt.Errorf("remove the queue: %w", err)
	}
	return nil
}

func (q *postgresQueue) once(ctx context.Context, f func(*pgx.Conn) error) error {
	conn, err := pgx.ConnectConfig(ctx, q.cfg)
	if err != nil {
		return err
	}
	defer func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(last)
	}()
	return f(conn)
}

// PostgresConnections is how many connections one way to a queue in PostgreSQL holds at the most.
const PostgresConnections = 2

// postgres is a way to a queue in PostgreSQL.
type postgres struct {
	pool    *pgxpool.Pool
	options PostgresOptions
}

// connectPostgres makes a way to a queue that CreatePostgres made.
func connectPostgres(ctx context.Context, cfg *pgx.ConnConfig, o PostgresOptions) (Broker, error) {
	pc, err := pgxpool.ParseConfig("")
	if err != nil {
		return nil, fmt.Errorf("prepare the queue's pool: %w", err)
	}
	pc.ConnConfig = cfg.Copy()
	// SKIP LOCKED is made for READ COMMITTED: at the others a row that somebody took since would be an error.
	pc.ConnConfig.RuntimeParams["default_transaction_isolation"] = string(pgx.ReadCommitted)
	pc.MaxConns = PostgresConnections
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("open the queue's pool: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("connect to the queue: %w", err)
	}
	return &postgres{pool, o}, nil
}

func (p *postgres) Close() error {
	p.pool.Close()
	return nil
}

func (p *postgres) Publish(ctx context.Context, m Message) error {
	err := pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		if p.options.Dedup > 0 {
			// Counted from the first one that was taken: one that is dropped does not extend it.
			taken, err := tx.Exec(ctx, `/* take */
				INSERT INTO idemlab_taken AS t (message_id, taken_at)
				VALUES ($1, clock_timestamp())
				ON CONFLICT (message_id) DO UPDATE
				   SET taken_at = clock_timestamp()
				 WHERE t.taken_at <= clock_timestamp() - $2::interval`,
				m.ID, p.options.Dedup)
			if err != nil {
				return err
			}
			if taken.RowsAffected() == 0 {
				return ErrDropped
			}
		}
		_, err := tx.Exec(ctx, `/* publish */
			INSERT INTO idemlab_queue (message_id, body, visible_at)
			VALUES ($1, $2, clock_timestamp())`,
			m.ID, m.Body)
		return err
	})
	if err != nil && !errors.Is(err, ErrDropped) {
		return fmt.Errorf("publish: %w", err)
	}
	return err
}

// askAgain is how long an idle consumer waits before it asks for work again.
const askAgain = 20 * time.Millisecond

func (p *postgres) Receive(ctx context.Context) (Delivery, error) {
	for {
		d := postgresDelivery{queue: p}
		err := p.pool.QueryRow(ctx, `/* receive */
			WITH next AS (
			    SELECT seq
			      FROM idemlab_queue
			     WHERE visible_at <= clock_timestamp()
			     ORDER BY visible_at, seq
			     LIMIT 1
			       FOR UPDATE SKIP LOCKED)
			UPDATE idemlab_queue q
			   SET visible_at = clock_timestamp() + $1::interval,
			       deliveries = deliveries + 1
			  FROM next
			 WHERE q.seq = next.seq
			RETURNING q.seq, q.message_id, q.body, q.deliveries`,
			p.options.Window).Scan(&d.seq, &d.message.ID, &d.message.Body, &d.number)
		if err == nil {
			return d, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return nil, fmt.Errorf("receive: %w", err)
		}
		select {
		case <-time.After(askAgain):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// postgresDelivery is a row in a consumer's hands.
type postgresDelivery struct {
	queue   *postgres
	message Message
	seq     int64
	number  int
}

func (d postgresDelivery) Message() Message { return d.message }
func (d postgresDelivery) Number() int      { return d.number }

func (d postgresDelivery) Ack(ctx context.Context) error {
	return d.end(ctx, "acknowledge", `/* ack */
		DELETE FROM idemlab_queue
		 WHERE seq = $1
		   AND deliveries = $2`)
}

func (d postgresDelivery) Retry(ctx context.Context, after time.Duration) error {
	return d.end(ctx, "give back", `/* retry */
		UPDATE idemlab_queue
		   SET visible_at = clock_timestamp() + $3::interval
		 WHERE seq = $1
		   AND deliveries = $2`, after)
}

func (d postgresDelivery) Reject(ctx context.Context) error {
	return d.end(ctx, "set aside", `/* reject */
		WITH gone AS (
		    DELETE FROM idemlab_queue
		     WHERE seq = $1
		       AND deliveries = $2
		    RETURNING seq, message_id, body, deliveries)
		INSERT INTO idemlab_dead_letter (seq, message_id, body, deliveries)
		SELECT seq, message_id, body, deliveries
		  FROM gone`)
}

// end does nothing where the row has another number of deliveries: another consumer has it, or has ended it.
func (d postgresDelivery) end(ctx context.Context, what, sql string, args ...any) error {
	tag, err := d.queue.pool.Exec(ctx, sql, append([]any{d.seq, d.number}, args...)...)
	switch {
	case err != nil:
		return fmt.Errorf("%s message %s: %w", what, d.message.ID, err)
	case tag.RowsAffected() == 0:
		return ErrLate
	}
	return nil
}
