package server

import (
	"fmt"
	"slices"
	"strings"
)

// setting is one line of postgresql.conf.
type setting struct{ name, value string }

// spareConnections are added to what the run asks for: three that PostgreSQL reserves for superusers, and a person
// who looks in with psql.
const spareConnections = 10

// parseSettings reads the values of --pg-set. What the lab itself must decide is refused, because a server that
// listens elsewhere would either be unreachable for the lab or reachable for others.
func parseSettings(args []string) ([]setting, error) {
	var out []setting
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		name = strings.ToLower(strings.TrimSpace(name))
		if !ok || !validSettingName(name) {
			return nil, usagef("--pg-set wants name=value, for example --pg-set shared_buffers=256MB; got %q", arg)
		}
		if strings.ContainsAny(value, "\n\r\x00") {
			return nil, usagef("--pg-set %s: a value is one line", name)
		}
		if slices.Contains(labSettings(), name) {
			return nil, usagef("--pg-set %s: the lab sets this itself; with a server of your own you decide it: --dsn", name)
		}
		out = append(out, setting{name, value})
	}
	return out, nil
}

// labSettings are those on which who reaches the server, and how the lab finds it, depend.
func labSettings() []string {
	return []string{
		"listen_addresses", "port", "unix_socket_directories", "unix_socket_group", "unix_socket_permissions",
		"data_directory", "config_file", "hba_file", "ident_file", "external_pid_file",
		"include", "include_dir", "include_if_exists",
		"logging_collector", "log_destination", // the log's tail explains a start that failed
	}
}

func validSettingName(s string) bool {
	for i, r := range s {
		letter := r == '_' || 'a' <= r && r <= 'z'
		if !letter && (i == 0 || r != '.' && (r < '0' || r > '9')) {
			return false
		}
	}
	return s != ""
}

func settingNames(settings []setting) []string {
	var names []string
	for _, s := range settings {
		names = append(names, s.name)
	}
	return names
}

// embeddedConf is what is appended to the postgresql.conf that initdb writes; of several lines for one setting the last
// counts. A file, and not the command line, so that ALTER SYSTEM can still override it.
func embeddedConf(connections int, fast bool, settings []setting) string {
	// 100 is PostgreSQL's own default: below it there is nothing to win.
	all := []setting{{"max_connections", fmt.Sprint(max(100, connections+spareConnections))}}
	if fast {
		for _, name := range durabilitySettings() {
			all = append(all, setting{name, "off"})
		}
	}
	return confLines(append(all, settings...))
}

// confLines writes settings as postgresql.conf wants them: quoted, a quote or backslash inside doubled.
func confLines(settings []setting) string {
	var b strings.Builder
	for _, s := range settings {
		fmt.Fprintf(&b, "%s = '%s'\n", s.name, strings.NewReplacer(`'`, `''`, `\`, `\\`).Replace(s.value))
	}
	return b.String()
}
