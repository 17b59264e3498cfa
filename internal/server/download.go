//go:build unix

package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strings"
	"time"

	embeddedpostgres "github.com/fergusstrange/embedded-postgres"
)

// mavenCentral holds the archives of the project zonkyio/embedded-postgres-binaries.
const mavenCentral = "https://repo1.maven.org/maven2"

const (
	askLimit      = 30 * time.Second // for an answer to "is it there"
	downloadLimit = 10 * time.Minute // for the whole: some 15 MB
)

// download fetches and unpacks PostgreSQL's programs into the cache and returns the folder with them. What is about to be
// loaded, from where, how large and where to, is said before it begins. An archive without a published checksum
// is refused; a wrong checksum is noticed by the library.
func download(ctx context.Context, cache string, env environ, say func(string, ...any)) (string, error) {
	version := string(embeddedpostgres.V18)
	repo := strings.TrimSuffix(env.get("IDEMLAB_PG_REPO"), "/")
	if repo == "" {
		repo = mavenCentral
	}
	base, err := url.Parse(repo)
	if err != nil || base.Host == "" {
		return "", usagef("IDEMLAB_PG_REPO must be a URL such as %s", mavenCentral)
	}
	ctx, cancel := context.WithTimeout(ctx, downloadLimit)
	defer cancel()
	_, alpine := os.Stat("/etc/alpine-release")
	archive := repo + archivePath(version, archivePlatform(runtime.GOOS, runtime.GOARCH, alpine == nil))
	shown := strings.Replace(archive, repo, base.Redacted(), 1)
	size, err := published(ctx, archive)
	if err == nil {
		_, err = published(ctx, archive+".sha256")
	}
	if err != nil {
		return "", fmt.Errorf("downloading one failed: %s: %w", shown, err)
	}
	say("server: no PostgreSQL found: downloading %s (%s) to %s; IDEMLAB_NO_DOWNLOAD=1 forbids it", shown, megabytes(size), cache)
	h, err := startHelper(order{Fetch: &fetchOrder{Version: version, Repo: repo, Into: cache}})
	if err != nil {
		return "", err
	}
	last, _, err := h.await(ctx)
	if err = errors.Join(err, h.stop(ctx)); err != nil {
		// The library names the repository as it was given, with a password if it has one.
		password, _ := base.User.Password()
		return "", fmt.Errorf("downloading one failed: %s: %s", shown, redact(err.Error(), password))
	}
	return last.Dir, nil
}

// published asks for a file without loading it, and returns its size in bytes, -1 when the server does not say.
func published(ctx context.Context, file string) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, file, nil)
	if err != nil {
		return 0, errors.New("not a usable address")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		var u *url.Error // names the address again, with a password if it has one
		if errors.As(err, &u) {
			err = u.Err
		}
		return 0, err
	}
	_ = resp.Body.Close() // a HEAD has none
	if resp.StatusCode != http.StatusOK {
		what := "the archive"
		if strings.HasSuffix(file, ".sha256") {
			what = "its checksum, without which it is not used"
		}
		return 0, fmt.Errorf("the server answers %q for %s", resp.Status, what)
	}
	return resp.ContentLength, nil
}

// archivePath is where a Maven repository keeps an archive.
func archivePath(version, platform string) string {
	name := "embedded-postgres-binaries-" + platform
	return fmt.Sprintf("/io/zonky/test/postgres/%[1]s/%[2]s/%[1]s-%[2]s.jar", name, version)
}

// archivePlatform spells system and processor as the archives do.
// Source: defaultVersionStrategy in embedded-postgres v1.34.0.
func archivePlatform(goos, arch string, alpine bool) string {
	if arch == "arm64" {
		arch = "arm64v8"
	}
	if goos == "linux" && alpine {
		arch += "-alpine"
	}
	return goos + "-" + arch
}

func megabytes(n int64) string {
	if n < 0 {
		return "size unknown"
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}
