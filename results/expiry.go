package results

// Expiry is what becomes of keys that have had their time, and of clients that come again later than that.
type Expiry struct {
	Settings ExpirySettings `json:"settings"`
	Deleted  int            `json:"deleted"` // rows that were purged
	Batches  int            `json:"batches"`
	Stages   []Stage        `json:"stages"`
	Groups   []ExpiryGroup  `json:"groups"`
}

// ExpirySettings is how it was asked for.
type ExpirySettings struct {
	KeyLifetimeS float64 `json:"key_lifetime_s"`
	RetryAfterS  float64 `json:"retry_after_s"` // when the clients come again
	Purge        string  `json:"purge"`         // finished, everything or nothing
	Batch        int     `json:"batch"`         // rows deleted at once
	Answered     int     `json:"answered"`      // intents whose first attempt was answered
	Unfinished   int     `json:"unfinished"`    // intents whose first attempt is still at the acquirer when the purger comes
	Fresh        int     `json:"fresh"`         // intents that are new, and tried while the purger is at work
	DeclineShare float64 `json:"decline_share"`
	Dedup        bool    `json:"acquirer_dedup,omitempty"` // the acquirer moved money once for each key, whatever it was told
}

// ExpiryGroup is the intents of one kind.
type ExpiryGroup struct {
	Kind          string         `json:"kind"` // answered, unfinished or fresh
	Intents       int            `json:"intents"`
	Purged        int            `json:"purged"` // whose row was deleted
	Captures      int            `json:"captures"`
	DoubleCharged int            `json:"double_charged"`
	Told          map[string]int `json:"told"`  // the client that came again, or the fresh one
	Later         map[string]int `json:"later"` // another one, when everything is over
}
