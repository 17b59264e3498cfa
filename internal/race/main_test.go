package race

import (
	"context"
	"fmt"
	"os"
	"testing"

	"idemlab/internal/server/servertest"
)

// childArg makes the test binary answer as an instance, as the tool's hidden command does.
const childArg = "race-instance"

func TestMain(m *testing.M) {
	os.Exit(servertest.Main(m, func(args []string) (int, bool) {
		if len(args) != 1 || args[0] != childArg {
			return 0, false
		}
		if err := ServeInstance(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1, true
		}
		return 0, true
	}))
}
