package results

// Recovery is what crashes left half-way, and what became of it.
type Recovery struct {
	Settings RecoverySettings `json:"settings"`
	Passes   []RecoveryPass   `json:"passes"` // of the reconciler
	// Left is what the last pass left as it was, or would have: orphans of which nobody knows the end. Absent without a pass.
	Left *Left `json:"left,omitempty"`
	// Stages and Groups are of a demonstration, where the ledger is known and it is known what befell whom.
	Stages []Stage         `json:"stages,omitempty"`
	Groups []RecoveryGroup `json:"groups,omitempty"`
}

// Left is orphans, and what they are worth.
type Left struct {
	Orphans int   `json:"orphans"`
	Cents   int64 `json:"cents"`
}

// RecoverySettings is how it was asked for.
type RecoverySettings struct {
	Reconciler string  `json:"reconciler"` // patient, eager or none
	LeaseMS    float64 `json:"lease_ms"`
	DeadlineMS float64 `json:"deadline_ms,omitempty"` // absent: what the acquirer does not know is never closed
	DryRun     bool    `json:"dry_run,omitempty"`
	// Tables is the schema of a service's tables; absent in a demonstration, which makes its own.
	Tables string `json:"tables,omitempty"`

	*Demonstration
}

// Demonstration is how crashes were asked for.
type Demonstration struct {
	Befalls           []string `json:"befalls"`      // what befell the first attempts
	IntentsEach       int      `json:"intents_each"` // for each of those and each time of the client's retry
	CallsOutlastLease bool     `json:"calls_outlast_lease"`
	AcquirerSettings
}

// Stage is what the ledger and the table said at one moment.
type Stage struct {
	Name                 string `json:"name"`
	Captures             int    `json:"captures"` // money moved
	CapturedCents        int64  `json:"captured_cents"`
	Recorded             int    `json:"recorded"` // rows that say so
	RecordedCents        int64  `json:"recorded_cents"`
	WithoutRecord        int    `json:"without_record"` // captures that no row says anything of
	WithoutRecordCents   int64  `json:"without_record_cents"`
	Orphans              int    `json:"orphans"` // rows left PROCESSANDO
	IntentsDoubleCharged int    `json:"intents_double_charged"`
}

// RecoveryPass is the reconciler's one look at the table.
type RecoveryPass struct {
	Name    string          `json:"name"`
	Found   FateCount       `json:"found"`
	Changed int             `json:"changed"` // rows that it wrote
	Fates   []FateCount     `json:"fates"`   // those that were met with
	Orphans []SettledOrphan `json:"orphans"` // by id, at most 200
}

// FateCount is how many orphans met one fate, and what they are worth.
type FateCount struct {
	Fate  string `json:"fate,omitempty"` // absent: any
	Count int    `json:"count"`
	Cents int64  `json:"cents"`
}

// SettledOrphan is one row that was PROCESSANDO for longer than the lease.
type SettledOrphan struct {
	ID          int64   `json:"id"`
	Key         string  `json:"key"`
	OrderID     int64   `json:"order_id"`
	AmountCents int64   `json:"amount_cents"`
	AgeMS       float64 `json:"age_ms"` // by the server's clock
	Fate        string  `json:"fate"`
	Receipt     string  `json:"receipt,omitempty"`
	HTTP        int     `json:"http,omitempty"`   // that a retry is told from now on
	Reason      string  `json:"reason,omitempty"` // of what was left
}

// RecoveryGroup is the intents whose first attempts the same befell and whose clients came again at the same time.
type RecoveryGroup struct {
	Befalls       string         `json:"befalls"`
	Retry         string         `json:"retry"` // before or after the reconciler's first pass
	Intents       int            `json:"intents"`
	Captures      int            `json:"captures"`
	DoubleCharged int            `json:"double_charged"`
	Told          map[string]int `json:"told"`  // the retry
	Later         map[string]int `json:"later"` // another one, when everything is over
}
