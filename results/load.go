package results

// Load is a run under sustained load. Counts, answers and anomalies of the run are of every attempt, warm-up included, since money
// moved in it too; what is here is of the attempts that were to start after it.
type Load struct {
	Settings LoadSettings `json:"settings"`

	MeasuredMS float64 `json:"measured_ms"`         // from the end of the warm-up to the end of the arrivals
	Attempts   int     `json:"attempts"`            // that were to start in that time, and were answered, then or later
	Dropped    int     `json:"dropped"`             // that were to start in it, and found max_in_flight others under way: never sent
	PerSecond  float64 `json:"attempts_per_second"` // answered in that time, whenever they were to start

	// Response is the time from when an attempt was to start, as an open loop planned it, to its answer: what the client
	// waits. Service is the same from its first statement on: what the service takes once it has begun. In a closed loop an attempt
	// is to start when the client is free, so that stalls delay the arrivals and understate the response time.
	Response LoadLatency `json:"response"`
	Service  LoadLatency `json:"service"`

	Seconds []Second `json:"seconds"` // one for each second of the measured time

	Repeats           int `json:"repeats"`            // of all attempts: with a key that had been used before
	IntentsRepeated   int `json:"intents_repeated"`   // that were tried more than once
	IntentsOverlapped int `json:"intents_overlapped"` // by two at once, from the first statement to the answer
	// IntentsTurnedAway are those in which an attempt was refused with an SQLSTATE of class 40 (try again) and none was told how it
	// ended: nobody did try again.
	IntentsTurnedAway int `json:"intents_turned_away"`
	// IntentsUnfinished are those with an attempt that was given up, ended with the run or met a lost server: what it left half-done
	// is not held against the strategy, since nobody tried again.
	IntentsUnfinished int `json:"intents_unfinished"`

	Connections Connections `json:"connections"` // of all instances
	Blocking    []Blocking  `json:"blocking,omitempty"`
	Client      LoadClient  `json:"client"`
}

// LoadSettings is how a load run was asked for. A closed loop has clients, an open one a rate.
type LoadSettings struct {
	Loop        string  `json:"loop"` // "closed" or "open"
	Clients     int     `json:"clients,omitempty"`
	Rate        float64 `json:"rate,omitempty"`     // arrivals a second, over all instances
	Arrivals    string  `json:"arrivals,omitempty"` // "poisson" or "constant"
	MaxInFlight int     `json:"max_in_flight,omitempty"`
	DurationMS  float64 `json:"duration_ms"` // warm-up excluded
	WarmupMS    float64 `json:"warmup_ms"`
	RepeatShare float64 `json:"repeat_share"` // of the attempts, with an earlier key
	HotShare    float64 `json:"hot_share"`    // of the attempts, with one of the hot keys
	HotKeys     int     `json:"hot_keys,omitempty"`
	StallMS     float64 `json:"stall_ms,omitempty"` // for which the table was locked in the middle of the run
	*AcquirerSettings
	LeaseMS   float64 `json:"lease_ms,omitempty"`
	Instances int     `json:"instances"`
	Pool      int     `json:"pool"` // connections of each instance
	Schema    string  `json:"schema,omitempty"`
}

// LoadLatency is a distribution from a histogram of three significant digits, cut off at the true maximum. A percentile is absent
// where it would rest on fewer than ten attempts beyond it.
type LoadLatency struct {
	N      int      `json:"n"`
	MeanMS *float64 `json:"mean_ms,omitempty"`
	Percentiles
	P999MS *float64 `json:"p999_ms,omitempty"`
}

// Second is one second of a load run: the attempts that were answered in it.
type Second struct {
	Second    int `json:"second"` // from 1
	Attempts  int `json:"attempts"`
	Captures  int `json:"captures"`
	Failed    int `json:"failed"`
	InFlight  int `json:"in_flight"`    // at its end
	PoolQueue int `json:"pool_waiting"` // attempts that waited for a connection at its end
	Percentiles
}

// Connections is what attempts cost the pool.
type Connections struct {
	HeldSeconds       float64  `json:"held_seconds"` // connections × time in the hands of attempts
	SecondsPerCapture *float64 `json:"seconds_per_capture,omitempty"`
	// IdleInTxSeconds is connections × time between two statements of an open transaction, from samples: time in which a connection, and
	// what it has locked, waits for something that is not the database.
	IdleInTxSeconds float64 `json:"idle_in_transaction_seconds"`
}

// Blocking is one way in which attempts stood in each other's way, from samples.
type Blocking struct {
	Waiter  string  `json:"waiter"`   // the step of the statement that waited
	Event   string  `json:"event"`    // "Lock/transactionid"
	Blocker string  `json:"blocker"`  // the last step of who held it
	State   string  `json:"state"`    // and what that connection was doing: "active", "idle in transaction"
	Seconds float64 `json:"waited_s"` // waiters × time
}

// LoadClient is what the tool itself took, so that it can be told from the server's cost.
type LoadClient struct {
	GOMAXPROCS       int      `json:"gomaxprocs"`
	CPUUSPerAttempt  *float64 `json:"cpu_us_per_attempt,omitempty"` // processor time of the tool; absent where the system does not say
	HeapMiB          float64  `json:"heap_mib"`                     // live at the end
	MaxInFlight      int      `json:"max_in_flight"`                // attempts under way at the same time, at the most
	BytesPerInFlight *float64 `json:"bytes_per_in_flight,omitempty"`
}
