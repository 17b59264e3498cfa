// Package service is the charge service over HTTP: POST /cobrancas in front of one instance of a strategy. It speaks the contract
// of the Idempotency-Key draft, and adds nothing to what the strategy decides: who is first, who waits and who is refused is the
// strategy's own, and a strategy that answers a duplicate with an error is seen to do so.
//
// Source: draft-ietf-httpapi-idempotency-key-header-07, and Stripe's API reference, "Idempotent requests", for what the draft
// leaves open (the length of a key, the header on a replay).
package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"idemlab/internal/instance"
	"idemlab/scenarios"
)

// Path is where charges are posted.
const Path = "/cobrancas"

// Overhead is how many connections a service holds beside its pool.
const Overhead = sideConns

// sideConns are for what is not the strategy's: orders that must be there beforehand, and the question whether PostgreSQL answers.
// From the pool it could not be asked while attempts wait for each other with all connections in their hands.
const sideConns = 2

// Config says what a service is.
type Config struct {
	Instance instance.Config
	// Acquirer is bound to an attempt's intent; see IntentHeader.
	Acquirer func(intent string) scenarios.Acquirer
	// Effect is what the acquirer is asked for: clients are told of an e-mail, or of money. Optional.
	Effect scenarios.Effect
	Syntax KeySyntax
	// Timeout is the limit of one attempt.
	Timeout time.Duration
	// CancelWithClient ends an attempt when its client hangs up. Left out, the attempt goes on to its end, and the client's retry
	// finds what became of it.
	CancelWithClient bool
	// RetryAfter is what a client is told to wait where its key is being worked on.
	RetryAfter time.Duration
	// About is what GET /healthz says beside the state.
	About map[string]string
	// Warn is told, once for each kind, of keys that are none. Optional.
	Warn func(text string)
	// Log receives a line for each request. Optional.
	Log *slog.Logger
	// Watch is told of the statements of an intent's attempt. Optional.
	Watch func(intent string) instance.Watch
}

// Service answers requests. It is safe for concurrent use.
type Service struct {
	c        Config
	inst     *instance.Instance
	side     *pgxpool.Pool
	orders   orders
	warnings warnings

	work     context.Context // ends when the attempts are to be cut off
	cutOff   context.CancelFunc
	attempts sync.WaitGroup
	answered [statusKinds]atomic.Int64
}

// Open connects the pool, warms it up and returns the service: from then on it can answer.
func Open(ctx context.Context, c Config) (_ *Service, err error) {
	if c.Warn == nil {
		c.Warn = func(string) {}
	}
	s := &Service{c: c, warnings: warnings{say: c.Warn}}
	s.work, s.cutOff = context.WithCancel(context.WithoutCancel(ctx))
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	if s.side, err = openSide(ctx, c.Instance); err != nil {
		return nil, err
	}
	if s.inst, err = instance.Open(ctx, c.Instance); err != nil {
		return nil, err
	}
	if err := warmUp(ctx, s.inst); err != nil {
		return nil, err
	}
	return s, nil
}

// mostWarmUps is how often a warm-up is begun. Another service may be at work on the same tables, and at SERIALIZABLE one of the two
// is then refused, with nothing wrong.
const mostWarmUps = 10

func warmUp(ctx context.Context, inst *instance.Instance) error {
	for try := 1; ; try++ {
		err := inst.WarmUp(ctx)
		var pg *pgconn.PgError
		if try == mostWarmUps || !errors.As(err, &pg) || pg.Code != "40001" { // serialization_failure
			return err
		}
	}
}

// openSide opens the small pool, at the server's own isolation level.
func openSide(ctx context.Context, c instance.Config) (*pgxpool.Pool, error) {
	pc, err := pgxpool.ParseConfig("")
	if err != nil {
		return nil, fmt.Errorf("prepare side pool: %w", err)
	}
	pc.ConnConfig = c.Conn.Copy()
	pc.ConnConfig.RuntimeParams["application_name"] += " side"
	pc.MaxConns, pc.MinConns = sideConns, 0
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("open side pool: %w", err)
	}
	return pool, nil
}

