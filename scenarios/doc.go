// Package scenarios holds the strategies under test, one file each, and the contract between them and the engines.
//
// A strategy is plain pgx code that answers one request for one payment. It is written against two small interfaces,
// DB and Acquirer, and knows nothing of the engine that runs it: a race hands it a pool, the explorer one gated
// connection. The list, in the order in which the articles introduce the ideas, is All.
//
// The package imports nothing of the project, so that a strategy can be copied into a service as it stands.
package scenarios
