package server

import (
	"context"
	"errors"
	"io"
)

// embedded has no implementation here: who dies after whom rests on sessions, flock and peer authentication.
type embedded struct {
	onMemory bool
	notes    []string
}

func (e *embedded) dsn() string                { return "" }
func (e *embedded) stop(context.Context) error { return nil }

func errWindows() error {
	return errors.New("on Windows this version needs --dsn: start a PostgreSQL and name it, " +
		"for example --dsn postgres://postgres@localhost/postgres")
}

func startEmbedded(context.Context, string, string, environ) (*embedded, error) {
	return nil, errWindows()
}

// binaries says at once that none would help.
func binaries(context.Context, Options) (string, error) { return "", errWindows() }

// IsSupervisor is always false: there is no supervisor on Windows.
func IsSupervisor([]string) bool { return false }

// Supervise fails: there is no supervisor on Windows.
func Supervise(_ []string, _ io.Reader, _ io.Writer) int { return 1 }

// InstallCommand is what a person types to install a PostgreSQL.
func InstallCommand() string { return "https://www.postgresql.org/download/windows/, then --dsn" }
