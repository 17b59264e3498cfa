package server

import (
	"errors"
	"fmt"
)

// UsageError says that what was asked for cannot be meant: options that contradict each other, a setting PostgreSQL
// does not have. Tools exit with 2 on it. Every other error of this package means that the run could not be
// made (no server, connection refused, no right to create a schema): tools exit with 3.
type UsageError struct {
	Msg string // one or more lines for people, the next step included
	Err error  // the cause, or nil
}

// Error is Msg, followed by the cause when there is one.
func (e *UsageError) Error() string {
	if e.Err == nil {
		return e.Msg
	}
	return e.Msg + ": " + e.Err.Error()
}

// Unwrap gives the cause to errors.Is and errors.As.
func (e *UsageError) Unwrap() error { return e.Err }

// IsUsage tells whether err, or what it wraps, is a *UsageError.
func IsUsage(err error) bool {
	var u *UsageError
	return errors.As(err, &u)
}

func usagef(format string, args ...any) error {
	return &UsageError{Msg: fmt.Sprintf(format, args...)}
}
