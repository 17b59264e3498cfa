package scenarios

import "context"

// Delete takes a resource away: RFC 9110, section 9.2.2.
var Delete = Strategy{
	Name:  "delete",
	Title: "DELETE: delete by id, and answer 404 where nothing is left to delete",
	Text: `Gone is gone: the second DELETE finds nothing and leaves nothing. It may be told 404 where the first was told 204; the state
is the same, and that is what counts. A client that retries after a timeout takes either as yes.
At REPEATABLE READ and SERIALIZABLE one that has waited for another gets SQLSTATE 40001, and may simply be sent again.`,
	Never:   sameStateAfterAll(),
	Prepare: resourceExists,
	New:     func(Env) Handler { return deleteOnce },
}

// resourceExists makes what is to be deleted.
func resourceExists(ctx context.Context, db DB, req Request) error {
	_, err := db.Exec(ctx, `/* resource */
		INSERT INTO recurso (id, pedido_id, nome)
		VALUES ($1, $1, $2)
		ON CONFLICT (id) DO NOTHING`,
		req.OrderID, contentOf(req))
	return err
}

func deleteOnce(ctx context.Context, db DB, _ Acquirer, req Request) (Response, error) {
	gone, err := db.Exec(ctx, `/* delete */
		DELETE FROM recurso
		 WHERE id = $1`,
		req.OrderID)
	if err != nil {
		return Response{}, err
	}
	if gone.RowsAffected() == 0 {
		return Response{NotFound, 404, ""}, nil
	}
	return Response{Done, 204, ""}, nil
}
