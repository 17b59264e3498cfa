package cmd

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Whoever types what is printed gets the same service again, and whoever reads it over a shoulder gets no password.
func TestAnotherServiceIsTheSameOne(t *testing.T) {
	for typed, want := range map[string]string{
		"": "",
		"--log --keep --grace 1s --isolation read-committed --pool 10": "",
		"--acquirer http://127.0.0.1:8081":                             " --acquirer http://127.0.0.1:8081",
		"--acquirer smtp://127.0.0.1:8025":                             " --acquirer smtp://127.0.0.1:8025",
		"--acquirer http://127.0.0.1:8081/TOKEN":                       " --acquirer …",
		"--acquirer smtp://TOKEN@127.0.0.1:8025":                       " --acquirer …",
		"--lease 300ms --pool 3 --key-syntax strict":                   " --lease 300ms --key-syntax strict --pool 3",
		"--acquirer-latency uniform:20ms,80ms --acquirer-dedup":        " --acquirer-latency uniform:20ms,80ms --acquirer-dedup",
		"--dsn postgres://ana@db.example/lab?sslmode=require":          " --dsn 'postgres://ana@db.example/lab?sslmode=require'",
		"--dsn postgres://ana:TOKEN@db.example/lab":                    " --dsn …",
		"--dsn postgres://db.example/lab?password=TOKEN":               " --dsn …",
		"--dsn postgres://db.example/lab?p%61ssword=TOKEN":             " --dsn …",
		"--dsn postgres://ana:TOKEN@one:1,two:2/lab":                   " --dsn …",
	} {
		if got := anotherOf(t, strings.Fields(typed)...); got != "idemlab serve --strategy=lease-takeover"+want+" --tables T --listen 127.0.0.1:0" {
			t.Errorf("%s:\n%s", typed, got)
		}
	}
	for dsn, want := range map[string]string{
		"host=db.example dbname=lab":           " --dsn 'host=db.example dbname=lab' ",
		"host=db.example PassWord = TOKEN":     " --dsn … ",
		`host=db.example dbname='it''s $HOME'`: ` --dsn 'host=db.example dbname='\''it'\'''\''s $HOME'\''' `,
	} {
		if got := anotherOf(t, "--dsn", dsn, "--isolation", "repeatable read"); !strings.Contains(got, want) || !strings.Contains(got, " --isolation repeatable-read ") {
			t.Errorf("%s:\n%s", dsn, got)
		}
	}
}

func anotherOf(t *testing.T, args ...string) string {
	t.Helper()
	var f serveFlags
	c := &cobra.Command{}
	f.add(c)
	if err := c.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return another("lease-takeover", "T", c.Flags())
}
