package results

// Bystander is what attempts at one key do to others that have nothing to do with it but the pool that they share.
type Bystander struct {
	Settings BystanderSettings `json:"settings"`
	Cells    []BystanderCell   `json:"cells"`
	// Knee is the first cell in which the unrelated attempts fell below half of their undisturbed rate; absent where none did.
	Knee *BystanderKnee `json:"knee,omitempty"`
}

// BystanderSettings is how it was asked for.
type BystanderSettings struct {
	Clients        int     `json:"clients"`          // on unrelated keys, in a closed loop
	AcquirerMS     float64 `json:"acquirer_ms"`      // what the acquirer takes for those
	PingsPerSecond float64 `json:"pings_per_second"` // SELECT 1, in an open loop
	DurationMS     float64 `json:"duration_ms"`      // of a cell, half of it undisturbed before
	Pool           int     `json:"pool"`             // connections, shared by all of them
	KneeBelow      float64 `json:"knee_below"`       // share of the undisturbed rate
}

// BystanderCell is one number of attempts at the hot key and one latency of the acquirer for them.
type BystanderCell struct {
	Hot               int     `json:"hot"` // attempts at one key at once; the next key when all of them are answered
	AcquirerLatencyMS float64 `json:"acquirer_latency_ms"`
	MeasuredMS        float64 `json:"measured_ms"`

	Undisturbed Unrelated `json:"undisturbed"` // just before
	Disturbed   Unrelated `json:"disturbed"`
	Share       *float64  `json:"share,omitempty"` // of the undisturbed rate that is left; absent where that was nothing

	HotCaptures       int         `json:"hot_captures"`
	Connections       Connections `json:"connections"` // of the hot attempts; idle in transaction is of all
	LockWaits         LockWaits   `json:"lock_waits"`
	MaxLockWaiters    int         `json:"max_lock_waiters"`
	MaxWaitingForPool int         `json:"max_waiting_for_pool"`
	Blocking          []Blocking  `json:"blocking,omitempty"`
}

// Unrelated is how attempts at keys of their own, and a plain SELECT 1, fared. Times are from when they were to start.
type Unrelated struct {
	PerSecond float64     `json:"per_second"` // answered, and not with an error
	Failed    int         `json:"failed"`
	Response  LoadLatency `json:"response"`
	Ping      LoadLatency `json:"ping"`
}

// BystanderKnee is where it gives way.
type BystanderKnee struct {
	Cell   int    `json:"cell"` // index
	Detail string `json:"detail"`
}
