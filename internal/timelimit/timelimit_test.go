package timelimit

import (
	"slices"
	"testing"
)

func TestNamed(t *testing.T) {
	for sql, want := range map[string][]string{
		"SET lock_timeout = 1":            {"lock_timeout"},
		"SET LOCAL Statement_Timeout = 1": {"statement_timeout"},
		"SELECT set_config('idle_in_transaction_session_timeout', '1s', true), set_config('lock_timeout', '1s', true)": {"idle_in_transaction_session_timeout", "lock_timeout"},
		"SET deadlock_timeout = 1":   nil,
		"SELECT my_lock_timeout":     nil,
		"SELECT lock_timeout_of (1)": nil,
		"":                           nil,
	} {
		if got := Named(sql, All()); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", sql, got, want)
		}
	}
}

func TestEachIsThereOnce(t *testing.T) {
	for _, name := range slices.Concat(Waiter(), Holder()) {
		if all := All(); len(all) != 5 || !slices.Contains(all, name) {
			t.Errorf("%s: %q", name, all)
		}
	}
}
