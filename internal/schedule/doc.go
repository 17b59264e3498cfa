// Package schedule decides which session goes next. It is pure: it knows sessions, steps and what each step touched, and
// neither a database nor a strategy.
//
// A Search drives a World, again and again from its start, until every order of events that can differ has been seen:
//
//   - Full runs every order, cheapest first (fewest faults, then fewest switches between sessions), so that the first
//     violation it meets is the shortest there is.
//   - DPOR runs one order per class of orders that cannot be told apart: source-DPOR with sleep sets (Abdulla, Aronsson,
//     Jonsson, Sagonas: Optimal Dynamic Partial Order Reduction, POPL 2014, algorithm 1).
//   - Random walks, and proves nothing.
//
// Replay follows a Schedule, strictly.
package schedule
