package server

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/timelimit"
)

// facts is what the server says about itself and about the lab's role, in one round trip.
type facts struct {
	versionNum  int
	version     string
	superuser   bool
	settings    map[string]string
	role        string // may differ from the user who logged in, after SET ROLE
	database    string
	mayCreate   bool // CREATE on the database
	recovery    bool // a standby: nothing can be written
	readOnly    bool // transactions start read-only
	connections connectionFacts
}

// readFacts asks. more names settings to report beside those that decide durability.
func readFacts(ctx context.Context, conn *pgx.Conn, more []string) (*facts, error) {
	f := &facts{settings: map[string]string{}}
	c := &f.connections
	err := conn.QueryRow(ctx, `/* server */
		SELECT current_setting('server_version_num')::int, current_setting('server_version'),
		       current_setting('is_superuser')::bool, current_user, current_database(),
		       has_database_privilege(current_database(), 'CREATE'),
		       pg_is_in_recovery(), current_setting('transaction_read_only')::bool`).
		Scan(&f.versionNum, &f.version, &f.superuser, &f.role, &f.database, &f.mayCreate, &f.recovery, &f.readOnly)
	if err != nil {
		return nil, err
	}
	if err := c.read(ctx, conn); err != nil {
		return nil, fmt.Errorf("counting connections: %w", err)
	}
	rows, err := conn.Query(ctx, `/* settings */
		SELECT name, current_setting(name) FROM unnest($1::text[]) AS name
		 UNION
		SELECT name, current_setting(name, true) FROM unnest($2::text[]) AS name
		 WHERE current_setting(name, true) NOT IN ('0', '')`,
		append(durabilitySettings(), more...), timelimit.All()) // errors that come of a limit which the server, the role or the connection string sets look like the strategy's
	if err != nil {
		return nil, err
	}
	var name, value string
	_, err = pgx.ForEachRow(rows, []any{&name, &value}, func() error {
		f.settings[name] = value
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading settings: %w", err)
	}
	return f, nil
}

// fill copies into i what is reported.
func (f *facts) fill(i *Info) {
	// Packagers append their own: "15.18 (Debian 15.18-0+deb12u1)".
	i.Version, _, _ = strings.Cut(f.version, " ")
	i.VersionNum = f.versionNum
	i.Superuser = f.superuser
	i.MaxConnections = f.connections.max
	i.Settings = f.settings
	i.judgeDurability()
}

// usable says what would stop the lab from creating its schema, before anything is tried.
func (f *facts) usable(src source) error {
	role, db := pgx.Identifier{f.role}.Sanitize(), pgx.Identifier{f.database}.Sanitize()
	switch {
	case f.recovery:
		return fmt.Errorf("the server from %s is a standby, which cannot be written to: name its primary", src.name)
	case f.readOnly:
		return fmt.Errorf("transactions are read-only by default for role %s in database %s (from %s):\n"+
			"  ALTER ROLE %s SET default_transaction_read_only = off; or use another role", f.role, f.database, src.name, role)
	case !f.mayCreate:
		return fmt.Errorf("role %s may not create a schema in database %s (from %s):\n"+
			"  GRANT CREATE ON DATABASE %s TO %s;", f.role, f.database, src.name, db, role)
	}
	return nil
}
