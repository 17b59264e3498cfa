package retry

import (
	"context"
	"fmt"
	"os"
	"testing"

	"idemlab/internal/server/servertest"
)

// childArg makes the test binary answer as a service, as the tool's hidden command does.
const childArg = "retry-service"

func TestMain(m *testing.M) {
	os.Exit(servertest.Main(m, func(args []string) (int, bool) {
		if len(args) != 1 || args[0] != childArg {
			return 0, false
		}
		if err := ServeChild(context.Background(), os.Stdin, os.Stdout, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1, true
		}
		return 0, true
	}))
}
