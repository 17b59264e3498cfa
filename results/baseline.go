package results

// BaselineOutcome is what came of comparing a run with an earlier one.
type BaselineOutcome string

// The outcomes of a comparison.
const (
	NoRegression BaselineOutcome = "no regression"
	Regression   BaselineOutcome = "regression"
	NotCompared  BaselineOutcome = "not compared"
)

// Baseline is how a run compares with those of its kind that were recorded earlier. Like a gate it decides about the exit code,
// never about the verdict.
type Baseline struct {
	Source           string          `json:"source"` // the file or folder, as typed
	OldRuns          int             `json:"old_runs"`
	NewRuns          int             `json:"new_runs"` // this one, and others of its kind beside it
	TolerancePercent float64         `json:"tolerance_percent"`
	Forced           bool            `json:"forced,omitempty"` // compared although something that shapes the numbers differs
	Outcome          BaselineOutcome `json:"outcome"`
	Reason           string          `json:"reason,omitempty"` // why nothing was compared
	Differences      []Difference    `json:"differences,omitempty"`
	Changes          []Change        `json:"changes,omitempty"`
	Metrics          []Metric        `json:"metrics,omitempty"`
}

// Difference is a setting, or something about tool or server, that was not the same.
type Difference struct {
	Field  string `json:"field"`
	Old    string `json:"old"`
	New    string `json:"new"`
	Shapes bool   `json:"shapes_numbers"` // so that numbers cannot be told apart from it
}

// Change is a result that is one word or one count, and was another: the verdict, the exit code, a first duplicate capture.
type Change struct {
	Field      string `json:"field"`
	Old        string `json:"old"`
	New        string `json:"new"`
	Regression bool   `json:"regression"`
}

// MetricOutcome is what can be said of a number that was measured several times before and after.
type MetricOutcome string

// The outcomes of a metric. Of these only Regressed is one: significant, to the worse, and by more than the tolerance.
const (
	TooFew       MetricOutcome = "too few samples"
	NoDifference MetricOutcome = "no difference" // that could be told from noise
	Better       MetricOutcome = "better"
	Worse        MetricOutcome = "worse" // within the tolerance, or no fault where it is
	Regressed    MetricOutcome = "regression"
)

// Metric is one number, compared over samples of it. Ratio is new over old, the median of all pairs (Hodges and Lehmann), with
// its 95 % interval (Mann and Whitney); a difference counts where the interval leaves out 1.
type Metric struct {
	Field     string        `json:"field"`   // of the run, or of the rows in it
	Samples   string        `json:"samples"` // what one is: "rounds", "runs", "blocks of 3 s"
	OldN      int           `json:"old_n"`
	NewN      int           `json:"new_n"`
	OldMedian *float64      `json:"old_median,omitempty"`
	NewMedian *float64      `json:"new_median,omitempty"`
	Ratio     *float64      `json:"ratio,omitempty"`      // absent where there are too few, or it has no bound
	RatioLow  *float64      `json:"ratio_low,omitempty"`  // absent where there are too few
	RatioHigh *float64      `json:"ratio_high,omitempty"` // absent also where it has no bound
	Outcome   MetricOutcome `json:"outcome"`
	Reason    string        `json:"reason,omitempty"` // how many would do
}
