package results

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The kernel is asked what happened in the folder: the file's own name appears once, by a rename, and is never written to.
func TestSaveRenamesIntoPlace(t *testing.T) {
	dir := t.TempDir()
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	watch := os.NewFile(uintptr(fd), "inotify")
	defer watch.Close()
	const all = syscall.IN_CREATE | syscall.IN_MODIFY | syscall.IN_CLOSE_WRITE | syscall.IN_MOVED_TO | syscall.IN_MOVED_FROM | syscall.IN_DELETE
	if _, err := syscall.InotifyAddWatch(fd, dir, all); err != nil {
		t.Fatal(err)
	}
	path, err := (Document{Format: Format, Verdict: Held, Runs: []Run{}}).Save(dir, "race", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 64<<10)
	n, err := watch.Read(buf) // the kernel has queued the events before the calls that caused them returned
	if err != nil {
		t.Fatal(err)
	}
	var masks []uint32
	for rest := buf[:n]; len(rest) > 0; {
		mask, size := binary.NativeEndian.Uint32(rest[4:]), binary.NativeEndian.Uint32(rest[12:])
		name := string(bytes.TrimRight(rest[syscall.SizeofInotifyEvent:syscall.SizeofInotifyEvent+size], "\x00"))
		switch {
		case name == filepath.Base(path):
			masks = append(masks, mask)
		case !strings.HasPrefix(name, ".tmp-"):
			t.Errorf("another file in the folder: %s", name)
		}
		rest = rest[syscall.SizeofInotifyEvent+size:]
	}
	if len(masks) != 1 || masks[0] != syscall.IN_MOVED_TO {
		t.Errorf("events of the document's own name: %#x, want one rename (%#x)", masks, syscall.IN_MOVED_TO)
	}
}
