package results

// Retry is a run of clients that time out and come back, over a path on which things go wrong. Counts, answers and anomalies of the run
// are at its end, reconciliation included where it was asked for.
type Retry struct {
	Settings RetrySettings `json:"settings"`
	Faults   []RetryFault  `json:"faults"` // those asked for, in their order

	ServiceStarts   int `json:"service_starts"`   // processes, the first ones included
	ServiceDeaths   int `json:"service_deaths"`   // of them, those that nobody had told to end
	PostgresCrashes int `json:"postgres_crashes"` // after each of which it recovered

	Requests RetryRequests `json:"requests"`
	// RequestsPerFinal is how many requests it took for one final answer; absent where there was none.
	RequestsPerFinal *float64 `json:"requests_per_final_answer,omitempty"`
	// TimeToFinal is the time from a customer's first tap to the first final answer, of those who had one before the end.
	TimeToFinal Latency `json:"time_to_final"`

	Final RetryFinal   `json:"final_answers"`
	Told  []RetryTold  `json:"told"` // what customers were told last, against what was taken from them
	Taken RetryCharged `json:"taken"`

	// Absent where the rows could not be read.
	Orphans        *RetryOrphans        `json:"orphans,omitempty"`
	Unrecorded     *RetryUnrecorded     `json:"unrecorded,omitempty"`
	Reconciliation *RetryReconciliation `json:"reconciliation,omitempty"` // absent where it was not asked for

	Stories []RetryStory `json:"stories"` // of the intents with the worst, at most 20
}

// RetrySettings is how the run was asked for, beside what is in the run's own settings.
type RetrySettings struct {
	TimeoutMS       float64 `json:"timeout_ms"` // of one request
	Retries         int     `json:"retries"`    // of each tap
	Backoff         string  `json:"backoff"`    // as typed
	RetryAfterCapMS float64 `json:"retry_after_cap_ms"`
	KeyPolicy       string  `json:"key_policy"`
	Clicks          int     `json:"clicks"`
	Concurrency     int     `json:"concurrency"` // customers at a time
	Reconcile       bool    `json:"reconcile"`
	ReconcileMS     float64 `json:"reconcile_after_ms,omitempty"` // the age at which a row is taken for an orphan while the run goes on
}

// RetryFault is a fault that was asked for, and how often it struck.
type RetryFault struct {
	Fault  string `json:"fault"` // as typed
	Kind   string `json:"kind"`
	Struck int    `json:"struck"`
}

// RetryRequests are what clients sent, and what they heard.
type RetryRequests struct {
	Sent     int `json:"sent"`
	Answered int `json:"answered"`
	Unheard  int `json:"unheard"` // nothing came within the time-out, or the connection broke
}

// RetryFinal is when customers had an answer for which there is nothing to come back.
type RetryFinal struct {
	DuringTheRun int `json:"during_the_run"`
	AtTheEnd     int `json:"at_the_end"` // only when they came back with the faults off
	Never        int `json:"never"`
}

// RetryTold is what some customers were told last. Nothing stands for no answer at all.
type RetryTold struct {
	Answer string       `json:"answer"`
	Taken  RetryCharged `json:"taken"`
}

// RetryCharged counts intents by how often money was taken for them.
type RetryCharged struct {
	Once         int `json:"once"`
	MoreThanOnce int `json:"more_than_once"`
	Never        int `json:"never"`
}

// RetryOrphans are intents with a row that says PROCESSANDO when nobody works on it any more.
type RetryOrphans struct {
	Before int           `json:"before_reconciliation"` // those that a reconciler had finished by then are in its own count
	After  int           `json:"after"`
	Named  []RetryOrphan `json:"named"` // those before; at most 200
}

// RetryOrphan is one of them.
type RetryOrphan struct {
	Intent     string `json:"intent"`
	OrderID    int64  `json:"order_id"`
	TakenCents *int64 `json:"taken_cents,omitempty"` // absent, as all cents here, where the effect moves no money
	Left       bool   `json:"left"`                  // still there at the end
}

// RetryUnrecorded is money that was taken and that no row says was taken, or e-mails that no row tells of.
type RetryUnrecorded struct {
	BeforeCents *int64          `json:"before_reconciliation_cents,omitempty"`
	AfterCents  *int64          `json:"after_cents,omitempty"`
	Named       []RetryMoneyGap `json:"named"` // those before; at most 200
}

// RetryMoneyGap is one intent's.
type RetryMoneyGap struct {
	Intent   string   `json:"intent"`
	OrderID  int64    `json:"order_id"`
	Cents    *int64   `json:"cents,omitempty"`
	Receipts []string `json:"receipts"` // that stand in no row
	Left     bool     `json:"left"`
}

// RetryReconciliation is what asking the acquirer came to, over all passes.
type RetryReconciliation struct {
	Passes       int `json:"passes"`
	Captured     int `json:"recorded_as_captured"`
	Declined     int `json:"recorded_as_declined"`
	Closed       int `json:"closed"`        // the acquirer knew nothing, and nothing was under way any more
	AgainChanged int `json:"again_changed"` // rows that the very last pass changed: it had nothing left to do
	// CannotAsk are those that the last pass left because there is nobody to ask: e-mails.
	CannotAsk int `json:"cannot_ask,omitempty"`
}

// RetryStory is what befell an intent, from the first tap to the end.
type RetryStory struct {
	Intent  string   `json:"intent"`
	OrderID int64    `json:"order_id"`
	Why     string   `json:"why"` // it is told
	Lines   []string `json:"lines"`
}

// Add counts an intent for which money was taken so often.
func (c *RetryCharged) Add(captures int) {
	switch {
	case captures == 0:
		c.Never++
	case captures == 1:
		c.Once++
	default:
		c.MoreThanOnce++
	}
}
