package scenarios

// Answer is what the client is told.
type Answer string

// The answers. Of these, Charged, Replayed, Declined, Done and NotFound are final; InProgress and Failed invite a retry with the same key.
const (
	Charged    Answer = "charged"     // 201: money moved, by this attempt
	Replayed   Answer = "replayed"    // the stored first answer again, with its own status
	InProgress Answer = "in_progress" // 409: an attempt with this key has not ended
	Mismatched Answer = "mismatched"  // 422: this key belongs to another order or amount
	Declined   Answer = "declined"    // 402: the acquirer said no, to this attempt
	Done       Answer = "done"        // 200, 201, 204: it is now as the request wants it, where no money is at stake
	NotFound   Answer = "not_found"   // 404: there is nothing that the request could be about
	Failed     Answer = "failed"      // 5xx: an error reached the client
)

// Answers lists every Answer, in the order in which reports show them.
func Answers() []Answer {
	return []Answer{Charged, Replayed, InProgress, Mismatched, Declined, Done, NotFound, Failed}
}

// Succeeded says whether an answer tells the client that what it wanted is so.
func (a Answer) Succeeded() bool { return a == Charged || a == Replayed || a == Done }

// Hazard is what befalls attempts. The list is closed.
type Hazard string

// The hazards.
const (
	Race      Hazard = "race"       // attempts of one intent at the same time
	Instances Hazard = "instances"  // a race across operating-system processes
	Crash     Hazard = "crash"      // the session dies between two steps, the client retries
	LostReply Hazard = "lost-reply" // the request to the acquirer, or its answer, never arrives
	Purge     Hazard = "purge"      // rows of keys that have had their time are deleted, and the client comes again later than that
)

// Anomaly is something that an invariant found to be wrong.
type Anomaly string

// The anomalies. Those of money that moved or did not are the scenario charge's first of all.
const (
	DoubleCharge          Anomaly = "double_charge"           // an intent's money moved more than once
	MissingCharge         Anomaly = "missing_charge"          // a legitimate charge was refused
	DivergentAnswers      Anomaly = "divergent_answers"       // one key, two different final answers
	ErrorToDuplicate      Anomaly = "error_to_duplicate"      // a duplicate got a 5xx although the intent was served
	Orphan                Anomaly = "orphan"                  // a row left PROCESSANDO, with nobody working on it
	ChargedWithoutRecord  Anomaly = "charged_without_record"  // money moved, no row says so
	AnsweredWithoutCharge Anomaly = "answered_without_charge" // the client was told of a charge that never happened
	LostUpdate            Anomaly = "lost_update"             // a write was overwritten by one that had not seen it
	Overdraft             Anomaly = "overdraft"               // more was given out than there was
	StateDiffers          Anomaly = "state_differs"           // repeating a request left another state than the first time did
)

// Anomalies lists every Anomaly, worst first.
func Anomalies() []Anomaly {
	return []Anomaly{
		DoubleCharge, LostUpdate, Overdraft, StateDiffers, ChargedWithoutRecord, AnsweredWithoutCharge, MissingCharge, DivergentAnswers,
		ErrorToDuplicate, Orphan,
	}
}
