package acquirer

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
)

// ledgerFile is a ledger that outlives the process: a line of JSON for each entry, appended, and on disk before the capture is
// answered. What the money did must not depend on whether the acquirer is killed.
type ledgerFile struct {
	f *os.File

	written atomic.Int64 // lines
	failed  error        // the first failure to write: nothing may come after half a line; guarded by the acquirer's lock

	mu     sync.Mutex // held while the disk is waited for
	synced int64      // lines that are on disk
}

// openLedger opens the file, or makes it, and reads what is there.
func openLedger(path string) (_ *ledgerFile, entries []Entry, notes []string, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	if err := lockFile(f); err != nil {
		return nil, nil, nil, fmt.Errorf("another acquirer is writing to it; end that one, or name another file: %w", err)
	}
	entries, whole, err := readLedger(f)
	if err != nil {
		return nil, nil, nil, err
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, nil, nil, err
	}
	if torn := size - whole; torn > 0 {
		// It was killed while it wrote: that capture was never answered, and nobody is told of a half of it.
		if err := f.Truncate(whole); err != nil {
			return nil, nil, nil, fmt.Errorf("cut off its unfinished last line: %w", err)
		}
		notes = append(notes, fmt.Sprintf("its last line was not finished (%d bytes) and was cut off: that capture was never answered", torn))
	}
	syncFolder(path)
	return &ledgerFile{f: f}, entries, notes, nil
}

// readLedger returns the entries and how many bytes of whole lines there are.
func readLedger(r io.Reader) (entries []Entry, whole int64, err error) {
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return entries, whole, nil
		}
		if err != nil {
			return nil, 0, err
		}
		var e entryJSON
		err = strict(line, &e)
		if n := len(entries) + 1; err == nil && e.Number != n {
			err = fmt.Errorf("its number is %d", e.Number)
		}
		if err != nil {
			return nil, 0, fmt.Errorf("line %d is no entry of a ledger (name a file that this command wrote, or a new one): %w", len(entries)+1, err)
		}
		entries = append(entries, e.entry())
		whole += int64(len(line))
	}
}

// write appends an entry and returns the number up to which it must be synced. The caller holds the acquirer's lock.
func (l *ledgerFile) write(e Entry) (int64, error) {
	if l.failed != nil {
		return 0, l.failed
	}
	line, err := json.Marshal(jsonOf(e))
	if err == nil {
		_, err = l.f.Write(append(line, '\n'))
	}
	if err != nil {
		l.failed = fmt.Errorf("write the ledger: %w", err)
		return 0, l.failed
	}
	return l.written.Add(1), nil
}

// sync returns when that many lines are on disk. Captures that wait together share one flush, so that a file makes the acquirer
// slower, but does not make it take one request after another.
func (l *ledgerFile) sync(upTo int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.synced >= upTo {
		return nil
	}
	covers := l.written.Load()
	if err := l.f.Sync(); err != nil {
		return fmt.Errorf("flush the ledger: %w", err)
	}
	l.synced = covers
	return nil
}

func (l *ledgerFile) close() error { return l.f.Close() }

// syncFolder makes the file's name last, too. Where the system cannot do that for a folder, nothing depends on it but a power cut
// within the next seconds.
func syncFolder(path string) {
	if dir, err := os.Open(filepath.Dir(path)); err == nil {
		_ = dir.Sync()
		_ = dir.Close()
	}
}
