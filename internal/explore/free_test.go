package explore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	theacquirer "idemlab/internal/acquirer"
	"idemlab/internal/instance"
	"idemlab/scenarios"
)

// Free runs the strategy n times on sessions that nobody orders, as a service would, and returns how often each outcome came,
// in the words of Result.Keys. The acquirer takes up to latency; sessions start up to jitter apart.
func Free(ctx context.Context, config *pgx.ConnConfig, o Options, n int, latency, jitter time.Duration) (map[string]int, error) {
	e, err := open(ctx, config, o)
	if err != nil {
		return nil, err
	}
	defer e.close(ctx)
	keys := map[string]int{}
	for range n {
		key, err := e.free(ctx, latency, jitter)
		if err != nil {
			return nil, err
		}
		keys[key]++
	}
	return keys, nil
}

func (e *engine) free(ctx context.Context, latency, jitter time.Duration) (string, error) {
	e.intents++
	req := scenarios.Request{Key: fmt.Sprintf("free-%d", e.intents), OrderID: e.intents, AmountCents: amountCents}
	if err := instance.Prepare(ctx, e.control, e.o.Scenario, e.o.Strategy, req, e.o.Sessions); err != nil {
		return "", err
	}
	if e.o.Prepare != nil {
		if err := e.o.Prepare(ctx, e.control, req); err != nil {
			return "", err
		}
	}
	var l theacquirer.Latency
	if err := l.Set(fmt.Sprintf("uniform:0s,%s", latency)); err != nil {
		return "", err
	}
	ledger := theacquirer.New(theacquirer.Options{Latency: l, Seed: rand.Uint64(), Dedup: e.o.Strategy.WantsDedup})
	var mutexes sync.Map
	all := make([][]told, len(e.backends))
	gate := make(chan struct{})
	var wg sync.WaitGroup
	gatherers := make([]instance.Gatherer, len(e.backends))
	for i, h := range e.handlers(func(n int) scenarios.Env { return freeEnv(&mutexes, &gatherers[n], n) }) {
		wg.Go(func() {
			<-gate
			if jitter > 0 { // a race in the wild is not one gun for all
				time.Sleep(rand.N(jitter)) // what is tested is disorder in time
			}
			mine := e.o.Scenario.Request(req, i)
			all[i] = attempts(ctx, h, freeDB{e.backends[i].conn}, ledger.For(intent), mine, e.o.AttemptsPerSession)
			for n := range all[i] {
				all[i][n].Tenant = mine.Tenant
			}
		})
	}
	close(gate)
	wg.Wait()
	rows, err := e.rows(ctx)
	if err != nil {
		return "", err
	}
	e.pass(rows)
	in := scenarios.Intent{Request: req, Clients: e.o.Sessions, Rows: rows, Captures: ledger.Counts()[intent].Captures, Tenants: ledger.Tenants()[intent]}
	for _, told := range all {
		for _, t := range told {
			in.Attempts = append(in.Attempts, t.Attempt)
		}
	}
	out := Outcome{Captures: in.Captures}
	for _, f := range e.o.Scenario.Check(in) {
		out.Anomalies = append(out.Anomalies, f.Anomaly)
	}
	return out.spell(all, rows), nil
}

func attempts(ctx context.Context, h scenarios.Handler, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request, most int) []told {
	var all []told
	for range most {
		var e ending
		e.resp, e.err = h(ctx, db, acq, req)
		t := told{Attempt: e.judged(false)}
		var pg *pgconn.PgError
		if errors.As(e.err, &pg) {
			t.state = pg.Code
		}
		all = append(all, t)
		if t.Answer != scenarios.Failed {
			break
		}
	}
	return all
}

func freeEnv(mutexes *sync.Map, g *instance.Gatherer, instance int) scenarios.Env {
	return scenarios.Env{Now: time.Now, Seed: uint64(instance), Gather: g.Gather, Lock: func(_ context.Context, name string) (func(), error) {
		m, _ := mutexes.LoadOrStore(fmt.Sprint(name, instance), &sync.Mutex{})
		m.(*sync.Mutex).Lock()
		return m.(*sync.Mutex).Unlock, nil
	}}
}

// freeDB is a connection as it is.
type freeDB struct{ *pgx.Conn }

func (d freeDB) Session(_ context.Context, f func(scenarios.DB) error) error { return f(d) }
