//go:build unix

package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// tmpFolders lists where a server's folder may go, best first. /var/tmp comes before /tmp because the latter is in memory
// on many systems, where a commit waits for nothing.
func tmpFolders(env environ) []string {
	var out []string
	for _, dir := range []string{env.get("TMPDIR"), "/var/tmp", "/tmp"} {
		if dir != "" {
			out = append(out, filepath.Clean(dir))
		}
	}
	return out
}

// suitable tells why a folder cannot hold a server's.
func suitable(tmp string, owner *account) error {
	if !filepath.IsAbs(tmp) {
		return errors.New("it is not an absolute path")
	}
	// PostgreSQL takes a comma for a list of folders, pgx for a list of hosts.
	if i := strings.IndexFunc(tmp, func(r rune) bool { return r < ' ' || strings.ContainsRune(`,'"\`, r) }); i >= 0 {
		return fmt.Errorf("the character %q cannot stand in a socket's path", tmp[i])
	}
	if n, most := len(tmp)+len("/idemlab-4294967295/pg12345678/.s.PGSQL.5432"), socketPathLimit(); n > most {
		return fmt.Errorf("a socket's path in it would have up to %d bytes, and %d is the most", n, most)
	}
	info, err := os.Stat(tmp)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return errors.New("it is not a folder")
	}
	if owner != nil {
		return passable(tmp, owner)
	}
	return nil
}

// socketPathLimit is the length of sun_path less the closing zero.
func socketPathLimit() int {
	if runtime.GOOS == "linux" {
		return 107
	}
	return 103 // the BSDs, macOS among them
}

// passable checks that an account can walk to dir. Root walks everywhere, so for root's own TMPDIR (often below
// /root) nothing else would tell before initdb fails in a way that is hard to read.
func passable(dir string, who *account) error {
	for p := dir; ; p = filepath.Dir(p) {
		info, err := os.Stat(p)
		if err != nil {
			return err
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return nil
		}
		bit := uint32(0o001)
		switch {
		case st.Uid == who.UID:
			bit = 0o100
		case st.Gid == who.GID:
			bit = 0o010
		}
		if uint32(st.Mode)&bit == 0 {
			return fmt.Errorf("account %s, which PostgreSQL runs as, cannot pass through %s (mode %04o)",
				who.Name, p, info.Mode().Perm())
		}
		if p == filepath.Dir(p) {
			return nil
		}
	}
}
