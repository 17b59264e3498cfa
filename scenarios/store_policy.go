package scenarios

// StorePolicy is one way to decide which answers are stored, and the strategy that decides so.
type StorePolicy struct {
	Name     string // as typed
	Stores   string // in words
	Strategy Strategy
}

// StorePolicies are from everything to nothing, the second of them twice.
func StorePolicies() []StorePolicy {
	return []StorePolicy{
		{"all", "every answer, errors too", StoreEveryAnswer},
		{"final", "approved and refused; an error leaves the claim", InsertFirst},
		{"event", "as final, and what is paid for is known by more than the key", BusinessEvent},
		{"success", "approved; anything else frees the key", StoreSuccessOnly},
		{"none", "nothing; the key is free when the attempt is over", StoreNothing},
	}
}
