package results

import "fmt"

// Sweep is a grid of races: one cell for each strategy and each value, or pair of values, of what was varied. Each cell is a run like
// any other; here is where it lies, and what its rounds say together.
type Sweep struct {
	Measure    Measure     `json:"measure"`
	Confidence float64     `json:"confidence"` // of the intervals
	X          Axis        `json:"x"`
	Y          *Axis       `json:"y,omitempty"` // absent where one thing was varied
	Planned    int         `json:"cells_planned"`
	Cells      []SweepCell `json:"cells"` // those that came to an intent, in the order of the runs
}

// Measure is what is counted in a cell, by the name that it has in a round.
type Measure string

// The measures.
const (
	IntentsDoubleCharged Measure = "intents_double_charged"
	IntentsViolated      Measure = "intents_violated" // in scenarios without an acquirer
)

// Axis is what was varied, by the name of its flag, and the values in order.
type Axis struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

// SweepCell is one run's place and result.
type SweepCell struct {
	Run int    `json:"run"`         // index into the document's runs
	X   string `json:"x"`           // one of the axis's values
	Y   string `json:"y,omitempty"` // absent where there is one axis

	Rounds  int     `json:"rounds"`  // that came to an intent: they are the sample
	Intents int     `json:"intents"` // of all rounds
	Found   int     `json:"found"`   // intents with what is measured
	Share   float64 `json:"share"`
	// Interval is absent where one round cannot speak for others, or none was found and may have gone unseen.
	Interval *Interval `json:"interval,omitempty"`

	// PerSecond is attempts over the time in which they raced: the pause from one intent to the next is not in it.
	PerSecond *float64 `json:"attempts_per_second,omitempty"`
}

// Interval is where the true share lies. Where none or all was found it has one side, with the whole confidence.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// check refuses a sweep whose cells lie nowhere, or are no runs: it may come from anywhere.
func (s *Sweep) check(runs int) error {
	if s == nil {
		return nil
	}
	for i, c := range s.Cells {
		if c.Run < 0 || c.Run >= runs {
			return fmt.Errorf("cell %d of the sweep is run %d, and there are %d", i, c.Run, runs)
		}
	}
	return nil
}
