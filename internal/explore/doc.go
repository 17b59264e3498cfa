// Package explore runs a strategy through every order of events that two or more sessions can have on a real PostgreSQL, and
// judges each.
//
// The strategy's code is the same as everywhere. Its DB and its Acquirer are this package's: every call is a step, which
// waits until the search (package schedule) lets its session go; one session runs at a time. A step that does not come back
// is looked up in pg_blocking_pids, and waits when it is proved to: when it is blocked by a session that itself stands still.
//
// What a step is: each statement; the COMMIT of a transaction (BEGIN is none: it sees nothing and locks nothing); each
// request to the acquirer; each Env.Lock and unlock; of Env.Gather to join a batch, to depart with it, and to arrive where others
// have come along. A write outside a transaction is two: the statement, and its becoming visible. A statement that waited and
// is let go completes at once, as part of the step that let it go.
//
// A client whose attempt dies, or is told Failed, tries again with the same key, up to Options.AttemptsPerSession. One that is told
// anything else, 409 among it, does not come again: to see what it would find takes one client more. A death comes
// before any step of an attempt but its first, and before its answer; not in the middle of what PostgreSQL does in one, and
// not while it waits. It is one attempt's, as if its process had no other: the clients that shared the instance live on in it, and
// the next attempt of whoever died is made in a new process, of an instance number that nobody had, which has seen nothing and whose
// locks and batches are its own. (A client that gave up on a process finds another, while the first ends what it has begun.) Only of
// those who share a batch it is certain that they share a process: who dies before its batch has arrived takes all of it along, as
// one crash, and they meet again in one new process. A lost reply is one of the acquirer's captures: the request never arrived, or
// the answer never came. The acquirer never declines.
//
// What it cannot order, and says so: strategies that wait outside PostgreSQL other than by Env.Lock and Env.Gather, use several
// connections at once, or go on after their answer (which is refused, so that nothing of such a run is believed). Where somebody waited
// under a limit in time (lock_timeout and its like, a deadline of the context), which never comes here, the run is not held. Of a context
// that something else cancels, or a timer that ends a wait, it knows nothing.
//
// What it leaves out: a server that dies, and the order of locks within one statement.
package explore
