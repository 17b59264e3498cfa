package retry

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"idemlab/internal/fault"
	"idemlab/scenarios"
)

// Sending implements instance.Watch.
func (w watch) Sending(step string, conn net.Conn) {
	w.at("before-" + step)
	c, ours := conn.(*ackConn)
	if point := fault.Acked(step); ours && slices.Contains(w.points, point) && w.t.ask(point, w.intent) {
		c.arm()
	}
}

// Answered implements instance.Watch.
func (w watch) Answered(step string) { w.at("after-" + step) }

// watchedAcquirer is the acquirer, with a moment before and one after.
type watchedAcquirer struct {
	scenarios.Acquirer
	w watch
}

func (a watchedAcquirer) Capture(ctx context.Context, c scenarios.Charge) (scenarios.Receipt, error) {
	a.w.at("before-" + fault.Capture)
	r, err := a.Acquirer.Capture(ctx, c)
	a.w.at("after-" + fault.Capture)
	return r, err
}

// wrap is for pgconn.Config.AfterNetConnect: above TLS, where the protocol can be read.
func wrap(_ context.Context, _ *pgconn.Config, conn net.Conn) (net.Conn, error) {
	return &ackConn{Conn: conn}, nil
}

// ackConn is a connection that can lose an acknowledgement: the server has done what it was told, and the client does not hear of it.
type ackConn struct {
	net.Conn

	mu    sync.Mutex
	armed bool
	held  []byte // read, and not yet known to be the acknowledgement
	ready []byte // read, and to be handed on
}

func (c *ackConn) arm() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed = true
}

// Read hands on what the server says, up to the acknowledgement of the next statement, and closes the connection in its place.
//
// What is no acknowledgement passes: the answer to a statement's preparation, which comes first where it was not prepared, and an
// error, after which nothing was done that could be unknown.
func (c *ackConn) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.ready) == 0 && !c.armed {
		c.mu.Unlock() // whoever waits for the server must not keep the next statement from being sent
		n, err := c.Conn.Read(p)
		c.mu.Lock()
		return n, err
	}
	for len(c.ready) == 0 {
		buf := make([]byte, 8192)
		n, err := c.Conn.Read(buf)
		c.held = append(c.held, buf[:n]...)
		switch size, done, failed := answer(c.held); {
		case size > 0 && done && !failed:
			c.armed = false
			_ = c.Conn.Close() // it is to be lost: how it closes is nobody's concern
			return 0, io.ErrUnexpectedEOF
		case size > 0:
			c.armed = !failed
			c.ready, c.held = c.held, nil
		case err != nil:
			return 0, err
		}
	}
	n := copy(p, c.ready)
	c.ready = c.ready[n:]
	return n, nil
}

// answer looks for a whole answer, which ends with ReadyForQuery ("Message Formats" in PostgreSQL's protocol documentation): its
// size, 0 where it is not all there; whether a statement was completed in it; and whether one failed.
func answer(b []byte) (size int, done, failed bool) {
	for at := 0; len(b)-at >= 5; {
		kind, length := b[at], int(binary.BigEndian.Uint32(b[at+1:]))
		at += 1 + length
		switch {
		case at > len(b):
			return 0, false, false
		case kind == 'C': // CommandComplete
			done = true
		case kind == 'E': // ErrorResponse
			failed = true
		case kind == 'Z': // ReadyForQuery
			return at, done, failed
		}
	}
	return 0, false, false
}
