// Package timelimit names PostgreSQL's settings that end something by the clock, so that all who must know of them know the same ones
// (https://www.postgresql.org/docs/17/runtime-config-client.html).
package timelimit

import (
	"regexp"
	"slices"
	"strings"
)

// Waiter are the settings that end the statement that waits, or its transaction.
func Waiter() []string {
	return []string{"lock_timeout", "statement_timeout", "transaction_timeout"}
}

// Holder are the settings that end what is waited for: a transaction, or a session, that stands still and holds something.
func Holder() []string {
	return []string{"idle_in_transaction_session_timeout", "idle_session_timeout", "transaction_timeout"}
}

// All are all of them, each once.
func All() []string {
	all := slices.Concat(Waiter(), Holder())
	slices.Sort(all)
	return slices.Compact(all)
}

// Named are those of the settings that are named in SQL, whatever it does with them, in the order given. \b keeps names out of which one
// is a part; deadlock_timeout is none of them, and ends no wait but a deadlock's.
func Named(sql string, settings []string) []string {
	lower := strings.ToLower(sql)
	if !strings.Contains(lower, "timeout") { // nearly always, and asked for every statement
		return nil
	}
	var found []string
	for _, name := range settings {
		if strings.Contains(lower, name) && regexp.MustCompile(`(?i)\b`+name+`\b`).MatchString(sql) {
			found = append(found, name)
		}
	}
	return found
}
