package spec

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"idemlab/internal/server/servertest"
)

// tester finds PostgreSQL's own isolationtester, which is the judge of what we print.
func tester(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("IDEMLAB_ISOLATIONTESTER"); path != "" {
		return path
	}
	var found []string
	for _, lib := range []string{"/usr/lib/postgresql/*/lib", "/usr/pgsql-*/lib", "/opt/homebrew/opt/postgresql*/lib/postgresql", "/usr/local/opt/postgresql*/lib/postgresql"} {
		more, err := filepath.Glob(filepath.Join(lib, "pgxs/src/test/isolation/isolationtester"))
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, more...)
	}
	if len(found) == 0 {
		t.Fatal("these tests compare with PostgreSQL's isolationtester, which is not there\n" +
			"  to install it: apt-get install postgresql-client-15\n" +
			"  or name it: IDEMLAB_ISOLATIONTESTER=/path/to/isolationtester")
	}
	return found[len(found)-1]
}

// theirs is what isolationtester prints to stdout.
func theirs(t *testing.T, name, text string, env ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, tester(t), servertest.Server(t).DSN())
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "PG") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(append(cmd.Env, "PGAPPNAME=isolation/"+name, "LC_ALL=C"), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(text), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Errorf("isolationtester: %v\n%s", err, &stderr)
	}
	if stderr.Len() > 0 {
		t.Logf("isolationtester's stderr: %s", &stderr)
	}
	return stdout.String()
}

func files(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.spec")
	if err != nil || len(paths) == 0 {
		t.Fatal("no specs in testdata: ", err)
	}
	texts := map[string]string{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[strings.TrimSuffix(filepath.Base(path), ".spec")] = string(text)
	}
	return texts
}

// limitOf is the limit that isolationtester says it had. Newer ones double what they are told.
func limitOf(t *testing.T, output string) time.Duration {
	found := regexp.MustCompile(`canceling step .* after (\d+) seconds`).FindStringSubmatch(output)
	if found == nil {
		return time.Hour // it came to no limit, and neither may we
	}
	d, err := time.ParseDuration(found[1] + "s")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// The same file, run by both on the same server, prints the same bytes.
func TestPrintsWhatIsolationtesterPrints(t *testing.T) {
	for name, text := range files(t) {
		t.Run(name, func(t *testing.T) {
			s, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			// isolationtester's limit is cut to a second, so that what cannot happen ends at all; ours is only printed.
			want := theirs(t, name, text, "PGISOLATIONTIMEOUT=1", "PG_TEST_TIMEOUT_DEFAULT=1")
			var got bytes.Buffer
			r, err := Run(t.Context(), servertest.Schema(t, "").Config(), s,
				Options{Name: name, Output: &got, Impossible: Cancel, Limit: limitOf(t, want)})
			if err != nil {
				t.Error(err)
			}
			for _, w := range r.Warnings {
				t.Log(w)
			}
			if got.String() != want {
				t.Errorf("ours:\n%s\nisolationtester's:\n%s", &got, want)
			}
		})
	}
}
