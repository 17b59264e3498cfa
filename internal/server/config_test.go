package server

import (
	"strings"
	"testing"
)

func TestForeignConfigPutsOursOnTop(t *testing.T) {
	cfg, err := foreignConfig(source{SourceFlag, "postgres://u:pw@db.example:6000/d?application_name=x&search_path=public&pool_max_conns=9" +
		"&options=-c%20search_path%3Devil&hostaddr=192.0.2.7&sslmode=disable"})
	if err != nil {
		t.Fatal(err)
	}
	p := cfg.RuntimeParams
	if p["application_name"] != "idemlab" || p["search_path"] != "pg_catalog" {
		t.Errorf("ours is not on top: %v", p)
	}
	if p["options"] == "" {
		t.Error("options were dropped: some services route by them")
	}
	for _, name := range []string{"pool_max_conns", "hostaddr"} {
		if _, ok := p[name]; ok {
			t.Errorf("%s would be sent to the server, which would refuse the connection", name)
		}
	}
	if addrs, err := cfg.LookupFunc(t.Context(), cfg.Host); err != nil || len(addrs) != 1 || addrs[0] != "192.0.2.7" || cfg.Host != "db.example" {
		t.Errorf("hostaddr: connects to %v as %s, %v", addrs, cfg.Host, err)
	}
	if cfg.ConnectTimeout != connectTimeout {
		t.Errorf("no limit on connecting: %v", cfg.ConnectTimeout)
	}
	if got := place(cfg); got != "user u, database d at db.example:6000" {
		t.Errorf("place: %q", got)
	}
}

// A connection string that cannot be read is never shown, in whole or in part, when it may hold a password.
func TestUnreadableStringsKeepTheirSecret(t *testing.T) {
	for _, dsn := range []string{
		"postgres://u:s3cr3t@h:notaport/d",
		"postgres://u:s3cr3t/x@h/d",
		"postgres://u:p@ss:s3cr3t@h/d",
		"postgres://u:s3cr3t@h/d?sslmode=nonsense",
		"host=h password=two s3cr3t words",
		"host=h password='s3cr3t",
		"host=h password=x port=s3cr3t",
		"postgresql+psycopg2://u:s3cr3t@h/d?a=b",
		"mysql://u:s3cr3t@h/d",
		"u:s3cr3t@h/d",
		"u:s3cr3t words@h/d?a=b",
		"s3cr3tpass word",
		"postgres://u:s3cr3t@h/d?hostaddr=example.com",
	} {
		_, err := foreignConfig(source{SourceDatabaseURL, dsn})
		if err == nil {
			t.Errorf("%s: no error", dsn)
			continue
		}
		if msg := err.Error(); strings.Contains(msg, "s3cr3t") || !strings.Contains(msg, "DATABASE_URL") || !IsUsage(err) {
			t.Errorf("%s: %v", dsn, err)
		}
	}
	_, err := foreignConfig(source{SourceFlag, "host=h port=nonsense"})
	if err == nil || !strings.Contains(err.Error(), "port") {
		t.Errorf("nothing secret in it, yet no reason is given: %v", err)
	}
}

func TestConnectionBudget(t *testing.T) {
	for _, c := range []struct {
		facts connectionFacts
		want  int
		bound string
	}{
		{connectionFacts{max: 100, reserved: 3, used: 10, roleLimit: -1, databaseLimit: -1}, 87, "max_connections is 100, 3 of them reserved, 10 in use"},
		{connectionFacts{max: 100, roleLimit: 20, roleUsed: 5, databaseLimit: -1}, 15, "role's CONNECTION LIMIT is 20, 5 in use"},
		{connectionFacts{max: 100, roleLimit: 20, databaseLimit: 9, databaseUsed: 2}, 7, "database's CONNECTION LIMIT is 9, 2 in use"},
		{connectionFacts{max: 5, reserved: 3, used: 9, roleLimit: -1, databaseLimit: -1}, 0, ""},
	} {
		f := &facts{connections: c.facts}
		if err := f.enough(c.want, source{}); err != nil {
			t.Errorf("%+v: %v", c.facts, err)
		}
		err := f.enough(c.want+3, source{})
		if err == nil || !strings.Contains(err.Error(), c.bound) || !strings.Contains(err.Error(), "3 fewer") {
			t.Errorf("%+v: got %v", c.facts, err)
		}
	}
}

func TestErrorLine(t *testing.T) {
	if (&DDLError{Line: 0, Err: errWhole{}}).Error() != "creating the tables failed: whole" {
		t.Error("an error without a place invents one")
	}
}

type errWhole struct{}

func (errWhole) Error() string { return "whole" }
