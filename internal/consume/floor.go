package consume

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/broker"
	"idemlab/internal/child"
)

// floor is where producer and consumers work, and where one goroutine hears of everything they do.
type floor struct {
	options Options
	book    *book
	queue   broker.Queue
	setup   setup
	db      *pgx.ConnConfig

	events  chan event
	members map[*member]bool // consumers whose process has not ended
	closing bool             // no consumer is started any more
	end     context.CancelFunc
	err     error // the first that ended the work
}

// member is a consumer as the run sees it.
type member struct {
	process *process // nil until it is ready
	kill    context.CancelFunc
	doomed  bool
	hands   map[int]*hand
}

// process is a consumer's, and the conversation with it.
type process struct {
	*child.Process
	line line
}

// event is something that happened. One of the fields beside from is set.
type event struct {
	from    *member
	started *process
	report  *report
	gone    error // the consumer's process has ended so
	sent    *publication
}

// publication is what the producer did.
type publication struct {
	id      string
	second  bool
	dropped bool
	over    bool // there are no more
	err     error
}

// errEnded is how a consumer ends when nothing is wrong.
var errEnded = errors.New("ended")

func newFloor(o Options, b *book, q broker.Queue, s setup, db *pgx.ConnConfig) *floor {
	return &floor{options: o, book: b, queue: q, setup: s, db: db, events: make(chan event), members: map[*member]bool{}}
}

// run returns when every message has ended and nobody is at work any more; after Ctrl-C, when nobody is.
func (f *floor) run(ctx context.Context) error {
	ctx, f.end = context.WithCancel(ctx)
	defer f.end()
	producing := true
	go f.produce(ctx)
	for need := 0; ; {
		ended := f.book.ended
		f.closing = false
		for range f.options.Consumers {
			f.start(ctx)
		}
		producing = f.hear(ctx, producing, func() bool { return f.book.open == 0 && f.book.ended >= ended+need })
		if f.err != nil || ctx.Err() != nil {
			return f.err
		}
		// What consumers said last may not have reached the broker: it knows better what is left.
		left, err := f.left(ctx)
		if err != nil || left.Waiting == 0 {
			return err
		}
		need = left.Waiting
	}
}

// left asks the broker, which may take a moment to notice that the consumers are gone.
func (f *floor) left(ctx context.Context) (broker.Left, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return f.queue.Left(ctx)
}

// hear hears of everything until that is done, then lets the consumers end what they have in hand and go. It returns whether the
// producer still works.
func (f *floor) hear(ctx context.Context, producing bool, done func() bool) bool {
	idle := time.NewTimer(f.patience())
	defer idle.Stop()
	for producing || len(f.members) > 0 {
		if !producing && done() && !f.closing {
			f.close()
		}
		select {
		case e := <-f.events:
			idle.Reset(f.patience())
			if e.sent != nil {
				producing = !e.sent.over
				f.published(*e.sent)
			} else {
				f.take(ctx, e)
			}
		case <-idle.C:
			f.fail(fmt.Errorf("nothing has happened for %v, and %d messages have not ended", f.patience(), f.book.open))
		case <-ctx.Done():
			f.closing = true
			ctx = context.WithoutCancel(ctx) // the consumers die with it: hear them out
		}
	}
	return producing
}

// patience is longer than any wait that is part of the work.
func (f *floor) patience() time.Duration {
	o := f.options
	return time.Minute + 2*o.Broker.Window + o.OrphanAfter + o.RetryAfter + 2*o.AttemptTimeout + o.Second.After
}

// fail ends the work, which kills the consumers.
func (f *floor) fail(err error) {
	if f.err == nil {
		f.err = err
	}
	f.closing = true
	f.end()
}

// close asks the consumers to end.
func (f *floor) close() {
	f.closing = true
	for m := range f.members {
		m.order(order{Stop: true})
	}
}

// order writes to a consumer. Where that fails its process is gone, which is heard in its own time.
func (m *member) order(o order) {
	if m.process != nil {
		_ = m.process.line.enc.Encode(o)
	}
}

func (f *floor) published(p publication) {
	switch {
	case p.over && p.err != nil:
		f.fail(p.err)
	case p.over:
	case p.dropped:
		f.book.refused()
	default:
		f.book.sent(p.id, p.second)
	}
}

// take takes in what a consumer did.
func (f *floor) take(ctx context.Context, e event) {
	m := e.from
	switch {
	case e.started != nil:
		m.process = e.started
		if f.closing {
			m.order(order{Stop: true})
		}
		return
	case e.gone != nil:
		f.gone(ctx, m, e.gone)
		return
	}
	r := *e.report
	at := f.book.hear(r, m.hands, !m.doomed)
	if f.options.Done != nil {
		f.options.Done.Store(int64(f.book.ended))
	}
	if f.book.lost != "" {
		f.fail(fmt.Errorf("%w: %s", ErrServerLost, f.book.lost))
	}
	switch {
	case m.doomed:
	case at != 0:
		f.book.doom(r.Order, at, m.hands)
		m.doomed = true
		m.kill()
	case r.Step == received, r.Step == captured, r.Step == answered:
		m.order(order{Go: &r.Worker})
	}
}

func (f *floor) gone(ctx context.Context, m *member, how error) {
	delete(f.members, m)
	f.book.gone(m.hands)
	switch {
	case m.doomed:
		if !f.closing {
			f.start(ctx)
		}
	case !f.closing || !errors.Is(how, errEnded):
		f.fail(fmt.Errorf("a consumer ended that nobody had killed: %w", how))
	}
}
