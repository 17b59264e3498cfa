package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	appName        = "idemlab"        // application_name of every connection; tools that watch sessions look for it
	connectTimeout = 10 * time.Second // per address, where the user's own connect_timeout does not say otherwise
)

// foreignConfig reads the connection string of a server that is the user's. What it leaves open is filled from
// the process's PG* variables, ~/.pgpass and the service file, as psql does it.
func foreignConfig(src source) (*pgx.ConnConfig, error) {
	if scheme := otherScheme(src.dsn); scheme != "" {
		return nil, usagef("the connection string in %s starts with %s://: write postgres:// instead", src.name, scheme)
	}
	cfg, err := pgx.ParseConfig(src.dsn)
	if err != nil {
		// The string itself is not shown: where it is malformed, nobody can tell which part is the password.
		return nil, &UsageError{Msg: fmt.Sprintf("the connection string in %s cannot be read: %s\n"+
			"  write it as postgres://user@host:5432/database or as 'host=… user=… dbname=…'", src.name, parseReason(src.dsn, err))}
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = connectTimeout
	}
	if err := takeHostaddr(cfg); err != nil {
		return nil, fmt.Errorf("the connection string in %s: %w", src.name, err)
	}
	for name := range cfg.RuntimeParams {
		if strings.HasPrefix(name, "pool_") { // pgxpool's own; the server would refuse the connection for them
			delete(cfg.RuntimeParams, name)
		}
	}
	setOurs(cfg, "pg_catalog")
	return cfg, nil
}

// ParseDSN reads a connection string that DSN gave, in another process of the same user, as this package reads the user's: with
// hostaddr, and without what only pgxpool knows.
func ParseDSN(dsn string) (*pgx.ConnConfig, error) {
	return foreignConfig(source{name: "the connection string", dsn: dsn})
}

// embeddedConfig addresses a server of our own. The caller has unset PG*; what must not depend on that is set again.
func embeddedConfig(dsn string) (*pgx.ConnConfig, error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("reading our own connection string: %w", err)
	}
	cfg.ConnectTimeout = connectTimeout
	cfg.Password = "" // peer authentication; ~/.pgpass may have an entry that fits
	cfg.Fallbacks = nil
	cfg.RuntimeParams = map[string]string{}
	setOurs(cfg, "pg_catalog")
	return cfg, nil
}

// setOurs lays the lab's name and search path over whatever the connection string says. Startup parameters win over
// those in `options`, which the server reads first, and over ALTER ROLE … SET.
func setOurs(cfg *pgx.ConnConfig, searchPath string) {
	cfg.RuntimeParams["application_name"] = appName
	cfg.RuntimeParams["search_path"] = searchPath
}

// takeHostaddr gives hostaddr the meaning it has in libpq: where to connect, while host stays the name that a
// certificate must carry. pgx does not know the word and would send it to the server as a setting.
func takeHostaddr(cfg *pgx.ConnConfig) error {
	addr, ok := cfg.RuntimeParams["hostaddr"]
	delete(cfg.RuntimeParams, "hostaddr")
	if !ok || addr == "" {
		return nil
	}
	if net.ParseIP(addr) == nil {
		return usagef("hostaddr %q is not one IP address: use host instead", addr)
	}
	if strings.HasPrefix(cfg.Host, "/") { // no host was given, and pgx filled in the socket folder
		cfg.Host = addr
	}
	cfg.LookupFunc = func(context.Context, string) ([]string, error) { return []string{addr}, nil }
	return nil
}

// place says where a configuration points, without anything secret.
func place(cfg *pgx.ConnConfig) string {
	at := net.JoinHostPort(cfg.Host, strconv.Itoa(int(cfg.Port)))
	if strings.HasPrefix(cfg.Host, "/") {
		at = "socket " + cfg.Host + ", port " + strconv.Itoa(int(cfg.Port))
	}
	return fmt.Sprintf("user %s, database %s at %s", cfg.User, database(cfg), at)
}

// database names the database that a configuration leads to: PostgreSQL takes the user's name when none is given.
func database(cfg *pgx.ConnConfig) string {
	if cfg.Database == "" {
		return cfg.User
	}
	return cfg.Database
}

// parseReason keeps what pgx says about a malformed connection string and leaves out the string. The innermost reason
// quotes fragments, and a fragment of `password=two words` is a secret: it is shown only where there is no password.
func parseReason(dsn string, err error) string {
	var p *pgconn.ParseConfigError
	if !errors.As(err, &p) {
		return "it is malformed"
	}
	// Error is "cannot parse `<string>`: <kind> (<reason>)", and its parts are not exported.
	_, reason, ok := strings.Cut(p.Error(), "`: ")
	if !ok {
		return "it is malformed"
	}
	if strings.Contains(dsn, "@") || strings.Contains(strings.ToLower(dsn), "pass") {
		reason, _, _ = strings.Cut(reason, " (")
	}
	return reason
}

// otherScheme returns the scheme of a URL that is not PostgreSQL's, "" for everything else. pgx would take such a
// string for keyword=value and send parts of it, the password among them, to the default server as a setting's name.
func otherScheme(dsn string) string {
	scheme, _, ok := strings.Cut(dsn, "://")
	if !ok || strings.ContainsAny(scheme, "= ") || scheme == "postgres" || scheme == "postgresql" {
		return ""
	}
	return scheme
}

// redact removes a password from a message that other code composed.
func redact(msg, password string) string {
	if password == "" {
		return msg
	}
	return strings.ReplaceAll(msg, password, "xxxxx")
}
