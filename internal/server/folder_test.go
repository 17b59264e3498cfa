//go:build unix

package server

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

func baseOf(tmp string) string { return filepath.Join(tmp, "idemlab-"+strconv.Itoa(os.Geteuid())) }

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// shortTemp is a folder with a path short enough for a socket, which t.TempDir's need not be.
func shortTemp(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "t")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func TestFolderIsPrivateAndTheLastOneOutRemovesTheBase(t *testing.T) {
	tmp := shortTemp(t)
	a, notes, err := makeFolder([]string{tmp}, nil)
	if err != nil || len(notes) > 0 {
		t.Fatal(notes, err)
	}
	b, _, err := makeFolder([]string{tmp}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{a.base, a.dir, b.dir} {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", dir, info.Mode(), err)
		}
	}
	if err := a.remove(); err != nil || exists(a.dir) || !exists(b.dir) {
		t.Errorf("the first: %v", err)
	}
	if err := b.remove(); err != nil || exists(baseOf(tmp)) {
		t.Errorf("the last: %v", err)
	}
}

func TestSweepLeavesWhatIsLockedOrNotOurs(t *testing.T) {
	tmp := shortTemp(t)
	live, _, err := makeFolder([]string{tmp}, nil)
	if err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(tmp, "outside")
	stale := filepath.Join(live.base, "pgaaaaaaaa")
	others := []string{filepath.Join(live.base, "notes"), filepath.Join(live.base, "pgaaaaaaaa.old")}
	for _, dir := range append(others, filepath.Join(stale, "data"), outside) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(live.base, "pgbbbbbbbb")
	if err := os.Symlink(outside, link); err != nil {
		t.Fatal(err)
	}
	sweepFolders(live.base)
	if exists(stale) {
		t.Error("the leftover is still there")
	}
	for _, dir := range append(others, live.dir, outside, link) {
		if !exists(dir) {
			t.Errorf("%s was removed", dir)
		}
	}
}

// A base that somebody else could have made, or could write to, must not be used: they would own the database.
func TestBaseMustBeOursAlone(t *testing.T) {
	for name, spoil := range map[string]func(base string) error{
		"a link":         func(base string) error { return os.Symlink(t.TempDir(), base) },
		"a file":         func(base string) error { return os.WriteFile(base, nil, 0o600) },
		"group-writable": func(base string) error { return os.Chmod(mkdir(t, base), 0o770) },
		"of another user": func(base string) error {
			if os.Geteuid() != 0 {
				t.Log("only root can give a folder away; run as root too")
				return os.Chmod(mkdir(t, base), 0o777)
			}
			return os.Chown(mkdir(t, base), 65534, 65534)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bad, good := shortTemp(t), shortTemp(t)
			if err := spoil(baseOf(bad)); err != nil {
				t.Fatal(err)
			}
			f, notes, err := makeFolder([]string{bad, good}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = f.remove() }()
			if f.base != baseOf(good) || len(notes) != 1 || !strings.Contains(notes[0], baseOf(bad)) {
				t.Errorf("got %s, notes %q", f.base, notes)
			}
			if _, _, err := makeFolder([]string{bad}, nil); err == nil || !strings.Contains(err.Error(), "TMPDIR") {
				t.Errorf("with no other choice: %v", err)
			}
		})
	}
}

func mkdir(t *testing.T, dir string) string {
	t.Helper()
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestFolderRemovedBetweenOpeningAndLocking(t *testing.T) {
	dir := mkdir(t, filepath.Join(shortTemp(t), "d"))
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := lockOpened(f, dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("removed: %v", err)
	}
	mkdir(t, dir)
	if err := lockOpened(f, dir); err == nil {
		t.Error("another folder of the same name passes for the one that is locked")
	}
}

// Starts, ends and sweeps of many runs in one base: nobody loses a folder that is in use, and nothing stays.
func TestFoldersOfRunsAtOnce(t *testing.T) {
	tmp := shortTemp(t)
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			for range 30 {
				f, _, err := makeFolder([]string{tmp}, nil)
				if err != nil {
					t.Error(err)
					return
				}
				if err := os.Mkdir(f.data(), 0o700); err != nil {
					t.Errorf("a folder in use was removed: %v", err)
				}
				sweepFolders(f.base)
				if !exists(f.data()) {
					t.Error("a folder in use was swept")
				}
				if err := f.remove(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if exists(baseOf(tmp)) {
		t.Error("the base is still there")
	}
}

func TestSuitable(t *testing.T) {
	long := filepath.Join(shortTemp(t), strings.Repeat("x", 90))
	for tmp, want := range map[string]string{
		"relative":     "absolute",
		"/tmp/a,b":     `','`,
		`/tmp/a"b`:     `'"'`,
		mkdir(t, long): "107",
		"/nonexistent": "no such file",
		"/dev/null":    "not a folder",
	} {
		if err := suitable(tmp, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", tmp, err, want)
		}
	}
	if err := suitable("/tmp", nil); err != nil {
		t.Error(err)
	}
	closed := mkdir(t, filepath.Join(shortTemp(t), "closed"))
	stranger := &account{Name: "stranger", UID: 4_000_000, GID: 4_000_000}
	if err := suitable(closed, stranger); err == nil || !strings.Contains(err.Error(), "stranger") {
		t.Errorf("a folder that the account cannot enter: %v", err)
	}
	if got := strings.Join(tmpFolders(environ{"TMPDIR=/x/"}), " "); got != "/x /var/tmp /tmp" {
		t.Errorf("order: %s", got)
	}
}
