package schedule

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Named is a World that can say what a session's next step is called, so that a replay can check names before it acts.
type Named interface {
	World
	Next(session int) string
}

// Impossible says that a schedule asked for a turn that could not be had. It is an error.
type Impossible struct {
	At       int // the item's number, from 1
	Asked    Item
	Possible Schedule // what could be asked for
}

func (e *Impossible) Error() string {
	var can []string
	for _, it := range e.Possible {
		can = append(can, it.String())
	}
	if len(can) == 0 {
		return fmt.Sprintf("turn %d, %s, cannot be had: every session has ended or waits", e.At, e.Asked)
	}
	return fmt.Sprintf("turn %d, %s, cannot be had: possible are %s", e.At, e.Asked, strings.Join(can, ", "))
}

// Replay follows s to its last item, and from there completes the run: each session as far as it goes, without faults.
// The error is an *Impossible where s cannot be followed; the run as far as it went is returned with it.
func Replay(ctx context.Context, w Named, s Schedule) (Run, error) {
	var r Run
	for i, it := range s {
		if err := answerUnless(ctx, w, &r, it.Action); err != nil {
			return r, err
		}
		enabled := w.Enabled()
		if !slices.Contains(enabled, it.Action) || it.Name != "" && it.Name != w.Next(it.Session) {
			return r, &Impossible{i + 1, it, possible(w, enabled)}
		}
		if err := r.advance(ctx, w, enabled, it.Action); err != nil {
			return r, err
		}
	}
	return r, r.onwards(ctx, w)
}

// answerUnless delivers the answers that stand to be delivered, unless the next item is the death that prevents one.
func answerUnless(ctx context.Context, w Named, r *Run, next Action) error {
	for {
		enabled := w.Enabled()
		i := slices.IndexFunc(enabled, func(a Action) bool { return a.Kind == Answer })
		if i < 0 || slices.Contains(enabled, next) {
			return nil
		}
		if err := r.advance(ctx, w, enabled, enabled[i]); err != nil {
			return err
		}
	}
}

func possible(w Named, enabled []Action) Schedule {
	var s Schedule
	for _, a := range enabled {
		s = append(s, Item{a, w.Next(a.Session)})
	}
	return s
}
