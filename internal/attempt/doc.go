// Package attempt makes single attempts at single intents, each from a process of its own that can be killed, held on its way to the
// acquirer, or told nothing by it, and looks at what they leave. Nothing in it races: what happens first is what the caller does first.
package attempt
