package scenarios

// Job is what a service runs beside its attempts, now and then: a reconciler, a purger. It is a handler like a strategy's, whose answer
// nobody waits for. Its request says where to begin: rows of lesser orders are not its business.
type Job struct {
	Name  string // as typed
	Title string // one line

	// Brings is the hazard that the job brings about, under which strategies make claims. Empty: what a strategy claims without the
	// job is claimed beside it.
	Brings Hazard
	// Shows are the anomalies that the job brings about beside a strategy that is sound without it: a bad example stays bad.
	Shows []Anomaly

	// New makes the job's handler, beside attempts of that strategy.
	New func(Env, Strategy) Handler
}
