//go:build unix

package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	embeddedpostgres "github.com/fergusstrange/embedded-postgres"
)

// fetch downloads and unpacks in the supervisor's process: the library that does it knows no context, leaves a file in
// the temporary folder, and panics or exits where it does not know how to go on. A process can be ended.
func (v *supervisor) fetch(ctx context.Context, o *fetchOrder) (code int) {
	// What is unpacked must be readable for the account that root's servers run as, whatever root's umask is.
	syscall.Umask(0o022)
	if err := os.MkdirAll(o.Into, 0o755); err != nil {
		return v.fail(err)
	}
	if as, err := serverAccount(os.Geteuid()); err == nil && as != nil {
		if err := passable(o.Into, as); err != nil {
			return v.fail(fmt.Errorf("%w: set XDG_CACHE_HOME", err))
		}
	}
	sweepStaging(o.Into)
	stage := filepath.Join(o.Into, "tmp-"+strings.ToLower(rand.Text()[:8]))
	if err := os.Mkdir(stage, 0o755); err != nil {
		return v.fail(err)
	}
	lock, err := lockFolder(stage)
	if err != nil {
		return v.fail(err)
	}
	defer func() {
		err := os.RemoveAll(stage)
		_ = lock.Close()
		if err != nil {
			code = v.fail(err)
		}
	}()
	unpacked := make(chan error, 1)
	go func() { unpacked <- unpack(o, stage) }()
	select {
	case <-ctx.Done():
		return 0 // the process ends, and with it the download
	case err = <-unpacked:
	}
	if err != nil {
		return v.fail(err)
	}
	final := filepath.Join(o.Into, "postgres-"+o.Version)
	if err := os.Rename(filepath.Join(stage, "pg"), final); err != nil && !errors.Is(err, fs.ErrExist) {
		return v.fail(err) // ErrExist: another run was faster, and has the same
	}
	bin := filepath.Join(final, "bin")
	if !hasServer(bin) {
		return v.fail(fmt.Errorf("the archive holds no initdb and postgres (in %s)", bin))
	}
	v.tell(event{Kind: evDone, Dir: bin})
	return 0
}

// unpack makes stage/pg. The library has no call for it, only Start, which downloads, unpacks, and then wants to run a
// server. It is stopped right after unpacking by a data folder that it cannot clean: Go's RemoveAll refuses a path that
// ends in a dot. That one error therefore is success.
func unpack(o *fetchOrder, stage string) error {
	if err := os.Setenv("TMPDIR", stage); err != nil { // the library's log goes there; nobody else is in this process
		return err
	}
	err := embeddedpostgres.NewDatabase(embeddedpostgres.DefaultConfig().
		Version(embeddedpostgres.PostgresVersion(o.Version)).
		BinaryRepositoryURL(o.Repo).
		CachePath(filepath.Join(stage, "archive")).
		RuntimePath(filepath.Join(stage, "run")).
		BinariesPath(filepath.Join(stage, "pg")).
		DataPath(stage + "/data/.").
		Port(0). // any: it looks whether the port is free
		Logger(io.Discard)).
		Start()
	if err == nil || strings.HasPrefix(err.Error(), "unable to clean up data directory") {
		return nil
	}
	return err
}

// sweepStaging removes what downloads that were killed left behind.
func sweepStaging(cache string) {
	dirs, _ := filepath.Glob(filepath.Join(cache, "tmp-????????")) // fails on malformed patterns only
	for _, dir := range dirs {
		if lock, err := lockFolder(dir); err == nil {
			_ = os.RemoveAll(dir)
			_ = lock.Close()
		}
	}
}
