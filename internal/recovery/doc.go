// Package recovery finishes what a crash left half-way: article 1, section 3, "Cuidados", and section 4, "O efeito externo antes do
// registro".
//
// A claim whose worker died before its record stays PROCESSANDO for good: every retry is told 409, and whether the money moved only the
// acquirer knows. Reconcile asks it, by the key under which the charge was sent, and stores the answer that the worker would have
// stored. It charges nobody and concludes nothing from silence: a key that the acquirer does not know may belong to a request that
// is still on its way, so that such a row is left, with its reason, until a deadline that was agreed with the acquirer.
//
// It is safe to run again, several times at once, and beside a worker that was taken for dead. No transaction and no lock is held while
// the acquirer is asked: the row is written only where it is still PROCESSANDO, in a statement of its own.
package recovery
