package load

import (
	"bytes"
	"encoding/gob"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"idemlab/internal/instance"
	"idemlab/scenarios"
)

// A percentile says nothing where fewer than ten lie beyond it, and never more than was measured.
func TestPercentilesKnowWhatTheyRestOn(t *testing.T) {
	h, most := newHistogram(), time.Duration(0)
	if p := percentiles(h, most); p.P50MS != nil || p.MaxMS != nil {
		t.Error("percentiles of nothing")
	}
	for n := range 999 {
		note(h, &most, time.Duration(n+1)*time.Millisecond+999*time.Microsecond)
	}
	l := latency(h, most)
	if l.P99MS != nil || l.P90MS == nil || *l.MaxMS != 999.999 {
		t.Errorf("of 999: %+v", l)
	}
	note(h, &most, 1000*time.Millisecond+999*time.Microsecond)
	l = latency(h, most)
	if l.P99MS == nil || l.P999MS != nil || *l.MaxMS != 1000.999 {
		t.Errorf("of 1000: %+v", l)
	}
	rapid.Check(t, func(t *rapid.T) {
		h, most := newHistogram(), time.Duration(0)
		for _, us := range rapid.SliceOfN(rapid.Int64Range(0, 2*longestUS), 20, 300).Draw(t, "us") {
			note(h, &most, time.Duration(us)*time.Microsecond)
		}
		if p := percentile(h, most, 500); *p > float64(most.Microseconds())/1000 {
			t.Fatalf("p50 %v of at most %v", *p, most)
		}
	})
}

// Both times of an attempt: a customer waits from when it was to start, the service works from its first statement on.
func TestResponseAndServiceTime(t *testing.T) {
	due := time.Unix(1000, 0)
	in, after := window{Warm: due, End: due.Add(3 * time.Second)}, window{Warm: due.Add(time.Second), End: due.Add(5 * time.Second)}
	m := newMeter()
	m.of(1).record(1, due, in, &instance.Record{
		Answer: scenarios.Charged, Called: due.Add(time.Second), Sent: due.Add(3 * time.Second), Answered: due.Add(5 * time.Second),
		PoolWaits: []time.Duration{2 * time.Second}, Holds: []instance.Hold{{From: due, To: due.Add(time.Second)}, {From: due, To: due.Add(time.Second)}},
	}, false)
	m.of(2).record(2, due, in, &instance.Record{Answer: scenarios.Failed, Called: due, Answered: due.Add(time.Second)}, false)
	m.of(3).record(3, due, after, &instance.Record{Answer: scenarios.Charged, Called: due, Answered: due.Add(9 * time.Second)}, false)
	m.of(4).drop(true, 4)
	sum := newTally()
	facts := m.collect(sum)
	want := sums{
		MaxResponse: 5 * time.Second, MaxService: 2 * time.Second, MaxAnswered: 9 * time.Second, MaxPoolWait: 2 * time.Second,
		Attempts: 2, Served: 1, Dropped: 1, Captures: 2, Failed: 1, Held: 2 * time.Second, PoolWaited: 2 * time.Second,
	}
	if sum.sums != want || sum.Response.TotalCount() != 2 || sum.Answered.TotalCount() != 3 || len(facts) != 4 {
		t.Errorf("%+v, %d and %d recorded, %d facts", sum.sums, sum.Response.TotalCount(), sum.Answered.TotalCount(), len(facts))
	}
	if again := m.collect(sum); len(again) != 0 || sum.sums != want {
		t.Errorf("collected twice: %+v", sum.sums)
	}
}

// What an instance in another process measured arrives whole.
func TestSharesCrossProcessBorders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := share{tally: newTally(), standing: standing{Until: time.Unix(7, 0).UTC(), InFlight: 3, Facts: []fact{{Seq: 9, Body: "b"}}}}
		for _, us := range rapid.SliceOf(rapid.Int64Range(0, longestUS)).Draw(t, "us") {
			due := time.Unix(0, 0)
			s.tally.record(due, true, true, &instance.Record{Called: due, Answered: due.Add(time.Duration(us) * time.Microsecond)})
		}
		var wire bytes.Buffer
		if err := gob.NewEncoder(&wire).Encode(reply{Share: pack(s)}); err != nil {
			t.Fatal(err)
		}
		var r reply
		if err := gob.NewDecoder(&wire).Decode(&r); err != nil {
			t.Fatal(err)
		}
		got := r.Share.unpack()
		if !reflect.DeepEqual(got.standing, s.standing) || got.tally.sums != s.tally.sums ||
			!got.tally.Response.Equals(s.tally.Response) || !got.tally.Service.Equals(s.tally.Service) || !got.tally.Answered.Equals(s.tally.Answered) {
			t.Fatalf("sent %+v, got %+v", s.standing, got.standing)
		}
	})
}
