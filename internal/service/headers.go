package service

// The headers of the contract, beside Content-Type and Retry-After.
const (
	// KeyHeader names the wish to pay: one for each, the same for all its retries.
	KeyHeader = "Idempotency-Key"
	// ReplayedHeader is Stripe's: "true" says that the answer is the first one's again.
	ReplayedHeader = "Idempotent-Replayed"
	// IntentHeader is the lab's own, and no part of any contract: it says which wish to pay a request really belongs to, for the
	// acquirer's ledger. In one process the engine knows that and binds the acquirer to it. Over HTTP only the client knows; the
	// key is the client's word for it, and just what may be wrong, where a client makes a new key for each retry. Without the
	// header the key is taken. No strategy sees it.
	IntentHeader = "X-Idemlab-Intent"
)
