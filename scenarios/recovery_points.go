package scenarios

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// RecoveryPoints divides the charge into phases that can each be done again, and notes how far it has got.
var RecoveryPoints = Strategy{
	Name:  "recovery-points",
	Title: "note each phase that is done, go on from the last one noted, and give the acquirer a key to deduplicate by",
	Text: `The charge is cut at the points where the world outside is touched. After each phase the row says how far it has got, and any
attempt, the first or a retry after a crash, goes on from there: nothing is left for good, and nobody need know whether the
worker before is dead. That is get-or-create-unowned, and would charge as often, but for one thing: the acquirer is sent a
key derived from the row, the same from every attempt, and moves money once for each key. What happens outside is then as
repeatable as what happens inside, which is all the secret; SQLSTATE 40001 is answered by starting over, too.
It stands and falls with that acquirer: read in its manual whether it deduplicates, by which key, and for how long. This lab
gives the strategy one that does. With one that does not, record the intent and ask before charging: intent-then-reconcile.`,
	Never: append(neverInARace(
		DoubleCharge, MissingCharge, DivergentAnswers, Orphan, ChargedWithoutRecord, AnsweredWithoutCharge, ErrorToDuplicate),
		Claim{Crash, nil, DoubleCharge},
		Claim{Crash, nil, ChargedWithoutRecord},
		Claim{Crash, nil, Orphan},
		Claim{LostReply, nil, DoubleCharge},
	),
	Needs:       []string{KeyConstraint},
	WantsDedup:  true,
	AcquirerKey: derivedKey,
	New:         func(Env) Handler { return recoveryPoints },
}

// derivedKey is the row's key at the acquirer.
func derivedKey(id int64, _ string) string { return fmt.Sprintf("cobranca-%d", id) }

func recoveryPoints(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
	// One for each statement that a rival can get in the way of, and one to read what became of it: where one is refused the rival
	// has got on.
	const mostTries = 4
	for try := 1; ; try++ {
		resp, err := goOn(ctx, db, acq, req)
		if !refusedWith(err, serializationFailure) || try == mostTries {
			return resp, err
		}
	}
}

// goOn takes the charge from where it is to its end.
func goOn(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
	_, err := db.Exec(ctx, `/* begin */
		INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status, fase)
		VALUES ($1, $2, $3, 'PROCESSANDO', 'INICIADA')
		ON CONFLICT (idempotency_key) DO NOTHING`,
		req.Key, req.OrderID, req.AmountCents)
	if err != nil {
		return Response{}, err
	}

	var (
		id      int64
		phase   string
		receipt Receipt
	)
	known, err := repeat(andFirst(db.QueryRow(ctx, `/* where */
		SELECT id, fase, coalesce(captura, ''), status = 'CAPTURADA',
		       status, pedido_id, valor_centavos, resposta_http, resposta_corpo::text
		  FROM cobranca
		 WHERE idempotency_key = $1`,
		req.Key), &id, &phase, &receipt.ID, &receipt.Approved), req)
	if err != nil || known.Answer != InProgress {
		return known, err
	}

	// Phase 1, INICIADA → COBRADA: the money moves. Whoever comes here, and however often, asks under the same key.
	if phase == "INICIADA" {
		receipt, err = acq.Capture(ctx, Charge{
			Key: derivedKey(id, req.Key), OrderID: req.OrderID, AmountCents: req.AmountCents,
		})
		if err != nil {
			return Response{}, err // unknown is no end here: the next attempt asks again, and is told
		}
		_, err = db.Exec(ctx, `/* charged */
			UPDATE cobranca
			   SET fase    = 'COBRADA',
			       status  = $2,
			       captura = $3
			 WHERE id = $1
			   AND fase = 'INICIADA'`,
			id, outcomeOf(receipt).status, receipt.ID) // 0 rows: another attempt noted the same
		if err != nil {
			return Response{}, err
		}
	}

	// Phase 2, COBRADA → RESPONDIDA: the answer is stored, made from the receipt, which is the same in the row and from the
	// acquirer, however often it was asked.
	out := outcomeOf(receipt)
	resp, err := out.first(db.QueryRow(ctx, `/* answer */
		UPDATE cobranca
		   SET fase           = 'RESPONDIDA',
		       resposta_http  = $2,
		       resposta_corpo = $3
		 WHERE id = $1
		   AND fase = 'COBRADA'
		RETURNING resposta_http, resposta_corpo::text`,
		id, out.http, out.body))
	if !errors.Is(err, pgx.ErrNoRows) {
		return resp, err
	}

	return repeat(db.QueryRow(ctx, `/* read */
		SELECT status, pedido_id, valor_centavos, resposta_http, resposta_corpo::text
		  FROM cobranca
		 WHERE id = $1`,
		id), req)
}
