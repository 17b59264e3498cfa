package server

import (
	"strings"
	"testing"
)

func TestChooseSource(t *testing.T) {
	all := []string{"IDEMLAB_DSN=b", "DATABASE_URL=c", "PGHOST=h"}
	for _, c := range []struct {
		name, flag string
		env        []string
		want       source
	}{
		{"the flag before everything", "a", all, source{SourceFlag, "a"}},
		{"then our own variable", "", all, source{SourceEnv, "b"}},
		{"then the common one", "", all[1:], source{SourceDatabaseURL, "c"}},
		{"then a place in PG*", "", all[2:], source{SourcePG, "host='h'"}},
		{"an empty variable is not given", "", []string{"IDEMLAB_DSN=", "DATABASE_URL=", "PGHOST="}, source{name: SourceEmbedded}},
		{"the last of two settings counts", "", []string{"DATABASE_URL=c", "DATABASE_URL="}, source{name: SourceEmbedded}},
		{"a port is a place", "", []string{"PGPORT=5433"}, source{SourcePG, "port='5433'"}},
		{"an address is a place", "", []string{"PGHOSTADDR=::1"}, source{SourcePG, "hostaddr='::1'"}},
		{"a service is a place", "", []string{"PGSERVICE=it's"}, source{SourcePG, `service='it\'s'`}},
		{"who connects is no place", "", []string{"PGUSER=u", "PGPASSWORD=p", "PGDATABASE=d"}, source{name: SourceEmbedded}},
		{"nothing", "", nil, source{name: SourceEmbedded}},
	} {
		if got := chooseSource(c.flag, c.env); got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
}

// What only a server of our own could honour must not be ignored in silence.
func TestCheckOptions(t *testing.T) {
	url := []string{"DATABASE_URL=postgres://h/d"}
	for _, c := range []struct {
		o    Options
		want string // part of the error; "" for none
	}{
		{Options{Settings: []string{"a=b"}, Environ: url}, "--pg-set"},
		{Options{Fast: true, DSN: "host=h"}, "leave out --dsn"},
		{Options{PGBin: "/x", Environ: url}, "unset DATABASE_URL"},
		{Options{Fast: true, Environ: []string{"PGHOST=h"}}, "unset PGHOST"},
		{Options{Connections: -1}, "-1 connections"},
		{Options{Connections: 100_001}, "100001 connections"},
		{Options{Settings: []string{"port=1"}}, "the lab sets this itself"},
		{Options{Settings: []string{"a=b"}, Fast: true, PGBin: "/x"}, ""},
		{Options{Environ: append(url, "IDEMLAB_PG_BIN=/x")}, ""},
	} {
		err := checkOptions(c.o, chooseSource(c.o.DSN, c.o.Environ))
		if c.want == "" && err != nil || c.want != "" && (!IsUsage(err) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: got %v, want a usage error with %q", c.o, err, c.want)
		}
	}
}

func TestParseSettings(t *testing.T) {
	for _, bad := range []string{"", "x", "=1", "1a=2", "a b=c", "a-b=c", "Listen_Addresses=*", "unix_socket_permissions=0777",
		"include=/etc/x", "work_mem=1\nlisten_addresses=*", "a=\x00"} {
		if _, err := parseSettings([]string{bad}); !IsUsage(err) {
			t.Errorf("%q: got %v, want a usage error", bad, err)
		}
	}
	got := embeddedConf(5, true, []setting{{"work_mem", `it's\`}})
	want := "max_connections = '100'\nfsync = 'off'\nsynchronous_commit = 'off'\nfull_page_writes = 'off'\nwork_mem = 'it''s\\\\'\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := embeddedConf(500, false, nil); got != "max_connections = '510'\n" {
		t.Errorf("got %q: PostgreSQL's defaults for durability are not to be touched", got)
	}
}
