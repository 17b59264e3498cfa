package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// plant makes files below root: programs, or links when the name holds "->".
func plant(t *testing.T, root string, files ...string) {
	t.Helper()
	for _, f := range files {
		name, target, link := strings.Cut(f, " -> ")
		path := filepath.Join(root, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil && link {
			err = os.Symlink(target, path)
		} else if err == nil {
			err = os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestInstalledBinaries(t *testing.T) {
	both := func(dir string) []string { return []string{dir + "/initdb", dir + "/postgres"} }
	for _, c := range []struct {
		name  string
		files []string
		path  string
		want  string
	}{
		{"nothing", nil, "/usr/bin", ""},
		{"half of it", []string{"/usr/bin/initdb"}, "/usr/bin", ""},
		{"PATH before packages", append(both("/opt/pg/bin"), both("/usr/lib/postgresql/17/bin")...), "/usr/bin:/opt/pg/bin", "/opt/pg/bin"},
		{"the first in PATH", append(both("/a"), both("/b")...), "/b:/a", "/b"},
		{"a link in PATH leads to the real folder", append(both("/opt/pg/bin"),
			"/usr/bin/initdb -> ../../opt/pg/bin/initdb"), "/usr/bin", "/opt/pg/bin"},
		{"a relative PATH does not count", both("/usr/bin"), "usr/bin:.", ""},
		{"the highest major, as a number", append(both("/usr/lib/postgresql/9.6/bin"), append(both("/usr/lib/postgresql/10/bin"), both("/usr/lib/postgresql/15/bin")...)...),
			"", "/usr/lib/postgresql/15/bin"},
		{"across packagers", append(both("/usr/lib/postgresql/15/bin"), both("/usr/pgsql-17/bin")...), "", "/usr/pgsql-17/bin"},
		{"Homebrew", both("/opt/homebrew/opt/postgresql@16/bin"), "", "/opt/homebrew/opt/postgresql@16/bin"},
		{"Postgres.app", both("/Applications/Postgres.app/Contents/Versions/17/bin"), "", "/Applications/Postgres.app/Contents/Versions/17/bin"},
		{"Alpine", both("/usr/libexec/postgresql17"), "", "/usr/libexec/postgresql17"},
		{"an incomplete higher one is passed over", append(both("/usr/lib/postgresql/15/bin"), "/usr/lib/postgresql/17/bin/initdb"), "", "/usr/lib/postgresql/15/bin"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			plant(t, root, c.files...)
			got := strings.TrimPrefix(installedBinaries(root, environ{"PATH=" + c.path}), root)
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestGivenBinaries(t *testing.T) {
	dir := t.TempDir()
	if _, err := givenBinaries("--pg-bin", dir); !IsUsage(err) || !strings.Contains(err.Error(), "--pg-bin "+dir) {
		t.Errorf("an empty folder: %v", err)
	}
	plant(t, dir, "initdb", "postgres")
	if got, err := givenBinaries("--pg-bin", dir); err != nil || got != dir {
		t.Errorf("got %q, %v", got, err)
	}
	if err := os.Chmod(filepath.Join(dir, "postgres"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := givenBinaries("--pg-bin", dir); !IsUsage(err) {
		t.Errorf("postgres cannot be run, yet: %v", err)
	}
}
