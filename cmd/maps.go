package cmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"idemlab/internal/report"
)

// addMaps lets a command say which maps of a sweep it shows.
func (a *app) addMaps(c *cobra.Command) {
	fl := c.Flags()
	fl.Var((*maps)(&a.maps), "show", "of a sweep: the maps to show, a comma list of "+strings.Join(report.Maps(), ", ")+", or all")
	fl.BoolVar(&a.details, "details", false, "of a sweep: list every cell with its figures, too")
	// The only error is a flag that does not exist, which the first test run would show.
	_ = c.RegisterFlagCompletionFunc("show", cobra.FixedCompletions(append(report.Maps(), "all"), cobra.ShellCompDirectiveNoFileComp))
}

// maps is the value of --show.
type maps []string

// Set takes a comma list.
func (m *maps) Set(s string) error {
	*m = nil
	for name := range strings.SplitSeq(s, ",") {
		switch {
		case name == "all":
			*m = report.Maps()
			return nil
		case !slices.Contains(report.Maps(), name):
			return fmt.Errorf("no map %q: say %s or all", name, strings.Join(report.Maps(), ", "))
		case !slices.Contains(*m, name):
			*m = append(*m, name)
		}
	}
	return nil
}

func (m *maps) String() string {
	if len(*m) == 0 {
		return report.Maps()[0]
	}
	return strings.Join(*m, ",")
}

// Type names the value in help.
func (m *maps) Type() string { return "maps" }
