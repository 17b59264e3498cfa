package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"idemlab/results"
)

// The parts of a JUnit file that CI servers read: one suite, one case for each cell, and why where it is not as claimed.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Time     string      `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string      `xml:"classname,attr"`
		Name    string      `xml:"name,attr"`
		Time    string      `xml:"time,attr"`
		Failure *junitCause `xml:"failure,omitempty"`
		Error   *junitCause `xml:"error,omitempty"`
		Skipped *junitCause `xml:"skipped,omitempty"`
	}
	junitCause struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes the document for CI servers. A cell against its claim is a failure, with the line that runs it again; one that
// is undecided, or could not run, is an error. Each gate is a case of its own, and so is the comparison with a
// baseline: failed, an error where a gate's field was not measured, skipped where there was
// nothing to compare with.
func JUnit(w io.Writer, d results.Document) error {
	suite := junitSuite{Name: "idemlab"}
	total := 0.0
	twice := map[string]int{} // CI servers take cases of one name for one
	for _, r := range d.Runs {
		twice[subject(r)+Cell(r)]++
	}
	for _, r := range d.Runs {
		name := Cell(r)
		if twice[subject(r)+name] > 1 && r.Hazard == "" {
			name = asked(r)
		}
		c := junitCase{Class: "idemlab." + r.Scenario + "." + subject(r), Name: name, Time: seconds(r.DurationMS)}
		total += r.DurationMS
		cause := &junitCause{Message: compared(r), Text: again(r)}
		suite.add(c, r.ClaimCode(), cause)
		for _, g := range r.Gates {
			code := map[results.GateOutcome]int{results.GateFailed: 1, results.GateNotMeasured: 4}[g.Outcome]
			suite.add(junitCase{Class: c.Class, Name: name + ", gate " + g.Expr, Time: "0"}, code, &junitCause{Message: cameTo(g), Text: gateText(g, r)})
		}
		if b := r.Baseline; b != nil {
			base := junitCase{Class: c.Class, Name: name + ", baseline " + b.Source, Time: "0"}
			cause := &junitCause{Message: strings.Join(baselineLine(r), ", "), Text: again(r)}
			code := 0
			switch b.Outcome {
			case results.Regression:
				code = 1
			case results.NotCompared:
				base.Skipped = &junitCause{Message: cause.Message}
				suite.Skipped++
			}
			suite.add(base, code, cause)
		}
	}
	if d.ExitCode > 1 && suite.Errors == 0 { // cells that were never begun are in no list: the file must not look green
		cause := "the command ended with exit code " + fmt.Sprint(d.ExitCode)
		if d.Error != nil {
			cause += ": " + *d.Error
		}
		suite.Cases = append(suite.Cases, junitCase{Class: "idemlab", Name: "came to its end", Time: "0", Error: &junitCause{Message: cause}})
		suite.Errors++
	}
	suite.Tests, suite.Time = len(suite.Cases), seconds(total)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(junitSuites{Suites: []junitSuite{suite}}); err != nil {
		return fmt.Errorf("write JUnit: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// add counts a case by its exit code.
func (s *junitSuite) add(c junitCase, code int, cause *junitCause) {
	switch code {
	case 0:
	case 1:
		c.Failure = cause
		s.Failures++
	default:
		c.Error = cause
		s.Errors++
	}
	s.Cases = append(s.Cases, c)
}

// gateText is a gate's failure at length: the field, what was found, the limit, and what to type.
func gateText(g results.Gate, r results.Run) string {
	found := "nothing: " + g.Reason
	if g.Outcome != results.GateNotMeasured {
		found = scalar(g.Value)
	}
	text := fmt.Sprintf("field: %s\nfound: %s\nlimit: fails where %s %s", g.Field, found, g.Op, scalar(g.Limit))
	if line := again(r); line != "" {
		text += "\nagain: " + line
	}
	return text
}

func seconds(ms float64) string { return fmt.Sprintf("%.3f", ms/1000) }

// Cell names a run within a grid: hazard, engine, level and whatever else tells it apart.
func Cell(r results.Run) string {
	name := strings.TrimPrefix(fmt.Sprintf("%s, %s, %s", r.Hazard, r.Engine, r.Server.Isolation), ", ")
	if e := r.Explore; e != nil {
		name += fmt.Sprintf(", %d sessions", e.Sessions)
	}
	return name
}
