package instance

import (
	"context"
	"net"
)

// Watch is told of an attempt's statements where they happen: for whoever makes something go wrong there. A strategy may use its DB
// from several goroutines, so it must be safe for concurrent use.
type Watch interface {
	// Sending is called before a statement is sent, with the connection that it is about to go over.
	Sending(step string, conn net.Conn)
	// Answered is called when its answer is there, or will never be.
	Answered(step string)
}

// watching is the context's key for it.
type watching struct{}

// Watched returns a context in which Handle tells w of its attempt.
func Watched(ctx context.Context, w Watch) context.Context {
	return context.WithValue(ctx, watching{}, w)
}

func watchOf(ctx context.Context) Watch {
	w, _ := ctx.Value(watching{}).(Watch)
	return w
}

// step notes a statement, for the record and for who watches.
func (d pinned) step(name string) underWay {
	pg := d.conn.PgConn()
	if d.rec.watch != nil {
		d.rec.watch.Sending(name, pg.Conn())
	}
	return d.rec.sending(name, pg.PID())
}
