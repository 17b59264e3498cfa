package cmd

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/spf13/pflag"
)

// shaping are the flags that another service on the same tables, or one in this one's place, needs to be the same one: with an acquirer of
// its own, or by another server, it would be about other money. What only this process is about, such as its log, is not among them.
func shaping() []string {
	return []string{
		"isolation", "lease", "key-syntax", "on-hang-up", "attempt-timeout", "pool", "seed",
		"acquirer", "acquirer-latency", "decline-share", "acquirer-dedup", "dsn",
	}
}

// another is the command line of such a service, without what is at its default. A value that may hold a secret is left to the reader.
func another(strategy, tables string, flags *pflag.FlagSet) string {
	line := "idemlab serve --strategy=" + strategy
	for _, name := range shaping() {
		f := flags.Lookup(name)
		value := f.Value.String()
		if name == "isolation" {
			value = strings.ReplaceAll(value, " ", "-") // it is taken so, too, and needs no quotes
		}
		switch {
		case value == f.DefValue, name == "isolation" && value == strings.ReplaceAll(f.DefValue, " ", "-"):
			continue
		case f.Value.Type() == "bool":
			line += " --" + name
			continue
		case name == "acquirer" && hostOf(value) != strings.TrimSuffix(value, "/"), name == "dsn" && mayHoldPassword(value):
			value = "…"
		}
		line += " --" + name + " " + shellWord(value)
	}
	return line + " --tables " + tables + " --listen 127.0.0.1:0"
}

// mayHoldPassword errs on the side of saying nothing: what cannot be read may hold one.
func mayHoldPassword(dsn string) bool {
	if strings.Contains(strings.ToLower(dsn), "password") { // as a keyword, or as a URL's parameter
		return true
	}
	if !strings.Contains(dsn, "://") {
		return false
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return true
	}
	_, has := u.User.Password()
	return has || strings.Contains(dsn, "%") // a parameter's name may be written so
}

// shellWord quotes what a shell would not take as it stands.
func shellWord(s string) string {
	if regexp.MustCompile(`^[\w@%+=:,./…-]+$`).MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