// CutOff ends the attempts that are under way. Their clients are told of an error, if they are still there.
func (s *Service) CutOff() { s.cutOff() }

// Close cuts off what is still under way, waits for it, and closes the connections.
func (s *Service) Close() {
	s.cutOff()
	s.attempts.Wait()
	if s.inst != nil {
		s.inst.Close()
	}
	if s.side != nil {
		s.side.Close()
	}
}

// Handler answers POST /cobrancas and GET /healthz.
func (s *Service) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(Path, s.serveCharge)
	mux.HandleFunc("/healthz", s.serveHealth)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, r, problem{kind: "not-found", Status: http.StatusNotFound, Title: "There is nothing here",
			Detail: "charges are posted to " + Path + "; GET /healthz says how the service is"})
	})
	if s.c.Log == nil {
		return mux
	}
	return logged(mux, s.c.Log)
}

// serveCharge is one attempt: read, run the strategy, answer.
func (s *Service) serveCharge(w http.ResponseWriter, r *http.Request) {
	req, intent, refused := s.read(w, r)
	if refused != nil {
		s.refuse(w, r, *refused)
		return
	}
	note(r, req.Key, intent)
	s.warnings.look(req.Key)
	if req.Installment > 0 && !s.c.Instance.Strategy.Installments {
		s.warnings.once(ignoresInstallments)
	}

	s.attempts.Add(1)
	defer s.attempts.Done()
	if err := s.orders.exist(s, req); err != nil {
		s.refuse(w, r, unavailable(err.Error(), s.c.RetryAfter))
		return
	}
	ctx, cancel := s.attempt(r)
	defer cancel()
	if s.c.Watch != nil {
		ctx = instance.Watched(ctx, s.c.Watch(intent))
	}
	s.answer(w, r, s.inst.Handle(ctx, s.c.Acquirer(intent), req))
}

// attempt is the context in which a strategy runs. Unless told otherwise it does not end with the request: a client that stopped
// waiting does not undo what it asked for, and the answer is wanted when it comes back.
func (s *Service) attempt(r *http.Request) (context.Context, context.CancelFunc) {
	ctx := r.Context()
	if !s.c.CancelWithClient {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, s.c.Timeout)
	stop := context.AfterFunc(s.work, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// answer says what the strategy has said. What was stored goes out as it was stored, the first time and every time.
func (s *Service) answer(w http.ResponseWriter, r *http.Request, rec instance.Record) {
	switch rec.Answer {
	case scenarios.InProgress:
		s.refuse(w, r, problem{kind: "outstanding", Status: http.StatusConflict, Title: "A request is outstanding for this Idempotency-Key",
			Detail: "the first request with this key has not been answered yet: send it again, with the same key", retryAfter: s.c.RetryAfter})
	case scenarios.Mismatched:
		s.refuse(w, r, problem{kind: "reused", Status: http.StatusUnprocessableEntity, Title: "Idempotency-Key is already used",
			Detail: "it belongs to a request with another pedido_id, valor_centavos or parcela: a new charge takes a new key"})
	case scenarios.Failed:
		s.refuse(w, r, failure(rec, s.c.Effect.Words(), s.c.RetryAfter))
	default:
		s.count(rec.HTTP)
		h := w.Header()
		h.Set("Content-Type", "application/json")
		if rec.Answer == scenarios.Replayed {
			h.Set(ReplayedHeader, "true")
		}
		w.WriteHeader(rec.HTTP)
		_, _ = w.Write([]byte(rec.Body)) // a client that has gone comes back for it
	}
}

// refuse answers with a problem.
func (s *Service) refuse(w http.ResponseWriter, r *http.Request, p problem) {
	s.count(p.Status)
	noteSQLState(r, p.SQLState)
	p.write(w)
}

// statusKinds is more than any HTTP status.
const statusKinds = 600

func (s *Service) count(status int) {
	if status < statusKinds {
		s.answered[status].Add(1)
	}
}

// Answered is how often which status was the answer, so far.
func (s *Service) Answered() map[int]int64 {
	counts := map[int]int64{}
	for status := range s.answered {
		if n := s.answered[status].Load(); n > 0 {
			counts[status] = n
		}
	}
	return counts
}
