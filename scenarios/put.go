package scenarios

import "context"

// Put says what a resource is to be, under an id that the client chose: article 2, and RFC 9110, section 9.2.2.
var Put = Strategy{
	Name:  "put",
	Title: "PUT: write the whole resource under the client's id, with INSERT … ON CONFLICT DO UPDATE",
	Text: `The request names the resource and its whole content, so that carrying it out again changes nothing: the id is the key. The
first answer is 201 and the others are 200, and that is no defect: what the RFC calls idempotent is the effect that was
intended, not the answer.
It holds for the same request. Two PUTs with different content are two wishes, and the last one wins; a PUT that reckons
with what is there is read-then-write. At REPEATABLE READ and SERIALIZABLE one that arrives while another commits gets
SQLSTATE 40001, and may simply be sent again.`,
	Never: sameStateAfterAll(),
	New:   func(Env) Handler { return put },
}

func put(ctx context.Context, db DB, _ Acquirer, req Request) (Response, error) {
	var created bool
	err := db.QueryRow(ctx, `/* put */
		INSERT INTO recurso (id, pedido_id, nome)
		VALUES ($1, $1, $2)
		ON CONFLICT (id) DO UPDATE
		   SET nome = excluded.nome
		RETURNING xmax = 0`, // a row that nobody has locked or changed yet, this statement included: it is new
		req.OrderID, contentOf(req)).Scan(&created)
	if err != nil {
		return Response{}, err
	}
	if created {
		return Response{Done, 201, contentOf(req)}, nil
	}
	return Response{Done, 200, contentOf(req)}, nil
}
