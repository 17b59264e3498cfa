// Package stored shows what comes of storing which answers: for each way in which a first attempt can end, what a retry with the same key
// is told, what a reconciler makes of it, and what a fresh key then does. And in what column an answer comes back as it was.
package stored
