package server

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// selfPath leads to the running program even after its file was replaced or removed, as a rebuild or the end of
// `go run` does.
func selfPath() (string, error) {
	const self = "/proc/self/exe"
	if _, err := os.Lstat(self); err != nil { // no /proc, as in some chroots
		return os.Executable()
	}
	return self, nil
}

// childAttr sets up initdb and postgres. The kernel sends them die when the *thread* that started them ends: it must
// be locked to its goroutine until they are gone.
func childAttr(as *account, die syscall.Signal) *syscall.SysProcAttr {
	attr := credential(as)
	attr.Pdeathsig = die
	return attr
}

// adoptOrphans makes grandchildren that lose their parent ours, so that they can be waited for.
func adoptOrphans() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// killChildren is the last resort for processes that did not go when their server did.
func killChildren() {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	me := []byte(strconv.Itoa(os.Getpid()))
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		// "pid (name) state ppid …", and a name may hold anything, parentheses too.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 2 || !bytes.Equal(fields[1], me) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// inMemory tells whether dir lies on a file system that is memory, where flushing to disk costs nothing.
func inMemory(dir string) bool {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return false
	}
	return int64(st.Type) == unix.TMPFS_MAGIC || int64(st.Type) == unix.RAMFS_MAGIC
}
