//go:build unix

package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
)

// binaries finds the folder with initdb and postgres, and downloads one when there is none.
func binaries(ctx context.Context, o Options) (string, error) { return binariesBelow(ctx, "/", o) }

// binariesBelow takes root for the root of the file system, so that tests can hide what this machine has.
func binariesBelow(ctx context.Context, root string, o Options) (string, error) {
	env := environ(o.Environ)
	if o.PGBin != "" {
		return givenBinaries("--pg-bin", o.PGBin)
	}
	if dir := env.get("IDEMLAB_PG_BIN"); dir != "" {
		return givenBinaries("IDEMLAB_PG_BIN", dir)
	}
	if dir := installedBinaries(root, env); dir != "" {
		return dir, nil
	}
	cache, err := cacheFolder(env, runtime.GOOS, os.Geteuid())
	if err != nil {
		return "", noBinaries(err)
	}
	if dir := cachedBinaries(cache); dir != "" {
		return dir, nil
	}
	if env.on("IDEMLAB_NO_DOWNLOAD") {
		return "", noBinaries(errors.New("IDEMLAB_NO_DOWNLOAD is set, so none was downloaded"))
	}
	dir, err := download(ctx, cache, env, o.Say)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return "", noBinaries(err)
	}
	return dir, nil
}

// noBinaries names every way out.
func noBinaries(err error) error {
	return fmt.Errorf("there is no PostgreSQL on this machine that the lab could start (looked in PATH and where packages put it), and %w\n"+
		"  install one:           %s\n"+
		"  or say where one is:   --pg-bin FOLDER (the one with initdb and postgres)\n"+
		"  or use a running one:  --dsn postgres://user@host/database", err, InstallCommand())
}

// InstallCommand is what a person types to install a PostgreSQL that the lab finds.
func InstallCommand() string {
	for _, s := range []struct{ sign, command string }{
		{"/etc/debian_version", "sudo apt-get install postgresql"},
		{"/etc/alpine-release", "sudo apk add postgresql"},
		{"/etc/arch-release", "sudo pacman -S postgresql"},
		{"/etc/redhat-release", "sudo dnf install postgresql-server"},
	} {
		if _, err := os.Stat(s.sign); err == nil {
			return s.command
		}
	}
	if runtime.GOOS == "darwin" {
		return "brew install postgresql@17"
	}
	return "your system's package postgresql-server, or https://www.postgresql.org/download/"
}
