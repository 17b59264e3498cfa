package cmd

import (
	"time"

	"github.com/spf13/cobra"

	"idemlab/internal/acquirer"
	"idemlab/internal/broker"
	"idemlab/internal/consume"
	"idemlab/scenarios"
)

// consumeFlags are the flags of consume as typed.
type consumeFlags struct {
	server serverFlags
	output outputFlags
	common commonFlags

	broker, url             string
	keyFrom                 string
	messages, consumers     int
	prefetch, kills         int
	double                  float64
	doubleID                string
	doubleAfter             time.Duration
	window, dedupWindow     time.Duration
	maxDeliveries           int
	retryAfter, orphanAfter time.Duration
	latency                 acquirer.Latency
	declines                float64
	timeout, lease          time.Duration
	dedup                   bool
	typed                   func(flag string) bool // whether a flag was on the command line
}

// brokerURL is the environment variable that stands for --broker-url: what is typed can be read by everybody on the machine.
const brokerURL = "IDEMLAB_BROKER_URL"

func (f *consumeFlags) add(c *cobra.Command) {
	f.latency = acquirer.Fixed(20 * time.Millisecond)
	fl := c.Flags()
	f.common.add(c)
	fl.StringVar(&f.broker, "broker", consume.Postgres, "postgres (a queue table in the run's own schema) or rabbitmq")
	fl.StringVar(&f.url, "broker-url", "", "where RabbitMQ is: amqp://user:password@host:5672/vhost (else "+brokerURL+")")
	fl.StringVar(&f.keyFrom, "key-from", string(consume.Payload), "what is the idempotency key: the one in the payload, or the broker's message-id")
	fl.IntVar(&f.messages, "messages", 60, "charges, a message for each")
	fl.IntVar(&f.consumers, "consumers", 3, "consumers, each an operating-system process")
	fl.IntVar(&f.prefetch, "prefetch", 4, "messages that a consumer has in hand, and works on, at a time")
	fl.IntVar(&f.kills, "kills", 20, "consumers that are killed, each at its own message and at a point of its own, by the seed")
	fl.Float64Var(&f.double, "double-publish", 0, "share of the charges that the producer sends twice, 0 to 1")
	fl.StringVar(&f.doubleID, "double-publish-id", "new", "message id of the second: new or same")
	fl.DurationVar(&f.doubleAfter, "double-publish-after", 0, "how long after the first it is sent (default: at once)")
	fl.DurationVar(&f.window, "window", 3*time.Second, "with --broker postgres: how long a message is its consumer's own before it is delivered again")
	fl.DurationVar(&f.dedupWindow, "dedup-window", 0, "with --broker postgres: for how long a second message with the same id is dropped, as SQS does for 5m (default: never)")
	fl.IntVar(&f.maxDeliveries, "max-deliveries", 0, "set a message aside when it has been delivered this often (default: enough to outlast --orphan-after)")
	fl.DurationVar(&f.retryAfter, "retry-after", 250*time.Millisecond, "deliver a message again after this time where its charge is in progress or has failed")
	fl.DurationVar(&f.orphanAfter, "orphan-after", 0, "take a claim without an answer for an orphan at this age, and ask the acquirer; more than --attempt-timeout (default: a second more)")
	fl.Var(&f.latency, "acquirer-latency", "time the acquirer takes: 50ms, uniform:20ms,80ms or exp:50ms")
	fl.Float64Var(&f.declines, "decline-share", 0, "share of the charges that the acquirer declines, 0 to 1")
	fl.BoolVar(&f.dedup, "acquirer-dedup", false, "the acquirer moves money once for each key; what strategies show of themselves, they show without it")
	fl.DurationVar(&f.timeout, "attempt-timeout", 0, "give an attempt up after this time; it then counts as failed (default: 3s, or ten times the acquirer's)")
	fl.DurationVar(&f.lease, "lease", 0, "length of a claim's lease, in strategies that lease (default: each one's own)")
	f.server.add(c)
	f.output.add(c)
	f.output.gates.add(c, "consume")
	for name, values := range map[string][]string{
		"broker": {consume.Postgres, consume.RabbitMQ}, "key-from": {string(consume.Payload), string(consume.MessageID)}, "double-publish-id": {"new", "same"},
	} {
		_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	f.typed = fl.Changed
}

// options checks everything that can be wrong before a server is looked for, and returns one run for each strategy.
func (f *consumeFlags) options(a *app) ([]consume.Options, error) {
	if f.timeout == 0 {
		f.timeout = max(3*time.Second, 10*f.latency.Mean())
	}
	if f.orphanAfter == 0 {
		f.orphanAfter = f.timeout + time.Second
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	b, err := f.brokerOf(a)
	if err != nil {
		return nil, err
	}
	c, err := f.common.common(a)
	if err != nil {
		return nil, err
	}
	if s, ok := notCharging(c.strategies); ok {
		return nil, usagef("--strategy: consume counts what the acquirer is told, and %s belongs to the scenario %s, which has none: say idemlab race --strategy=%s",
			s.Name, s.Scenario().Name, s.Name)
	}
	if s, ok := elsewhere(c.strategies); ok {
		return nil, usagef("--strategy: consume looks for orphans in %s, and %s keeps its charges in %s", s.Scenario().Tables[0], s.Name, s.Table)
	}
	if err := alike("consume", c.strategies); err != nil {
		return nil, err
	}
	child, err := instanceArgs(consumeInstance)
	if err != nil {
		return nil, err
	}
	o := consume.Options{
		Broker: b, KeyFrom: consume.KeyFrom(f.keyFrom), Charges: f.messages, Kills: f.kills,
		Second:   consume.Second{Share: f.double, Same: f.doubleID == "same", After: f.doubleAfter},
		Prefetch: f.prefetch, Consumers: f.consumers, MaxDeliveries: f.maxDeliveries, RetryAfter: f.retryAfter,
		OrphanAfter: f.orphanAfter, AttemptTimeout: f.timeout, Isolation: c.isolation,
		Acquirer: acquirer.Options{Latency: f.latency, DeclineShare: f.declines, Dedup: f.dedup, Seed: c.seed},
		Lease:    f.lease, Seed: c.seed, Expect: c.expect, DDL: c.ddl, Child: child,
	}
	if o.MaxDeliveries == 0 {
		// A claim that is left behind is met again and again until it is an orphan; and then there are kills, and work that takes long.
		o.MaxDeliveries = 20 + 2*int((f.orphanAfter+f.latency.Mean())/max(f.retryAfter, time.Millisecond))
	}
	var all []consume.Options
	for _, s := range c.strategies {
		o.Scenario, o.Strategy = s.Scenario(), s
		all = append(all, o)
	}
	a.warnDeclines(f.declines, scenarios.Money)
	return all, nil
}

// notCharging returns the first strategy of a scenario without an acquirer.
func notCharging(list []scenarios.Strategy) (scenarios.Strategy, bool) {
	for _, s := range list {
		if !s.Scenario().Acquirer {
			return s, true
		}
	}
	return scenarios.Strategy{}, false
}

// elsewhere returns the first strategy whose charges are not where jobs look for them.
func elsewhere(list []scenarios.Strategy) (scenarios.Strategy, bool) {
	for _, s := range list {
		if s.Table != "" {
			return s, true
		}
	}
	return scenarios.Strategy{}, false
}

// brokerOf says which broker is meant. What only one of them has is refused with the other.
func (f *consumeFlags) brokerOf(a *app) (consume.Broker, error) {
	b := consume.Broker{Name: f.broker}
	switch f.broker {
	case consume.Postgres:
		if f.url != "" {
			return b, usagef("--broker-url is RabbitMQ's: say --broker rabbitmq, too; the queue of --broker postgres is on the server of --dsn")
		}
		b.Window, b.Dedup = f.window, f.dedupWindow
		return b, nil
	case consume.RabbitMQ:
	default:
		return b, usagef("--broker=%s: say postgres or rabbitmq", f.broker)
	}
	if f.typed("window") {
		return b, usagef("--window is of --broker postgres: RabbitMQ's is the server's own consumer_timeout, which is checked once a minute and set in its rabbitmq.conf")
	}
	if f.dedupWindow != 0 {
		return b, usagef("--dedup-window is of --broker postgres: RabbitMQ's queues do not deduplicate by themselves")
	}
	b.URL = f.url
	if b.URL == "" {
		b.URL = a.env(brokerURL)
	}
	if b.URL == "" {
		return b, usagef("--broker rabbitmq: say where it is with --broker-url amqp://guest:guest@localhost:5672/ or in %s", brokerURL)
	}
	if err := broker.CheckRabbitMQ(b.URL); err != nil {
		return b, usagef("--broker-url %w", err)
	}
	return b, nil
}

func (f *consumeFlags) check() error {
	for _, n := range []struct {
		flag            string
		value, min, max int
	}{
		{"messages", f.messages, 1, 10_000}, {"consumers", f.consumers, 1, 50}, {"prefetch", f.prefetch, 1, 100},
		{"kills", f.kills, 0, 10_000}, {"max-deliveries", f.maxDeliveries, 0, 100_000},
	} {
		if n.value < n.min || n.value > n.max {
			return usagef("--%s %d: say %d to %d", n.flag, n.value, n.min, n.max)
		}
	}
	inside := func(v, from, to float64) bool { return v >= from && v <= to } // false for NaN, too
	switch {
	case f.kills > f.messages:
		return usagef("--kills %d: each is for a message of its own, and there are %d; raise --messages", f.kills, f.messages)
	case f.keyFrom != string(consume.Payload) && f.keyFrom != string(consume.MessageID):
		return usagef("--key-from=%s: say payload or message-id", f.keyFrom)
	case !inside(f.double, 0, 1):
		return usagef("--double-publish %v: say a share from 0 to 1", f.double)
	case f.doubleID != "new" && f.doubleID != "same":
		return usagef("--double-publish-id=%s: say new or same", f.doubleID)
	case f.double == 0 && (f.typed("double-publish-id") || f.typed("double-publish-after")):
		return usagef("--double-publish-id and --double-publish-after are of what is sent twice: say --double-publish, too")
	case f.doubleAfter < 0 || f.doubleAfter > time.Hour:
		return usagef("--double-publish-after %v: say 0 to 1h", f.doubleAfter)
	case f.window < 10*time.Millisecond || f.window > time.Hour:
		return usagef("--window %v: say 10ms to 1h", f.window)
	case f.dedupWindow < 0:
		return usagef("--dedup-window %v: say 0 or more", f.dedupWindow)
	case f.retryAfter < 0 || f.retryAfter > time.Minute:
		return usagef("--retry-after %v: say 0 to 1m", f.retryAfter)
	case !inside(f.declines, 0, 1):
		return usagef("--decline-share %v: say a share from 0 to 1", f.declines)
	case f.timeout < 0:
		return usagef("--attempt-timeout %v: say more than 0", f.timeout)
	case f.timeout <= f.latency.Mean():
		return usagef("--attempt-timeout %v: the acquirer takes %v, so most attempts would be given up; say more", f.timeout, f.latency.String())
	case f.orphanAfter <= f.timeout:
		return usagef("--orphan-after %v: an attempt may last %v (--attempt-timeout), and a claim that is released under it is charged twice; say more",
			f.orphanAfter, f.timeout)
	case f.lease < 0:
		return usagef("--lease %v: say 0 or more", f.lease)
	}
	return nil
}
