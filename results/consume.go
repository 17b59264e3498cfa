package results

// Consume is a strategy as a consumer of charge messages. Counts, answers and anomalies of the run are of all attempts: one each
// time that a consumer began on a message, and one more where it did so again after an orphan was cleared away.
type Consume struct {
	Settings ConsumeSettings `json:"settings"`

	Messages        int `json:"messages"`         // that the broker took, second ones included
	DoublePublishes int `json:"double_publishes"` // of the producer, for charges that it had sent before
	// Deduplicated are those of these that the broker's own window dropped; absent where it has none.
	Deduplicated *int `json:"deduplicated,omitempty"`

	Deliveries   int `json:"deliveries"`         // that a consumer began on
	Redeliveries int `json:"redeliveries"`       // of these, of a message that had been delivered before
	RanOut       int `json:"window_ran_out"`     // of these, while a consumer that lived was still at work at the message
	Repeated     int `json:"charges_repeated"`   // charges that consumers began on more than once
	Overlapped   int `json:"charges_overlapped"` // of these, by two that were at work at once

	Kills        ConsumeKills `json:"kills"`
	AttemptsDied int          `json:"attempts_died"` // with a consumer that was killed, before they had an answer

	Acknowledged int `json:"acknowledged"`
	TooLate      int `json:"acknowledged_too_late"` // deliveries whose end came when the message was another consumer's
	DeadLettered int `json:"dead_lettered"`
	Unfinished   int `json:"unfinished"` // messages that were neither at the end

	Orphans ConsumeOrphans `json:"orphans"`

	// Hazard is what befell the attempts, by which the strategy is judged.
	Hazard string `json:"hazard"`
}

// ConsumeKills are consumers that were killed, by where they were with the charge that it was for. What else they had in hand was
// wherever it was.
type ConsumeKills struct {
	Planned      int `json:"planned"`
	Made         int `json:"made"`
	BeforeClaim  int `json:"before_claim"`  // with the message in hand, and nothing done
	AfterCapture int `json:"after_capture"` // the money had moved, and nothing said so
	BeforeAck    int `json:"before_ack"`    // all was done, and the broker not told
}

// ConsumeOrphans are claims that a consumer found without an answer and too old to be anybody's.
type ConsumeOrphans struct {
	Recorded int `json:"recorded"` // the acquirer knew of a charge: it was entered
	Released int `json:"released"` // it knew of none: the claim was taken away
}

// ConsumeSettings is how a run of consumers was asked for.
type ConsumeSettings struct {
	Broker        string  `json:"broker"` // "postgres" or "rabbitmq"
	BrokerVersion string  `json:"broker_version"`
	KeyFrom       string  `json:"key_from"`            // "payload" or "message-id"
	WindowMS      float64 `json:"window_ms,omitempty"` // visibility; absent where the broker has none of the run's own

	Charges   int `json:"charges"`
	Consumers int `json:"consumers"` // operating-system processes
	Prefetch  int `json:"prefetch"`  // messages that each has in hand

	DoublePublishShare   float64 `json:"double_publish_share"`              // of the charges, sent a second time
	DoublePublishID      string  `json:"double_publish_id,omitempty"`       // "new" or "same"
	DoublePublishAfterMS float64 `json:"double_publish_after_ms,omitempty"` // after the first
	DedupWindowMS        float64 `json:"dedup_window_ms,omitempty"`         // of the broker

	MaxDeliveries    int     `json:"max_deliveries"`
	RetryAfterMS     float64 `json:"retry_after_ms"`
	OrphanAfterMS    float64 `json:"orphan_after_ms"`
	AttemptTimeoutMS float64 `json:"attempt_timeout_ms"`
	*AcquirerSettings
	LeaseMS float64 `json:"lease_ms,omitempty"`
	Schema  string  `json:"schema,omitempty"`
}
