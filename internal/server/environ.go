package server

import (
	"os"
	"strings"
)

// environ is an environment as os.Environ gives it. It is passed around instead of being read from the process,
// so that the decisions made from it are plain functions.
type environ []string

// get returns the value of name, "" when it is not set. As in exec, the last of several settings counts.
func (e environ) get(name string) string {
	for i := len(e) - 1; i >= 0; i-- {
		if k, v, ok := strings.Cut(e[i], "="); ok && k == name {
			return v
		}
	}
	return ""
}

// on reads a switch: set, and neither "0" nor "false".
func (e environ) on(name string) bool {
	switch strings.ToLower(e.get(name)) {
	case "", "0", "false":
		return false
	}
	return true
}

// unsetPG removes every PG* variable from this process.
//
// pgx, like libpq, lets them fill whatever a connection string leaves open, and PGOPTIONS, PGTZ or PGSERVICE reach into
// connections whose string is complete. They describe a server of the user's; with a server of our own they could
// only do harm, also in the child processes that inherit this environment. Setting one later brings the harm back.
func unsetPG() {
	for _, kv := range os.Environ() {
		if name, _, ok := strings.Cut(kv, "="); ok && strings.HasPrefix(name, "PG") {
			_ = os.Unsetenv(name) // fails on malformed names only, and this one came from the environment
		}
	}
}
