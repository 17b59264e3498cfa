package server

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// An advisory lock is on a number, and that number is one in the whole database, while schemas keep everything else of two runs apart.
// Runs with the same seed make the same keys: where both lock them, each would find the other's locks in its way, and a service that does not wait
// for a lock (pg_try_advisory_lock) would refuse what it should charge. So such runs take turns in a database.

// turnKey is the lock of whose turn it is: two numbers ("idem", "turn"), which is another space of keys than that of one
// (PostgreSQL docs, "Advisory Locks"), where the locks of schemas are and where strategies lock hashes.
const turnKey = `1768187245, 1953854062`

// turnEvery is the time between two looks whether the turn has come.
const turnEvery = 50 * time.Millisecond

// TakeTurn waits until no other schema in the database has the turn, and has it then until Drop, Leave, LetGo, or until the process is gone. That
// there is another process to wait for is said once for each Server. One goroutine may not take it for two schemas: the
// second would wait for the first for ever.
//
// It asks again and again rather than wait in the server: a statement that waits is a transaction with a snapshot, for which VACUUM
// leaves dead rows in everybody's tables, and it would be one more waiter to whoever counts those.
func (h *Schema) TakeTurn(ctx context.Context) error {
	turn := h.server.turn
	select { // a free turn is had also where ctx has ended
	case turn <- struct{}{}:
	default:
		select { // within the process nothing is said: its runs are one command's
		case turn <- struct{}{}:
		case <-ctx.Done():
			return notYet(ctx)
		}
	}
	err := h.turnInDatabase(ctx)
	if err != nil {
		<-turn
	}
	return err
}

func notYet(ctx context.Context) error {
	return fmt.Errorf("waiting for another run whose strategy takes advisory locks: %w", context.Cause(ctx))
}

func (h *Schema) turnInDatabase(ctx context.Context) error {
	look := time.NewTicker(turnEvery)
	defer look.Stop()
	for {
		got, err := h.tryTurn(ctx)
		if err != nil || got {
			return err
		}
		h.server.sayWaits.Do(func() {
			h.server.say("server: waits for another run in database %s whose strategy takes advisory locks, too: those are the database's, not a schema's",
				database(h.server.config))
		})
		select {
		case <-look.C:
		case <-ctx.Done():
			return notYet(ctx)
		}
	}
}

// tryTurn asks on the connection that holds the schema: the turn goes with it, whatever becomes of the process. To cancel the question
// would close that connection.
func (h *Schema) tryTurn(ctx context.Context) (got bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.done || h.lock == nil {
		return false, errors.New("taking turns: the schema is not held any more")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupLimit)
	defer cancel()
	if err := h.lock.QueryRow(ctx, `/* turn */ SELECT pg_try_advisory_lock(`+turnKey+`)`).Scan(&got); err != nil {
		return false, fmt.Errorf("taking turns with other runs in the database: %w", err)
	}
	h.turn = got
	return got, nil
}
