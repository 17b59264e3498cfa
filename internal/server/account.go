//go:build unix

package server

import (
	"errors"
	"fmt"
	"os/user"
	"strconv"
)

// serverAccount is whom initdb and postgres run as: nil for the tool's own account, and for root, which
// PostgreSQL refuses, the account postgres where there is one, else nobody.
func serverAccount(euid int) (*account, error) {
	if euid != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil && uid != 0 {
			return &account{Name: name, UID: uint32(uid), GID: uint32(gid)}, nil
		}
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is neither an account postgres nor nobody to run it as:\n" +
		"  run as an ordinary user, or name a server with --dsn")
}

// accountName is the name that peer authentication will see for this process. The kernel passes a number, and the
// server looks the name up, so an account without a name cannot connect (nor would initdb run for it).
func accountName(euid int) (string, error) {
	u, err := user.LookupId(strconv.Itoa(euid))
	if err != nil {
		return "", fmt.Errorf("this account (uid %d) has no name, and PostgreSQL wants one: "+
			"run as a user who stands in /etc/passwd, or name a server with --dsn: %w", euid, err)
	}
	return u.Username, nil
}
