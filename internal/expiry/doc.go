// Package expiry shows what a key's lifetime means: intents are charged, a day goes by, a purger deletes what has had its time while new
// intents come in, and then the clients of old ones come again.
//
// Nobody waits for the day: what is in the table is made older. A purger goes by the server's clock, like any other.
package expiry
