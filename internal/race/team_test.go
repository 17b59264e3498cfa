package race

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/instance"
	"idemlab/internal/server/servertest"
	"idemlab/scenarios"
)

// fake is a member that answers each request with its order's id, and notes what it was told to do, and when.
type fake struct {
	name  string
	log   *[]string
	at    *[]time.Time // of each fire
	armed salvo
}

func (f *fake) note(did string) { *f.log = append(*f.log, did+" "+f.name) }

func (f *fake) warmUp(context.Context) error { f.note("warm up"); return nil }
func (f *fake) arm(_ context.Context, s salvo) error {
	f.note("arm")
	f.armed = s
	return nil
}
func (f *fake) fire() error {
	f.note("fire")
	*f.at = append(*f.at, time.Now())
	return nil
}
func (f *fake) collect() ([]instance.Record, error) {
	f.note("collect")
	var records []instance.Record
	for _, r := range f.armed.Requests {
		records = append(records, instance.Record{Body: fmt.Sprint(r.OrderID), Err: f.name})
	}
	return records, nil
}
func (f *fake) close() error { f.note("close"); return nil }

func fakes(n int) (t *team, log *[]string, at *[]time.Time) {
	t, log, at = &team{}, &[]string{}, &[]time.Time{}
	for i := range n {
		t.members = append(t.members, &fake{name: string(rune('a' + i)), log: log, at: at})
	}
	return t, log, at
}

func requests(n int) (list []scenarios.Request) {
	for i := range n {
		list = append(list, scenarios.Request{Key: "k", OrderID: int64(100 + i)})
	}
	return list
}

// Requests are dealt in turn, and each record stands where its request stood.
func TestRecordsStandInTheOrderOfTheRequests(t *testing.T) {
	for _, c := range []struct{ members, requests int }{{1, 1}, {1, 5}, {2, 5}, {3, 7}, {3, 6}, {4, 2}} {
		team, _, _ := fakes(c.members)
		asked := requests(c.requests)
		got, err := team.shoot(t.Context(), "i", asked)
		if err != nil || len(got) != len(asked) {
			t.Fatalf("%d records, %v", len(got), err)
		}
		for i, r := range got {
			if want := string(rune('a' + i%c.members)); r.Body != fmt.Sprint(asked[i].OrderID) || r.Err != want {
				t.Errorf("%d members, request %d of order %d: the record is of order %s by %s", c.members, i, asked[i].OrderID, r.Body, r.Err)
			}
		}
	}
}

// All are armed before one fires, all fire before one is asked for its answers, and no time passes between the shots: in the
// bubble the clock stands still unless somebody sleeps.
func TestMembersFireTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		team, log, at := fakes(3)
		if _, err := team.shoot(t.Context(), "i", requests(8)); err != nil {
			t.Fatal(err)
		}
		want := "arm a, arm b, arm c, fire a, fire b, fire c, collect a, collect b, collect c"
		if got := strings.Join(*log, ", "); got != want {
			t.Errorf("%s", got)
		}
		if first, last := (*at)[0], (*at)[len(*at)-1]; !first.Equal(last) {
			t.Errorf("%v between the first and the last shot", last.Sub(first))
		}
	})
}

// Side by side warm-ups would race; and no member is left cold.
func TestEveryMemberWarmsUpInTurn(t *testing.T) {
	team, log, _ := fakes(3)
	if err := team.warmUp(t.Context()); err != nil || !slices.Equal(*log, []string{"warm up a", "warm up b", "warm up c"}) {
		t.Errorf("%v, %v", *log, err)
	}
}

// deaf is a child that must not be listened to.
type deaf struct{ asked bool }

func (d *deaf) Read([]byte) (int, error) { d.asked = true; return 0, errors.New("listened to") }

// To wait for one child's answer before the next is released would let the children go one after another.
func TestFiringAChildDoesNotWaitForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		var answers deaf
		c := &instanceProcess{line: newLine(&answers, &said)}
		start := time.Now()
		if err := c.fire(); err != nil || answers.asked || time.Since(start) != 0 {
			t.Errorf("error %v, waited for an answer: %v, after %v", err, answers.asked, time.Since(start))
		}
		if got := strings.TrimSpace(said.String()); got != `{"Fire":true}` {
			t.Errorf("said %s", got)
		}
	})
}

// In this process, too, each record stands where its request stood, and every attempt parks until the gate opens.
func TestLocalMemberParksAndKeepsTheOrder(t *testing.T) {
	entered := make(chan int64, 8)
	inst, err := instance.Open(t.Context(), instance.Config{
		Conn: servertest.Schema(t, ``).Config(), Pool: 1, Isolation: pgx.ReadCommitted,
		Strategy: scenarios.Strategy{Name: "test", New: func(scenarios.Env) scenarios.Handler {
			return func(_ context.Context, _ scenarios.DB, _ scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
				entered <- req.OrderID
				return scenarios.Response{Answer: scenarios.Charged, HTTP: 201, Body: fmt.Sprint(req.OrderID)}, nil
			}
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	m := newLocal(inst, func(string) scenarios.Acquirer { return nil }, time.Minute)
	defer m.close()
	for range 2 { // a member is armed again and again
		asked := requests(8)
		if err := m.arm(t.Context(), salvo{"i", asked}); err != nil {
			t.Fatal(err)
		}
		if n := len(entered); n != 0 {
			t.Errorf("%d attempts began before the gate was open", n)
		}
		if err := m.fire(); err != nil {
			t.Fatal(err)
		}
		got, err := m.collect()
		if err != nil || len(got) != len(asked) || len(entered) != len(asked) {
			t.Fatalf("%d records of %d attempts, %v", len(got), len(entered), err)
		}
		for i, r := range got {
			<-entered
			if r.Body != fmt.Sprint(asked[i].OrderID) {
				t.Errorf("request %d of order %d: the record is of order %s", i, asked[i].OrderID, r.Body)
			}
		}
	}
}
