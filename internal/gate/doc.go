// Package gate holds single fields of a run to limits: "latency.p99_ms>250" fails where the run's own number is larger.
//
// The document's schema says which fields there are and what each can be, so that a name that is spelled wrong, or belongs to
// another engine, is found before anything runs: a gate on nothing would pass for ever. The run's own JSON says what was
// measured. A field that is known and absent there, as percentiles of no samples are, makes the gate neither pass nor fail.
package gate
