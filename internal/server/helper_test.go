package server_test

import (
	"context"
	"io"
	"os"
	"testing"
)

// contextWithStdin ends with stdin, which is how these tests tell a child to go.
func contextWithStdin() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	return ctx, cancel
}

// testBinary is the path of this program.
func testBinary(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
