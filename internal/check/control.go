package check

import (
	"fmt"

	"idemlab/results"
)

// ControlDoubt says why finding nothing would prove nothing, where the control was not caught; "" where it was, or was not
// needed.
func ControlDoubt(c *results.Control) string {
	switch {
	case c == nil || c.Caught():
		return ""
	case c.ForcedCharge != nil:
		return fmt.Sprintf("the control %s did not double-charge on this server, so a double charge may go unseen", c.Strategy)
	}
	return fmt.Sprintf("the control %s was not caught on this server, so what it does wrong may go unseen", c.Strategy)
}
