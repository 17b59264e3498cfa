package scenarios

import (
	"errors"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// outcome is what the acquirer's receipt becomes in the table: status, resposta_http, resposta_corpo.
type outcome struct {
	answer Answer
	status string
	http   int
	body   string
}

func outcomeOf(r Receipt) outcome {
	if r.Approved {
		return outcome{Charged, "CAPTURADA", 201, `{"captura": ` + strconv.Quote(r.ID) + `, "status": "CAPTURADA"}`}
	}
	return outcome{Declined, "RECUSADA", 402, `{"captura": ` + strconv.Quote(r.ID) + `, "status": "RECUSADA"}`}
}

// Recorded is what a receipt becomes in the table, status, resposta_http and resposta_corpo, for whoever enters it in a strategy's
// place.
func Recorded(r Receipt) (status string, http int, body string) {
	o := outcomeOf(r)
	return o.status, o.http, o.body
}

// first reads back what was just stored, so that the first answer and its replays are the same bytes.
func (o outcome) first(row pgx.Row) (Response, error) {
	r := Response{Answer: o.answer}
	err := row.Scan(&r.HTTP, &r.Body)
	return r, err
}

// repeat answers an attempt whose key already has a row: article 1, section 3, step 3. The row's columns are status,
// pedido_id, valor_centavos, resposta_http, resposta_corpo::text.
// It returns pgx.ErrNoRows where there is none.
func repeat(row pgx.Row, req Request) (Response, error) {
	var c stored
	if err := c.scan(row); err != nil {
		return Response{}, err
	}
	return c.answer(req), nil
}

// stored is a row of cobranca as those see it who come after the first.
type stored struct {
	status         string
	orderID, cents int64
	http           *int
	body           *string
}

func (c *stored) scan(row pgx.Row) error {
	return row.Scan(&c.status, &c.orderID, &c.cents, &c.http, &c.body)
}

func (c stored) answer(req Request) Response {
	switch {
	case c.orderID != req.OrderID || c.cents != req.AmountCents:
		return Response{Mismatched, 422, `{"title": "Idempotency-Key is already used"}`}
	case c.status == "PROCESSANDO" || c.http == nil || c.body == nil:
		return Response{InProgress, 409, `{"title": "A request is outstanding for this Idempotency-Key"}`}
	}
	return Response{Replayed, *c.http, *c.body}
}

// andFirst reads columns that stand before those of repeat.
func andFirst(row pgx.Row, columns ...any) pgx.Row { return prefixed{row, columns} }

type prefixed struct {
	pgx.Row
	columns []any
}

func (p prefixed) Scan(dest ...any) error { return p.Row.Scan(slices.Concat(p.columns, dest)...) }

// refusedWith says whether PostgreSQL refused with that SQLSTATE.
func refusedWith(err error, state string) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == state
}

// SQLSTATEs that strategies tell apart (PostgreSQL docs, appendix A).
const (
	uniqueViolation      = "23505"
	serializationFailure = "40001" // at REPEATABLE READ and SERIALIZABLE: what was read is no longer so, start over
)
