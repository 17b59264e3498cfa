package retry

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"idemlab/internal/service"
)

// story is what befell one intent, from the first tap to the end.
type story struct {
	mu     sync.Mutex
	events []event
}

type event struct {
	at   time.Time
	text string
}

func (s *story) say(format string, args ...any) { s.sayAt(time.Now(), format, args...) }

func (s *story) sayAt(at time.Time, format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, event{at, fmt.Sprintf(format, args...)})
}

// lines are the events in their order, each with its time since the first.
func (s *story) lines() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	sorted := slices.Clone(s.events)
	slices.SortStableFunc(sorted, func(a, b event) int { return a.at.Compare(b.at) })
	var lines []string
	for _, e := range sorted {
		lines = append(lines, fmt.Sprintf("%+d ms %s", e.at.Sub(sorted[0].at).Milliseconds(), e.text))
	}
	return lines
}

// spoken is a reply in a few words.
func spoken(r service.Reply) string {
	text := fmt.Sprintf("%d %s", r.Status, r.Answer())
	if r.Kind != "" {
		text += " (" + strings.ReplaceAll(r.Kind, "-", " ") + ")"
	}
	return text
}

// cause is why no answer came, without what changes from run to run.
func cause(err error) string {
	var op *net.OpError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nobody listens"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.As(err, &op):
		return "the connection broke"
	}
	return err.Error()
}
