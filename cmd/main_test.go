package cmd

import (
	"os"
	"testing"

	"idemlab/internal/server/servertest"
)

func TestMain(m *testing.M) { os.Exit(servertest.Main(m)) }
