package spec

import (
	"slices"
	"testing"
	"time"

	"idemlab/internal/timelimit"
)

func TestWhoIsHopeless(t *testing.T) {
	idle := wait{}
	on := func(js ...int) wait { return wait{running: true, on: js} }
	for _, c := range []struct {
		name                     string
		w                        waits
		hopeless, cycle, stuck   bool // of session 0
		now, after10, afterGrace bool // reported as blocked
	}{
		{name: "it runs", w: waits{on()}},
		{name: "it is idle", w: waits{idle, on(0)}},
		{name: "it waits for somebody idle", w: waits{on(1), idle}, hopeless: true, stuck: true, now: true, after10: true, afterGrace: true},
		{name: "it waits for somebody at work", w: waits{on(1), on()}, afterGrace: true},
		{name: "in a chain", w: waits{on(1), on(2), idle}, hopeless: true, stuck: true, now: true, after10: true, afterGrace: true},
		{name: "in a chain that moves", w: waits{on(1), on(2), on()}, afterGrace: true},
		{name: "a deadlock", w: waits{on(1), on(0)}, cycle: true, after10: true, afterGrace: true},
		{name: "behind a deadlock", w: waits{on(1), on(2), on(1)}, afterGrace: true},
		{name: "behind a deadlock and somebody idle", w: waits{on(1, 3), on(2), on(1), idle}, hopeless: true, now: true, after10: true, afterGrace: true},
		{name: "a third is at work", w: waits{on(1), idle, on()}, hopeless: true, now: true, after10: true, afterGrace: true},
		{name: "within a time limit", w: waits{{running: true, limited: true, on: []int{1}}, idle}, now: true, after10: true, afterGrace: true},
		{name: "for somebody whose idle time is limited", w: waits{on(1), {expires: true}}, now: true, after10: true, afterGrace: true},
		{name: "for two, one with limited idle time", w: waits{on(1, 2), {expires: true}, idle}, hopeless: true, stuck: true, now: true, after10: true, afterGrace: true},
		{name: "for somebody idle with a limit on statements", w: waits{on(1), {limited: true}}, hopeless: true, stuck: true, now: true, after10: true, afterGrace: true},
		{name: "all wait for one", w: waits{on(2), on(2, 0), idle}, hopeless: true, stuck: true, now: true, after10: true, afterGrace: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.w.hopeless(0); got != c.hopeless {
				t.Error("hopeless:", got)
			}
			if got := c.w.inCycle(0); got != c.cycle {
				t.Error("in a cycle:", got)
			}
			if got := c.w.stuck(0); got != c.stuck {
				t.Error("stuck:", got)
			}
			for after, want := range map[time.Duration]bool{0: c.now, isolationtesterLook: c.after10, passing: c.afterGrace} {
				if got := c.w.blocked(0, after); got != want {
					t.Errorf("blocked after %v: %v", after, got)
				}
			}
		})
	}
}

func TestTimeLimits(t *testing.T) {
	for sql, want := range map[string]bool{
		"SET lock_timeout = 1": true, "SET LOCAL Statement_Timeout = 1": true, "SET deadlock_timeout = 1": false, "SELECT my_lock_timeout": false,
	} {
		s := Spec{Sessions: []Session{{}, {Steps: []Step{{"a", sql}}}}}
		if got := s.mentions(timelimit.Waiter(), false); !slices.Equal(got, []bool{false, want, false}) {
			t.Error(sql, got)
		}
		s.Setup = []string{sql}
		if got := s.mentions(timelimit.Waiter(), false); !slices.Equal(got, []bool{want, want, want}) {
			t.Error("setup", sql, got)
		}
	}
}
