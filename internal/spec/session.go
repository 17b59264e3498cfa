package spec

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// session is one connection, read by hand: what isolationtester prints depends on which message of a step has come by when, and
// pgx hands over a statement's results only when they are all there.
//
// Messages are read in two stages, as libpq does: fill takes them off the wire, parse looks at them up to the first complete
// result. A session that is not being looked at keeps its messages, so that nothing is printed before its turn.
type session struct {
	name   string
	number int // in the order of the spec; control is -1
	conn   *pgconn.PgConn
	inbox  []any // pgproto3's messages, and hangUp

	waiting bool // a statement was sent and the server has not said that it is ready for the next
	closed  bool // the server has closed the connection

	collecting result  // rows that have come so far
	complete   *result // a result that is ready to be taken
	idle       bool    // everything of the last statement was taken
	heard      []pgproto3.NotificationResponse

	hear    func(*pgproto3.NoticeResponse) // gets each notice when its turn comes
	notices int

	active *running // the step that was begun and not yet reported as done
}

// result is what one statement of a step came to.
type result struct {
	table bool // it has columns, and maybe none of them
	names []string
	rows  [][][]byte // nil is NULL
	empty bool       // there was no statement
	err   string     // as libpq words it
}

// lostConnection is libpq's text (fe-misc.c), which isolationtester prints.
const lostConnection = "server closed the connection unexpectedly\n" +
	"\tThis probably means the server terminated abnormally\n" +
	"\tbefore or while processing the request.\n"

var errCopy = errors.New("COPY from or to the client: isolationtester cannot run it either")

// connect opens a session. Its application_name is the test's with the session's behind it, as isolationtester has it.
func connect(ctx context.Context, cfg *pgx.ConnConfig, test, name string, number int) (*session, error) {
	own := cfg.Config.Copy()
	if test == "" {
		test = own.RuntimeParams["application_name"]
	}
	own.RuntimeParams["application_name"] = test + "/" + name
	conn, err := pgconn.ConnectConfig(ctx, own)
	if err != nil {
		return nil, fmt.Errorf("connect session %s: %w", quote(name), err)
	}
	return &session{name: name, number: number, conn: conn, idle: true}, nil
}

// send begins a statement, or several in one message.
func (s *session) send(sql string) error {
	if s.closed {
		return fmt.Errorf("session %s: the server has closed its connection", quote(s.name))
	}
	s.idle, s.waiting, s.collecting, s.complete = false, true, result{}, nil
	s.conn.Frontend().Send(&pgproto3.Query{String: sql})
	if err := s.conn.Frontend().Flush(); err != nil {
		return fmt.Errorf("session %s: send: %w", quote(s.name), err)
	}
	return nil
}

// fill waits up to d for a message, and takes what came with it: what the server sent in one piece counts as come at once, as it
// does to libpq. A read that times out loses nothing: the next one goes on where it stopped.
func (s *session) fill(ctx context.Context, d time.Duration) (some bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if s.closed || !s.waiting {
		return false, nil
	}
	if err := s.conn.Conn().SetReadDeadline(time.Now().Add(d)); err != nil {
		return false, err
	}
	for {
		got := s.receive()
		some = some || got
		if !got || !s.waiting || s.conn.Frontend().ReadBufferLen() == 0 {
			return some, nil
		}
	}
}

// receive takes one message off the wire, if one comes before the deadline.
func (s *session) receive() bool {
	m, err := s.conn.Frontend().Receive()
	var timeout net.Error
	switch {
	case errors.As(err, &timeout) && timeout.Timeout():
		return false
	case err != nil: // the end of the stream: what came before says why
		s.closed, s.waiting = true, false
		s.inbox = append(s.inbox, hangUp{})
		return true
	}
	if _, ready := m.(*pgproto3.ReadyForQuery); ready {
		s.waiting = false
	}
	s.inbox = append(s.inbox, keep(m))
	return true
}
