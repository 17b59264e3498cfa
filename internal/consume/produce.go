package consume

import (
	"context"
	"errors"
	"fmt"
	"time"

	"idemlab/internal/broker"
)

// produce publishes every charge, and some of them a second time.
func (f *floor) produce(ctx context.Context) {
	err := f.publishAll(ctx)
	if ctx.Err() != nil {
		err = nil
	}
	f.events <- event{sent: &publication{over: true, err: err}}
}

func (f *floor) publishAll(ctx context.Context) (err error) {
	out, err := f.queue.Address().Connect(ctx, f.db)
	if err != nil {
		return fmt.Errorf("the producer: %w", err)
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	type again struct {
		at time.Time
		m  broker.Message
	}
	var seconds []again
	for _, c := range f.book.charges {
		if err := f.publish(ctx, out, c.messages[0], false); err != nil {
			return err
		}
		for _, m := range c.messages[1:] {
			if f.options.Second.After > 0 {
				seconds = append(seconds, again{time.Now().Add(f.options.Second.After), m})
			} else if err := f.publish(ctx, out, m, true); err != nil {
				return err
			}
		}
	}
	for _, s := range seconds {
		select {
		case <-time.After(time.Until(s.at)):
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := f.publish(ctx, out, s.m, true); err != nil {
			return err
		}
	}
	return nil
}

func (f *floor) publish(ctx context.Context, out broker.Broker, m broker.Message, second bool) error {
	err := out.Publish(ctx, m)
	dropped := errors.Is(err, broker.ErrDropped)
	if err != nil && !dropped {
		return fmt.Errorf("the producer: %w", err)
	}
	f.events <- event{sent: &publication{id: m.ID, second: second, dropped: dropped}}
	return nil
}
