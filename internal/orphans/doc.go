// Package orphans is the life of an orphan from its beginning: first attempts die, or are slower than anybody waits, at chosen moments;
// the clients come again, a reconciler goes over the table, and after each step ledger and table are compared.
//
// Nothing is left to luck or to time. What is slow is held at the acquirer until the lease is over by the server's clock and everybody
// else has acted; which moments those are is said by comparing the lease with the acquirer's time, not by waiting for it.
package orphans
