package scenarios

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// InsertFirstBatched is InsertFirst for several requests at once: article 1, section 3, and what databases call a group commit.
var InsertFirstBatched = Strategy{
	Name:  "insert-first-batched",
	Title: "insert-first, with the claims of several requests in one INSERT and their answers in one UPDATE",
	Text: `Requests that come in while the last batch is under way share the next: one statement claims for all of them, one records for
all of them, and whoever comes alone goes alone. What a batch shares is the round trip and the flush to disk, which is what
insert-first pays for twice per charge. Nothing else is shared: which request has its key, and what each is told, is decided
key by key, so that of several with one key, in one batch or in many, still exactly one captures.
A batch is one statement and fails as one, so each of its members then goes by itself: a key that is too long (54000) is one
client's mistake, and no other is told of it. Keys are claimed in order, or two batches that want the same ones would wait for
each other (40P01). A client that gives up takes nobody along. What REPEATABLE READ and SERIALIZABLE refuse (40001) is tried
again, twice.
The price is a common fate: a process or a connection that is lost takes up to 64 claims with it, and all of them stay
PROCESSANDO until somebody asks the acquirer (intent-then-reconcile).`,
	Never: append(neverInARace(
		DoubleCharge, MissingCharge, DivergentAnswers, Orphan, ChargedWithoutRecord, AnsweredWithoutCharge, ErrorToDuplicate),
		Claim{Crash, nil, DoubleCharge},
		Claim{LostReply, nil, DoubleCharge},
	),
	Shows: []Claim{
		{Crash, nil, Orphan},
		{LostReply, nil, Orphan},
	},
	Needs: []string{KeyConstraint},
	New: func(env Env) Handler {
		return func(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
			return insertFirstBatched(ctx, db, acq, req, env)
		}
	},
}

func insertFirstBatched(ctx context.Context, db DB, acq Acquirer, req Request, env Env) (Response, error) {
	m := &member{req: req}
	if err := together(ctx, db, env, "claim", m, claimAll); err != nil {
		return Response{}, err
	}
	if !m.won { // somebody else has the key, of this batch or of another
		if err := together(ctx, db, env, "read", m, readAll); err != nil {
			return Response{}, err
		}
		return m.resp, m.err
	}

	// The claim is committed and no transaction is open. From here each is alone with the acquirer.
	receipt, err := acq.Capture(ctx, Charge(req))
	if err != nil {
		return Response{}, err // the money may have moved: PROCESSANDO stays, and is the only honest record
	}

	m.out = outcomeOf(receipt)
	if err := together(ctx, db, env, "record", m, recordAll); err != nil {
		return Response{}, err
	}
	return m.resp, m.err
}

// member is a request as part of a batch.
type member struct {
	req  Request
	won  bool     // the key is its own
	out  outcome  // to be recorded
	resp Response // that was recorded, or read
	err  error    // in place of resp
}

// together does m's part in a batch. Where that fails m goes by itself, because the mistake may be another's: what it is told
// then is its own. A refusal with 40001 asks to be tried again, and that ends: of the row that it is about there are two
// versions at the most, the claim and the record, and a third look finds nothing new.
func together(ctx context.Context, db DB, env Env, step string, m *member, run func(context.Context, DB, []any) error) error {
	alone := []any{m}
	n, err := env.Gather(ctx, db, Batch{Name: step, Most: 64, Wait: 2 * time.Millisecond, Run: run}, m)
	if err != nil && n > 1 {
		err = run(ctx, db, alone)
	}
	for try := 0; try < 2 && refusedWith(err, serializationFailure); try++ {
		err = run(ctx, db, alone)
	}
	return err
}

func claimAll(ctx context.Context, db DB, items []any) error {
	claims := make(map[string]*member, len(items))
	var keys []string
	var orders, cents []int64
	for _, item := range items {
		m := item.(*member)
		if claims[m.req.Key] != nil {
			continue // of several with one key the first claims it, as it would have by itself
		}
		claims[m.req.Key] = m
		keys = append(keys, m.req.Key)
		orders = append(orders, m.req.OrderID)
		cents = append(cents, m.req.AmountCents)
	}

	rows, err := db.Query(ctx, `/* claim */
		INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status)
		SELECT key, pedido, valor, 'PROCESSANDO'
		  FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS r (key, pedido, valor)
		 ORDER BY key
		ON CONFLICT (idempotency_key) DO NOTHING
		RETURNING idempotency_key`,
		keys, orders, cents)
	if err != nil {
		return err
	}
	won, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, key := range won {
		claims[key].won = true
	}
	return nil
}

// The LIMIT in the next two leaves out nothing. A prepared statement is planned for arrays of no length in particular, when the
// table may still be small: for the ten keys that PostgreSQL then expects it would read all of it, and go on to when it is large.
// Of a limit that it does not know either it expects that it leaves one, and goes by the index.

func readAll(ctx context.Context, db DB, items []any) error {
	var keys []string
	for _, item := range items {
		keys = append(keys, item.(*member).req.Key)
	}

	rows, err := db.Query(ctx, `/* read */
		SELECT idempotency_key, status, pedido_id, valor_centavos, resposta_http, resposta_corpo::text
		  FROM (SELECT DISTINCT key
		          FROM unnest($1::text[]) AS r (key)
		         LIMIT cardinality($1)) r
		  JOIN cobranca ON idempotency_key = key`,
		keys)
	if err != nil {
		return err
	}
	defer rows.Close()
	found := make(map[string]stored, len(items))
	for rows.Next() {
		var key string
		var charge stored
		if err := charge.scan(andFirst(rows, &key)); err != nil {
			return err
		}
		found[key] = charge
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, item := range items {
		m := item.(*member)
		charge, ok := found[m.req.Key]
		if !ok {
			m.err = pgx.ErrNoRows
			continue
		}
		m.resp = charge.answer(m.req)
	}
	return nil
}

func recordAll(ctx context.Context, db DB, items []any) error {
	records := make(map[string]*member, len(items))
	var keys, statuses, bodies []string
	var codes []int
	for _, item := range items {
		m := item.(*member)
		m.err = pgx.ErrNoRows // until its row comes back
		records[m.req.Key] = m
		keys = append(keys, m.req.Key)
		statuses = append(statuses, m.out.status)
		codes = append(codes, m.out.http)
		bodies = append(bodies, m.out.body)
	}

	rows, err := db.Query(ctx, `/* record */
		UPDATE cobranca
		   SET status         = r.status,
		       resposta_http  = r.http,
		       resposta_corpo = r.corpo::jsonb
		  FROM (SELECT *
		          FROM unnest($1::text[], $2::text[], $3::int[], $4::text[]) AS r (key, status, http, corpo)
		         ORDER BY key
		         LIMIT cardinality($1)) r
		 WHERE idempotency_key = r.key
		RETURNING idempotency_key, resposta_http, resposta_corpo::text`,
		keys, statuses, codes, bodies)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var key string
		var resp Response
		if err := rows.Scan(&key, &resp.HTTP, &resp.Body); err != nil {
			return err
		}
		m := records[key]
		resp.Answer = m.out.answer
		m.resp, m.err = resp, nil
	}
	return rows.Err()
}
