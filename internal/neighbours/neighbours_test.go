package neighbours

import (
	"os"
	"strings"
	"testing"

	"idemlab/internal/check"
	"idemlab/internal/server/servertest"
	"idemlab/results"
)

func TestMain(m *testing.M) { os.Exit(servertest.Main(m)) }

// What each constraint makes of each pair; + is right, 2 charged again, ! told another's answer, in the order of the pairs.
func TestWhatEachConstraintMakesOfItsNeighbours(t *testing.T) {
	want := map[string]string{
		"key":                    "+!!+2+",
		"tenant-key":             "++!22+",
		"tenant-route-key":       "+++22+",
		"tenant-route-key-nulls": "++++2+",
		"and-the-event":          "++++++",
	}
	for _, c := range Constraints() {
		if servertest.Server(t).Info().VersionNum/10000 < c.MinServer {
			t.Logf("%s needs PostgreSQL %d", c.Name, c.MinServer)
			continue
		}
		r, err := Run(t.Context(), servertest.Server(t), Options{c, check.ExpectClaim})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, p := range r.Neighbours.Pairs {
			switch {
			case p.Right():
				got += "+"
			case p.Same:
				got += "2"
			default:
				got += "!"
			}
		}
		if wrong := len(got) - strings.Count(got, "+"); r.Neighbours.Wrong == nil || *r.Neighbours.Wrong != wrong {
			t.Errorf("%s: %v wrong, want %d", c.Name, r.Neighbours.Wrong, wrong)
		}
		if got != want[c.Name] || r.ExitCode != check.ExitHeld || (r.Verdict == results.Held) != (got == "++++++") {
			t.Errorf("%s: %s, want %s; %s (%s), exit %d", c.Name, got, want[c.Name], r.Verdict, r.Reason, r.ExitCode)
		}
	}
}

// A claim that is not so is found out, in either direction.
func TestAClaimThatIsNotSo(t *testing.T) {
	all := Constraints()
	good, bad := all[len(all)-1], all[0]
	good.Shows, bad.Shows = bad.Shows, nil
	for c, want := range map[*Constraint]int{&good: check.ExitInconclusive, &bad: check.ExitViolated} {
		if r, err := Run(t.Context(), servertest.Server(t), Options{*c, check.ExpectClaim}); err != nil || r.ExitCode != want {
			t.Errorf("%s: exit %d, want %d, %v", c.Name, r.ExitCode, want, err)
		}
	}
}
