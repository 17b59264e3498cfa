package scenarios

import (
	"context"
	"errors"
)

// orderExists makes the order's row, as the shop would have long before anybody pays. It is Prepare of the strategies that
// lock or version that row.
func orderExists(ctx context.Context, db DB, req Request) error {
	_, err := db.Exec(ctx, `/* order */
		INSERT INTO pedido (id)
		VALUES ($1)
		ON CONFLICT (id) DO NOTHING`,
		req.OrderID)
	return err
}

// errVersionMoved says that the order's version was no longer what was read: somebody was quicker.
var errVersionMoved = errors.New("the order's version has moved on")

// mostTries bounds how often an attempt runs a transaction in all. One that gives up ends in an error; what it has done outside
// the database by then is what its strategy is about.
const mostTries = 4
