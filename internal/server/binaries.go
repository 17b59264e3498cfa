package server

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// givenBinaries checks a folder that was named. What was named and does not fit is an error: any other PostgreSQL
// would not be the one that was meant.
func givenBinaries(name, dir string) (string, error) {
	if !hasServer(dir) {
		return "", usagef("%s %s: no initdb and postgres that can be run in this folder; it is the one with the programs, "+
			"for example /usr/lib/postgresql/17/bin", name, dir)
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return abs, nil
}

// installedBinaries looks for initdb and postgres: in PATH, then where packages put them, the highest major version
// first. root is "/" but in tests. It returns "" when there are none.
func installedBinaries(root string, env environ) string {
	for _, dir := range filepath.SplitList(env.get("PATH")) {
		if !filepath.IsAbs(dir) {
			continue // a folder that depends on where one stands is not an installation
		}
		// A link may stand alone in the PATH: the programs need each other, and lie where it leads to.
		real, err := filepath.EvalSymlinks(filepath.Join(root, dir, "initdb"))
		if err == nil && hasServer(filepath.Dir(real)) {
			return filepath.Dir(real)
		}
	}
	var found []string
	for _, pattern := range packageFolders() {
		dirs, _ := filepath.Glob(filepath.Join(root, pattern)) // fails on malformed patterns only
		for _, dir := range dirs {
			if hasServer(dir) {
				found = append(found, dir)
			}
		}
	}
	if len(found) == 0 {
		return ""
	}
	// The first of the highest: the order of packageFolders decides among equals.
	return slices.MaxFunc(found, func(a, b string) int {
		return cmp.Compare(majorOf(strings.TrimPrefix(a, root)), majorOf(strings.TrimPrefix(b, root)))
	})
}

// packageFolders are where servers are installed outside the PATH.
func packageFolders() []string {
	return []string{
		"/usr/lib/postgresql/*/bin",                               // Debian, Ubuntu
		"/usr/pgsql-*/bin",                                        // the PostgreSQL project's RPMs
		"/usr/libexec/postgresql*",                                // Alpine
		"/opt/homebrew/opt/postgresql@*/bin",                      // Homebrew, Apple silicon
		"/usr/local/opt/postgresql@*/bin",                         // Homebrew, Intel
		"/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin",         // Homebrew, Linux
		"/Applications/Postgres.app/Contents/Versions/[0-9]*/bin", // Postgres.app
	}
}

// majorOf reads the version from a folder's name: the last number in the path.
func majorOf(dir string) int {
	numbers := regexp.MustCompile(`\d+`).FindAllString(dir, -1)
	if len(numbers) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(numbers[len(numbers)-1]) // digits; a number too large for an int is no version
	return n
}

// hasServer tells whether dir holds what it takes to run a server.
func hasServer(dir string) bool {
	for _, name := range []string{"initdb", "postgres"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || !info.Mode().IsRegular() || runtime.GOOS != "windows" && info.Mode().Perm()&0o111 == 0 {
			return false
		}
	}
	return true
}
