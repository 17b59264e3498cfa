//go:build !unix

package explore

import "errors"

// canStop is false: where processes cannot be stopped, waiters that one step lets go go on in the order that PostgreSQL picks.
func canStop(uint32) bool { return false }

func stopProcess(uint32) error { return errors.ErrUnsupported }

func contProcess(uint32) error { return errors.ErrUnsupported }
