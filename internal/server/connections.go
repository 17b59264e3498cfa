package server

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// connectionFacts is what limits the connections that the lab can open.
type connectionFacts struct {
	max      int // max_connections
	reserved int // of these, kept for roles that the lab's is not
	used     int // open now, this one not counted

	roleLimit, roleUsed         int // ALTER ROLE … CONNECTION LIMIT; -1: none
	databaseLimit, databaseUsed int // ALTER DATABASE … CONNECTION LIMIT; -1: none
}

// read asks the server. pg_stat_database is open to every role; pg_stat_activity hides from an ordinary one which
// of the rows of others are client connections. The limits are those of the role that logged in, whatever SET ROLE
// made of it.
func (c *connectionFacts) read(ctx context.Context, conn *pgx.Conn) error {
	var super bool
	var superReserved, roleReserved int
	err := conn.QueryRow(ctx, `/* connections */
		SELECT current_setting('max_connections')::int, r.rolsuper,
		       current_setting('superuser_reserved_connections')::int,
		       coalesce(current_setting('reserved_connections', true)::int, 0),
		       (SELECT sum(numbackends)::int - 1 FROM pg_stat_database),
		       r.rolconnlimit, (SELECT count(*)::int - 1 FROM pg_stat_activity WHERE usesysid = r.oid),
		       d.datconnlimit, pg_stat_get_db_numbackends(d.oid) - 1
		FROM pg_roles r, pg_database d
		WHERE r.rolname = session_user AND d.datname = current_database()`).
		Scan(&c.max, &super, &superReserved, &roleReserved, &c.used,
			&c.roleLimit, &c.roleUsed, &c.databaseLimit, &c.databaseUsed)
	if err != nil {
		return err
	}
	if super { // neither reservation nor limit applies
		c.roleLimit, c.databaseLimit = -1, -1
		return nil
	}
	c.reserved = superReserved + roleReserved
	return nil
}

// free is how many connections the lab can hold, and what sets that bound.
func (c *connectionFacts) free() (n int, bound string) {
	n = c.max - c.reserved - c.used
	bound = fmt.Sprintf("max_connections is %d, %d of them reserved, %d in use by others", c.max, c.reserved, c.used)
	if left := c.roleLimit - c.roleUsed; c.roleLimit >= 0 && left < n {
		n, bound = left, fmt.Sprintf("the role's CONNECTION LIMIT is %d, %d in use", c.roleLimit, c.roleUsed)
	}
	if left := c.databaseLimit - c.databaseUsed; c.databaseLimit >= 0 && left < n {
		n, bound = left, fmt.Sprintf("the database's CONNECTION LIMIT is %d, %d in use", c.databaseLimit, c.databaseUsed)
	}
	return max(n, 0), bound
}

// enough is an error when the run's connections do not fit. Found out halfway, attempts would fail for want of a
// connection, and that would look like an answer of the strategy's.
func (f *facts) enough(need int, src source) error {
	n, bound := f.connections.free()
	if need <= n {
		return nil
	}
	return fmt.Errorf("the run needs %d connections and the server (%s) has %d free: %s\n"+
		"  ask for %d fewer (--pool, --attempts, --clients, where the command has them), free some, or raise the limit", need, src.name, n, bound, need-n)
}
