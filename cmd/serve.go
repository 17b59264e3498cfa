package cmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"idemlab/internal/acquirer"
	"idemlab/internal/instance"
	"idemlab/internal/server"
	"idemlab/internal/service"
	"idemlab/internal/tables"
	"idemlab/internal/web"
	"idemlab/scenarios"
)

func (a *app) serve() *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run one strategy as an HTTP service",
		Long: `Run one strategy of the scenario charge as a service: POST /cobrancas with an Idempotency-Key, answered by the contract of the
IETF draft for that header. Point curl, a load tester or your own client at it.

  201, 402  the first answer; stored, and told again to every retry, byte for byte, with Idempotent-Replayed: true
  400       the key is missing or not valid, or the body is no charge
  409       a request with this key is being worked on: come back after Retry-After
  422       the key belongs to another order or amount, or, in business-event, to another instalment
  5xx       the strategy answered with an error, the database or the acquirer did not answer

The body names pedido_id and valor_centavos, and may name parcela: which of the order's charges it is, from 1, which is what a body
without it means. Only business-event looks at it; to the other strategies another instalment is another key.

GET /healthz says whether PostgreSQL answers, and which tables these are. The acquirer is inside, and GET /ledger shows what it was told;
with --acquirer it is a process of its own (idemlab acquirer), also one that takes e-mails in the place of captures. Its ledger counts by the key, or by the header X-Idemlab-Intent where a
client says with that which wish to pay a request belongs to; no strategy sees it.

The tables are new and go with the service. On a server of yours --tables lets another service use the same ones, at the same time or in
the place of one that was killed; the last one out drops them, unless --keep said otherwise.`,
		Example: `  idemlab serve
  idemlab serve --strategy=check-then-act --listen 127.0.0.1:0 --acquirer-latency 2s
  curl -i -d '{"pedido_id": 123, "valor_centavos": 25000}' -H 'Content-Type: application/json' \
       -H 'Idempotency-Key: "8e03978e-40d5-43dd-bc93-6894a57f9324"' http://127.0.0.1:8080/cobrancas
  idemlab serve --dsn postgres://localhost/lab --tables idemlab_6b1f0c2d9a3e4f58 --listen 127.0.0.1:8082`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			o, err := f.options(a, c.Flags().Changed)
			if err != nil {
				return err
			}
			o.another = func(tables string) string { return another(o.strategy.Name, tables, c.Flags()) }
			return a.runServe(c.Context(), f, o)
		},
	}
	f.add(c)
	return c
}

func (a *app) runServe(ctx context.Context, f serveFlags, o serveOptions) (err error) {
	ctx, release := a.untilTold(ctx, f.listen)
	defer release()
	// Before there is anything to undo; nobody is answered until the tables are there.
	l, err := web.Listen(ctx, f.listen.addr)
	if err != nil {
		return err
	}
	defer l.Close()
	srv, err := server.Open(ctx, o.server)
	if err != nil {
		return err
	}
	// Clean-up is this function's own, also where a signal ended the serving.
	defer func() { err = errors.Join(err, srv.Stop(context.WithoutCancel(ctx))) }()
	if why := o.strategy.Lacking(srv.Info().VersionNum); why != "" {
		return fmt.Errorf("%s %s", o.strategy.Name, why)
	}
	schema, err := a.serveTables(ctx, srv, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, schema.Leave(context.WithoutCancel(ctx))) }()
	if f.keep {
		schema.Keep() // from the start: a service that is killed has no end at which to say so
	}

	world := a.acquirerOf(ctx, o)
	defer world.close()
	svc, err := service.Open(ctx, a.service(o, srv, schema, world))
	if err != nil {
		return err
	}
	defer svc.Close()
	if o.tables == "" { // those of another service may be at work
		if err := tables.ForgetWarmUp(ctx, schema); err != nil {
			return err
		}
	}
	a.say("tables: %s", schema.Name())
	a.say("%s", o.hints(srv, schema))
	f.listen.leaves = leftByKill(srv, schema, f.keep || o.tables != "")
	err = a.serveHTTP(ctx, f.listen, l, world.beside(svc.Handler()), svc.CutOff)
	a.say("answered: %s", countsInWords(svc.Answered()))
	if world.inside != nil {
		a.sayTold(world.inside, world.effect)
	}
	return err
}

// leftByKill is what is still there after a second Ctrl-C. After that nobody is left to say so.
func leftByKill(srv *server.Server, schema *server.Schema, others bool) string {
	switch {
	case srv.Info().Embedded:
		return "" // the server goes with the process, however that ends
	case others:
		return "the tables, " + schema.Name() // they are kept, or another service's
	}
	return fmt.Sprintf("the tables, %s, which the next run of idemlab on that server drops", schema.Name())
}

