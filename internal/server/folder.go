//go:build unix

package server

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
)

// folder is the place of one server: <tmp>/idemlab-<uid>/pg<8 characters>, with the data, the socket and the log.
//
// lock is an flock on the folder itself. The supervisor hands the descriptor on to initdb and postgres, and an
// flock lasts until the last copy of its descriptor is closed: it is free exactly when no process is left that
// could still write into the folder, whoever was killed and in whatever order.
type folder struct {
	base, dir string
	lock      *os.File
}

func (f *folder) data() string { return filepath.Join(f.dir, "data") }
func (f *folder) log() string  { return filepath.Join(f.dir, "log") }

// makeFolder makes a folder below the first of the given ones that will do, and sweeps its neighbours. notes say
// why a better one would not do; when none does, they are the error.
func makeFolder(tmps []string, owner *account) (f *folder, notes []string, err error) {
	for _, tmp := range tmps {
		f, err := makeFolderIn(tmp, owner)
		if err == nil {
			sweepFolders(f.base)
			return f, notes, nil
		}
		notes = append(notes, fmt.Sprintf("folder %s will not do: %v", tmp, err))
	}
	return nil, nil, fmt.Errorf("no folder for the server:\n  %s\n  set TMPDIR to one that has room and a short path",
		strings.Join(notes, "\n  "))
}

// makeFolderIn makes base and folder. Another run may remove the base (as the last one out) or take our folder for a
// leftover in the moment before it is locked; both are noticed, and it is tried again.
func makeFolderIn(tmp string, owner *account) (*folder, error) {
	if err := suitable(tmp, owner); err != nil {
		return nil, err
	}
	for range 20 {
		base := filepath.Join(tmp, fmt.Sprintf("idemlab-%d", os.Geteuid()))
		if err := makeBase(base, owner); err != nil {
			return nil, err
		}
		f := &folder{base: base, dir: filepath.Join(base, "pg"+strings.ToLower(rand.Text()[:8]))}
		if err := os.Mkdir(f.dir, 0o700); errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		lock, err := lockFolder(f.dir)
		if err != nil {
			continue
		}
		f.lock = lock
		if owner != nil {
			if err := lock.Chown(int(owner.UID), int(owner.GID)); err != nil {
				return nil, errors.Join(err, f.remove())
			}
		}
		return f, nil
	}
	return nil, errors.New("other runs kept removing it")
}

// makeBase makes sure that base is a folder of ours which nobody else can write to. In a folder that everybody can
// write to, such as /tmp, the name may have been taken by somebody who would like to be handed a database.
func makeBase(base string, owner *account) error {
	mode := fs.FileMode(0o700)
	if owner != nil {
		mode = 0o711 // the account that postgres runs as passes through, and cannot look around
	}
	err := os.Mkdir(base, mode)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed again meanwhile: the caller's next step notices
	}
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || int(st.Uid) != os.Geteuid() || info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s is not a folder that is ours alone (%s): remove it, or set TMPDIR", base, info.Mode())
	}
	if info.Mode().Perm() != mode { // the umask, or a start as another kind of user
		return os.Chmod(base, mode)
	}
	return nil
}

// lockFolder opens dir and locks it without waiting. It fails when somebody else has the lock.
func lockFolder(dir string) (*os.File, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if err := lockOpened(f, dir); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// lockOpened fails also when dir, by the time it is locked, is no longer what its name leads to: between the opening and
// the locking another run can have locked it, removed it, and let go.
func lockOpened(f *os.File, dir string) error {
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("locking %s: %w", dir, err)
	}
	held, err1 := f.Stat()
	named, err2 := os.Lstat(dir)
	if err := errors.Join(err1, err2); err != nil || !os.SameFile(held, named) {
		return errors.Join(fmt.Errorf("%s was removed meanwhile", dir), err)
	}
	return nil
}

// remove removes the folder, lets go of the lock, and removes the base if this was the last folder in it.
func (f *folder) remove() error {
	err := os.RemoveAll(f.dir)
	_ = f.lock.Close()
	_ = os.Remove(f.base) // fails while another run is in it, as it should
	return err
}

// sweepFolders removes the folders below base whose processes are all gone. What has another name is not ours.
func sweepFolders(base string) {
	entries, err := os.ReadDir(base)
	if err != nil {
		return // the sweep is a courtesy
	}
	ours := regexp.MustCompile(`^pg[a-z2-7]{8}$`)
	for _, e := range entries {
		if !e.IsDir() || !ours.MatchString(e.Name()) {
			continue
		}
		dir := filepath.Join(base, e.Name())
		if lock, err := lockFolder(dir); err == nil {
			_ = os.RemoveAll(dir)
			_ = lock.Close()
		}
	}
}
