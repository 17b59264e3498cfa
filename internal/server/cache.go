//go:build unix

package server

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"
)

// cacheFolder is where downloaded binaries are kept: the user's cache folder, as os.UserCacheDir has it. Root's home
// is closed to the account that its servers run as, so root's is the system's.
func cacheFolder(env environ, goos string, euid int) (string, error) {
	xdg, home := env.get("XDG_CACHE_HOME"), env.get("HOME")
	switch {
	case goos == "darwin" && home != "":
		return filepath.Join(home, "Library", "Caches", "idemlab"), nil
	case filepath.IsAbs(xdg):
		return filepath.Join(xdg, "idemlab"), nil
	case euid == 0:
		return "/var/cache/idemlab", nil
	case home != "":
		return filepath.Join(home, ".cache", "idemlab"), nil
	}
	return "", errors.New("neither XDG_CACHE_HOME nor HOME says where a downloaded one could be kept")
}

// cachedBinaries returns the newest PostgreSQL that was downloaded earlier, "" when there is none. A folder gets its
// name only once it is complete.
func cachedBinaries(cache string) string {
	dirs, _ := filepath.Glob(filepath.Join(cache, "postgres-*", "bin")) // fails on malformed patterns only
	dirs = slices.DeleteFunc(dirs, func(dir string) bool { return !hasServer(dir) })
	if len(dirs) == 0 {
		return ""
	}
	return slices.MaxFunc(dirs, func(a, b string) int { return cmp.Compare(cachedMajor(a), cachedMajor(b)) })
}

func cachedMajor(bin string) int {
	n := 0
	for _, r := range filepath.Base(filepath.Dir(bin))[len("postgres-"):] {
		if r < '0' || r > '9' {
			break
		}
		n = 10*n + int(r-'0')
	}
	return n
}
