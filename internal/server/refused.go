package server

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// refused explains why a server of the user's could not be reached: where its address came from, what was tried,
// what the server or the network said, and what to type. A server that was named and fails is never replaced
// by another one: the run would measure something else than was asked for.
func refused(src source, cfg *pgx.ConnConfig, err error) error {
	return &connectError{
		msg: fmt.Sprintf("cannot connect to the server from %s (%s): %s\n  %s", src.name, place(cfg),
			redact(causes(err), cfg.Password), whatNext(src, err)),
		err: err,
	}
}

// connectError shows msg, in which nothing is secret, and gives the cause to errors.As only.
type connectError struct {
	msg string
	err error
}

func (e *connectError) Error() string { return e.msg }
func (e *connectError) Unwrap() error { return e.err }

// causes takes pgx's list of failed addresses, one per line, without its heading (that one repeats place) and without
// repetitions: with sslmode=prefer each address is tried with TLS and without.
func causes(err error) string {
	var c *pgconn.ConnectError
	if errors.As(err, &c) {
		err = c.Unwrap()
	}
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	return strings.Join(slices.Compact(lines), "; ")
}

// whatNext is the line that says what to type.
func whatNext(src source, err error) string {
	another := withoutSource(src) + " to let the lab start a server of its own"
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return "check that it runs: pg_isready -d '<the same string>'; or " + another
	}
	switch pg.Code {
	case "28P01", "28000": // invalid_password, invalid_authorization_specification
		return "check user and password (PGPASSWORD and ~/.pgpass count too): psql '<the same string>'; or " + another
	case "3D000": // invalid_catalog_name
		return "create the database: createdb <name>; or name one that exists; or " + another
	case "53300": // too_many_connections
		return "close other connections, or raise max_connections; or " + another
	case "08P01", "42704": // protocol_violation (poolers), undefined_object (a word the server takes for a setting)
		return "if this is a pooler, name the server behind it: the lab holds a session lock, which a pooler would lose; " +
			"else remove the word from the connection string"
	}
	return "check it by hand: psql '<the same string>'; or " + another
}