// hints say how to look at the tables, and how another service gets at them, where one can.
func (o serveOptions) hints(srv *server.Server, schema *server.Schema) string {
	where := "…" // a string of the user's may hold a password
	if srv.Info().Embedded {
		where = `"` + srv.DSN() + `"`
	}
	look := fmt.Sprintf("look with\n  psql %s -c 'SELECT * FROM %s.cobranca WHERE pedido_id > 0'", where, schema.Name())
	if srv.Info().Embedded {
		return look
	}
	return look + "\nanother service on them, or one in this one's place:\n  " + o.another(schema.Name())
}

// serveTables makes the tables, or takes those that were named.
func (a *app) serveTables(ctx context.Context, srv *server.Server, o serveOptions) (*server.Schema, error) {
	if o.tables != "" {
		schema, note, err := tables.Join(ctx, srv, o.tables, o.strategy)
		if note != "" {
			a.say("warning: %s", note)
		}
		return schema, err
	}
	schema, err := tables.CreateOutOfTurn(ctx, srv, o.ddl, o.strategy)
	if err != nil {
		return nil, err
	}
	if err := schema.Share(ctx); err != nil {
		return nil, errors.Join(err, schema.Drop(context.WithoutCancel(ctx)))
	}
	return schema, nil
}

// service lays the pieces together.
func (a *app) service(o serveOptions, srv *server.Server, schema *server.Schema, world world) service.Config {
	conn := schema.Config()
	conn.RuntimeParams["application_name"] = schema.Name() + " attempts"
	c := service.Config{
		Instance: instance.Config{
			Conn: conn, Pool: o.pool, Isolation: o.isolation, Strategy: o.strategy, Seed: o.seed, Lease: o.lease,
		},
		Acquirer: world.of, Effect: world.effect, Syntax: o.syntax, Timeout: o.timeout, CancelWithClient: o.cancelWithClient, RetryAfter: o.retryAfter,
		About: map[string]string{
			"strategy": o.strategy.Name, "isolation": string(o.isolation), "tables": schema.Name(),
			"postgresql_version": srv.Info().Version, "acquirer": world.where,
		},
		Warn: func(text string) { a.say("warning: %s (this is said once)", text) },
	}
	if o.log {
		c.Log = slog.New(slog.NewTextHandler(a.stderr, nil))
	}
	return c
}

// world is the acquirer that a service talks to: inside, or a process of its own.
type world struct {
	inside *acquirer.Acquirer // nil where it is elsewhere
	of     func(intent string) scenarios.Acquirer
	effect scenarios.Effect
	where  string
	close  func()
}

func (a *app) acquirerOf(ctx context.Context, o serveOptions) world {
	if o.elsewhere == nil {
		in := acquirer.New(o.acquirer)
		return world{inside: in, of: in.For, where: "inside", close: func() {}}
	}
	r := o.elsewhere
	asked, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	w, start := r.Effect().Words(), "idemlab acquirer"
	if r.Effect() != scenarios.Money {
		start += " --effect=" + r.Effect().String()
	}
	if err := r.Greet(asked); err != nil {
		a.say("warning: no %s answers at %s yet: start one with %s (%v)", w.Far, hostOf(o.acquirerURL), start, err)
	}
	if o.strategy.WantsDedup {
		a.say("%s makes its claims for one that %s: start the %s with --acquirer-dedup", o.strategy.Name, w.Once, w.Far)
	}
	return world{of: r.For, effect: r.Effect(), where: hostOf(o.acquirerURL), close: r.Close}
}

// hostOf leaves out of a URL what may be a secret: a run's own acquirer has a token in its path.
func hostOf(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return "elsewhere"
	}
	return u.Scheme + "://" + u.Host
}

// beside puts the ledger of an acquirer that is inside next to the service, so that it can be looked at.
func (w world) beside(h http.Handler) http.Handler {
	if w.inside == nil {
		return h
	}
	mux := http.NewServeMux()
	mux.Handle("/", h)
	mux.HandleFunc("/ledger", service.OnlyGet(w.inside.ServeLedger)) // with a method in the pattern, others would find nothing here
	return mux
}

// until ends every request's context when the other one ends.
func until(end context.Context, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(end, cancel)()
		h.ServeHTTP(w, r.WithContext(ctx))
	})
}

// sayTold is what the acquirer was told, in a line.
func (a *app) sayTold(acq *acquirer.Acquirer, e scenarios.Effect) {
	var captures, twice int
	counts := acq.Counts()
	for _, c := range counts {
		captures += c.Captures
		if c.Captures > 1 {
			twice++
		}
	}
	w := e.Words()
	a.say("%s: intents %d, %ss %d, intents %s more than once %d", w.Far, len(counts), w.One, captures, w.Charged, twice)
}

// countsInWords is "1 x 201, 49 x 409": the statuses in their order.
func countsInWords(counts map[int]int64) string {
	var statuses []int
	for status := range counts {
		statuses = append(statuses, status)
	}
	slices.Sort(statuses)
	var words []string
	for _, status := range statuses {
		words = append(words, fmt.Sprintf("%d x %d", counts[status], status))
	}
	if len(words) == 0 {
		return "nothing"
	}
	return strings.Join(words, ", ")
}
