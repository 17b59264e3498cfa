package scenarios

import "context"

// Post makes a resource each time: article 2, "o problema mora no POST".
var Post = Strategy{
	Name:  "post",
	Title: "POST: insert a resource under an id of the server's own",
	Text: `The request does not say which resource it means, so the server makes one each time it is asked: after a retry there are two.
It needs no race, only a second request; RFC 9110 does not count POST among the idempotent methods, and a client must not
repeat it unasked. What makes a POST safe to repeat is a key that says which wish it belongs to, and the database to refuse
the second: insert-first. Where the client can name the resource, put.`,
	Shows: append(inARace(nil, StateDiffers), Claim{Crash, nil, StateDiffers}),
	New:   func(Env) Handler { return post },
}

func post(ctx context.Context, db DB, _ Acquirer, req Request) (Response, error) {
	_, err := db.Exec(ctx, `/* post */
		INSERT INTO recurso (pedido_id, nome)
		VALUES ($1, $2)`,
		req.OrderID, contentOf(req))
	if err != nil {
		return Response{}, err
	}
	return Response{Done, 201, contentOf(req)}, nil
}
