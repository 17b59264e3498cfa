package spec

import (
	"bytes"
	"context"

	"github.com/jackc/pgx/v5/pgproto3"
)

// hangUp stands in a session's inbox for the end of the connection.
type hangUp struct{}

// keep copies a message: pgproto3 reads the next one into the same memory.
func keep(m pgproto3.BackendMessage) any {
	switch m := m.(type) {
	case *pgproto3.RowDescription:
		names := make([]string, len(m.Fields))
		for i, f := range m.Fields {
			names[i] = string(f.Name)
		}
		return names
	case *pgproto3.DataRow:
		row := make([][]byte, len(m.Values))
		for i, v := range m.Values {
			row[i] = bytes.Clone(v) // nil stays nil
		}
		return row
	case *pgproto3.NoticeResponse:
		c := *m
		return &c
	case *pgproto3.ErrorResponse:
		c := *m
		return &c
	case *pgproto3.NotificationResponse:
		return *m
	default: // only its type counts
		return m
	}
}

// parse looks at what has come, up to the first complete result. Notices and notifications behind that result are still heard
// before it is taken, as libpq does (pqParseInput3).
func (s *session) parse() error {
	for len(s.inbox) > 0 {
		switch m := s.inbox[0].(type) {
		case *pgproto3.NoticeResponse:
			s.notices++
			if s.hear != nil {
				s.hear(m)
			}
		case pgproto3.NotificationResponse:
			s.heard = append(s.heard, m)
		default:
			if s.complete != nil {
				return nil
			}
			if err := s.take(m); err != nil {
				return err
			}
		}
		s.inbox = s.inbox[1:]
	}
	return nil
}

// take adds one message to the result that is being collected.
func (s *session) take(m any) error {
	switch m := m.(type) {
	case []string:
		s.collecting.table, s.collecting.names = true, m
	case [][]byte:
		s.collecting.rows = append(s.collecting.rows, m)
	case *pgproto3.CommandComplete:
		s.finish()
	case *pgproto3.EmptyQueryResponse:
		s.collecting.empty = true
		s.finish()
	case *pgproto3.ErrorResponse:
		s.collecting = result{err: m.Severity + ":  " + m.Message}
		s.finish()
	case *pgproto3.ReadyForQuery:
		s.idle = true
	case hangUp:
		s.collecting = result{err: lostConnection}
		s.finish()
		s.idle = true
	case *pgproto3.CopyInResponse, *pgproto3.CopyOutResponse, *pgproto3.CopyBothResponse:
		return errCopy
	}
	return nil
}

func (s *session) finish() {
	done := s.collecting
	s.complete, s.collecting = &done, result{}
}

// busy says whether there is no result to take yet, and none to be expected either.
func (s *session) busy() (bool, error) {
	err := s.parse()
	return s.complete == nil && !s.idle, err
}

// result waits for the next result, and gives nil after the last. blocked is asked while nothing comes.
func (s *session) result(ctx context.Context, blocked func(context.Context) error) (*result, error) {
	for {
		busy, err := s.busy()
		if err != nil {
			return nil, err
		}
		if !busy {
			done := s.complete
			s.complete = nil
			return done, nil
		}
		some, err := s.fill(ctx, poll)
		if err != nil {
			return nil, err
		}
		if !some {
			if err := blocked(ctx); err != nil {
				return nil, err
			}
		}
	}
}
