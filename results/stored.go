package results

// Stored is what a policy of storing answers leads to, for each way in which a first attempt can end.
type Stored struct {
	Policy string       `json:"policy"` // all, final, event, success or none
	Cells  []StoredCell `json:"cells"`
	// Columns says in what type a stored answer comes back as it was; in one run of a document, because it is the server's and no
	// policy's.
	Columns []StoredColumn `json:"columns,omitempty"`
}

// StoredCell is one end of a first attempt, and what came after it.
type StoredCell struct {
	Outcome string     `json:"outcome"` // approved, declined, error-before, error-after or lost-reply
	First   StoredTold `json:"first"`
	Retry   StoredTold `json:"retry"` // the same key
	// SameBytes says that the retry was told what the first attempt was, to the byte.
	SameBytes bool `json:"same_bytes"`
	Captures  int  `json:"captures"` // under that key
	Requests  int  `json:"capture_requests"`
	// Reconciled is what the same key is told after a reconciler has asked the acquirer, and FoundByIt how many rows that was about.
	Reconciled    StoredTold `json:"reconciled"`
	FoundByIt     int        `json:"found_by_reconciler"`
	Fresh         StoredTold `json:"fresh"`          // the same charge under a new key
	FreshCaptures int        `json:"fresh_captures"` // under that one
}

// StoredColumn is one type of PostgreSQL's, and what becomes of answers in it.
type StoredColumn struct {
	Type  string         `json:"type"`
	Cases []StoredAnswer `json:"cases"`
}

// StoredAnswer is one answer that was stored and read back.
type StoredAnswer struct {
	What      string `json:"what"`
	SameBytes bool   `json:"same_bytes"`
	CameBack  string `json:"came_back,omitempty"` // where it differs
	SQLState  string `json:"sqlstate,omitempty"`  // where it was refused
}

// StoredTold is what a client was told.
type StoredTold struct {
	Answer string `json:"answer"`
	HTTP   int    `json:"http"`
}
