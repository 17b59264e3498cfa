package scenarios

// Attempt is how one attempt of an intent ended.
type Attempt struct {
	Answer Answer
	HTTP   int
	Body   string
	// Died says that the attempt never answered: its session was killed, or the run was stopped.
	Died bool
	// Followup says that the attempt came after the race, when nothing was in flight.
	Followup bool
	// OtherAmount says that the attempt was sent with another amount than the intent's: it must be Mismatched.
	OtherAmount bool
	// Tenant is whose customer asked, by the request.
	Tenant int64
	// Astray says that the acquirer was told to charge another tenant than the one that asked.
	Astray bool
}

// Row is one row that attempts left, or changed, in the form that all scenarios share: the columns of Scenario.Rows, in this
// order.
type Row struct {
	ID          int64  // rises with each new row; 0 for one that was there before the first attempt
	Key         string // empty where the row belongs to no request
	OrderID     int64  // of the intent
	AmountCents int64
	Status      string // what a reader should see of the row, in a word or two
	HTTP        int    // of the stored answer; 0 where there is none
	Body        string // of the stored answer; empty where there is none
	Tenant      int64  // whose it is; 0 where there is but one
}

// Intent is everything known of one intent after its last attempt has ended.
type Intent struct {
	Request  Request // the intent's own
	Clients  int     // that asked, each with the request that Scenario.Request made for it
	Attempts []Attempt
	Rows     []Row
	// CapturedCents is the money that moved, by the ledger; 0 is not compared with what the rows say.
	CapturedCents int64
	// RowsUnknown says that the rows could not be read, so that nothing is concluded from their absence.
	RowsUnknown bool
	// Effect is what the captures are.
	Effect Effect
	// From the acquirer's ledger: requests that arrived, and what came of them. Captures moved money, declines did not.
	Requests, Captures, Declines int
	// Tenants is the same by tenant, as the acquirer was told whose money to move. Nil where there is but the request's own.
	Tenants map[int64]Told
	// Other is another charge of the same order, under a key of its own, made when the first was over. Nil where none was.
	Other *Other
}

// Told is what the acquirer's ledger says of one tenant's part in an intent.
type Told struct {
	Requests, Captures, Declines int
	CapturedCents                int64
	Receipts                     []string // each once
}

// Wishes is how many of the intent's wishes money moved for: one for each tenant who was charged.
func (in Intent) Wishes() (n int) {
	if in.Tenants == nil {
		return min(in.Captures, 1)
	}
	for _, t := range in.Tenants {
		n += min(t.Captures, 1)
	}
	return n
}

// TooMany is how many captures were beyond the first of a wish.
func (in Intent) TooMany() int { return in.Captures - in.Wishes() }

// RowsTooMany is how many rows there are beyond the first of a wish.
func (in Intent) RowsTooMany() int {
	of := map[int64]bool{}
	for _, r := range in.Rows {
		of[r.Tenant] = true
	}
	return len(in.Rows) - len(of)
}

// Other is what became of the order's other charge.
type Other struct {
	Answer             Answer
	Captures, Declines int
}

// Finding is one anomaly of one intent, with its size and its words.
type Finding struct {
	Anomaly Anomaly
	Count   int // how much too much or too little, in the anomaly's own unit: captures, rows or answers
	Detail  string
}
