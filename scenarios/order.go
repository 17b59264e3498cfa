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

// mostTries is how often an attempt runs a transaction in all: once more shows everything there is to show, and each further
// try multiplies the orders that an exhaustive search has to go through. A service would take more, with a pause between them.
const mostTries = 2
