package consume

import (
	"context"
	"errors"
	"fmt"
	"io"

	"idemlab/internal/child"
)

// start starts a consumer, and hears it out until its process has ended. To kill it, or to end the context, is SIGKILL.
func (f *floor) start(ctx context.Context) {
	ctx, kill := context.WithCancel(ctx)
	m := &member{kill: kill, hands: map[int]*hand{}}
	f.members[m] = true
	go func() {
		defer kill()
		err := f.follow(ctx, m)
		f.events <- event{from: m, gone: err}
	}()
}

// follow returns how the process ended: errEnded where it said good-bye or was killed.
func (f *floor) follow(ctx context.Context, m *member) error {
	c, err := child.Start(ctx, f.options.Child)
	if ctx.Err() != nil && err != nil {
		return errEnded
	}
	if err != nil {
		return fmt.Errorf("start a consumer: %w", err)
	}
	p := &process{c, newLine(c.Out, c.In)}
	err = f.listen(m, p)
	closed := p.Close()
	switch {
	case ctx.Err() != nil:
		return errEnded
	case closed != nil || !errors.Is(err, io.EOF):
		return p.Gone(errors.Join(err, closed))
	}
	return errEnded
}

// listen passes on what a consumer says, until it says no more.
func (f *floor) listen(m *member, p *process) error {
	if err := p.line.enc.Encode(f.setup); err != nil {
		return err
	}
	if err := p.line.hearReady(); err != nil {
		return err
	}
	f.events <- event{from: m, started: p}
	for {
		var r report
		if err := p.line.dec.Decode(&r); err != nil {
			return err
		}
		f.events <- event{from: m, report: &r}
	}
}
