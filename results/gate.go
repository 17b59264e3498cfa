package results

// GateOutcome is what came of a gate.
type GateOutcome string

// The outcomes of a gate. What was not measured has neither passed nor failed: absent is not zero.
const (
	GatePassed      GateOutcome = "passed"
	GateFailed      GateOutcome = "failed"
	GateNotMeasured GateOutcome = "not measured"
)

// Gate is a limit on one field of the run (--fail-on), and what came of it. It decides about the exit code and never about the
// verdict, which is of the guarantee.
type Gate struct {
	Expr    string      `json:"expr"`            // what fails it, as typed: "latency.p99_ms>250"
	Field   string      `json:"field"`           // of the run, by the document's own names
	Value   any         `json:"value,omitempty"` // a number, text or a truth, as the field is; absent where it was not measured
	Op      string      `json:"op"`
	Limit   any         `json:"limit"`
	Outcome GateOutcome `json:"outcome"`
	Reason  string      `json:"reason,omitempty"` // why it was not measured
}

// ClaimCode is the run's exit code by its claim alone, before gates and a baseline had their say.
func (r Run) ClaimCode() int {
	if r.ClaimExitCode != nil {
		return *r.ClaimExitCode
	}
	return r.ExitCode
}
