package report

import (
	"fmt"
	"slices"
	"strings"

	"idemlab/results"
)

// again is the command that makes a run once more, or shows a cell's violation once more: whoever reads of a failure in CI finds there what
// to type. What the document does not hold is left to the reader.
func again(r results.Run) string {
	switch {
	case r.Explore != nil && r.Explore.Search == "spec":
		return "idemlab explore --spec …"
	case r.Explore != nil && r.Explore.Trace == nil && r.Explore.Coverage != "exhaustive":
		return "" // how far it came was a matter of time
	case r.Explore != nil:
		return Again(r)
	case r.Retry != nil:
		return againRetry(r)
	case r.Storage != nil:
		s := r.Storage.Settings
		return fmt.Sprintf("idemlab storage --layout=%s --keys %d --rate %s --lifetime %s --batch %d --sample %d --seed %d",
			r.Storage.Layout, s.Keys, decimal(s.Rate), lifetime(s), s.Batch, s.Sample, r.Seed)
	case r.Repeats != nil:
		return command(r, fmt.Sprintf("--repeats %d", r.Repeats.Settings.Repeats))
	case r.Expiry != nil:
		return againExpiry(r)
	case r.Neighbours != nil:
		return "idemlab neighbours --constraint=" + r.Strategy
	case r.Recovery != nil:
		return againRecovery(r)
	case r.Stored != nil:
		return fmt.Sprintf("idemlab stored --store-errors=%s --isolation '%s' --seed %d", r.Stored.Policy, r.Server.Isolation, r.Seed)
	case r.Bystander != nil:
		return againBystander(r)
	case r.Consume != nil:
		return againConsume(r)
	case r.Load != nil:
		return againLoad(r)
	case r.Settings != nil:
		return againRace(r)
	}
	return ""
}

// command is the line of the run's engine and strategy, with what is the engine's own between; empty words are left out.
func command(r results.Run, words ...string) string {
	words = append(append([]string{"idemlab " + r.Engine + " --strategy=" + r.Strategy}, words...),
		fmt.Sprintf("--isolation '%s' --seed %d", r.Server.Isolation, r.Seed))
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

// acquirerFlags ask for the same acquirer, as far as the command can.
func acquirerFlags(s *results.AcquirerSettings) string {
	if s == nil {
		return ""
	}
	var words []string
	if s.AcquirerLatency != "" {
		words = append(words, "--acquirer-latency "+s.AcquirerLatency)
	}
	if s.DeclineShare > 0 {
		words = append(words, fmt.Sprintf("--decline-share %v", s.DeclineShare))
	}
	if s.AcquirerDedup {
		words = append(words, "--acquirer-dedup")
	}
	return strings.Join(words, " ")
}

// millis is a flag with a duration, which is left out where that is 0.
func millis(flag string, ms float64) string {
	if ms == 0 {
		return ""
	}
	return fmt.Sprintf("--%s %vms", flag, ms)
}

// poolFlag is left out for documents that do not say.
func poolFlag(connections int) string {
	if connections == 0 {
		return ""
	}
	return fmt.Sprintf("--pool %d", connections)
}

func schemaFlag(file string) string {
	if file == "" {
		return ""
	}
	return fmt.Sprintf("--schema '%s'", file)
}

func againRace(r results.Run) string {
	s := r.Settings
	r.Engine = "race" // so is a sweep's cell
	return command(r, fmt.Sprintf("--attempts %d --intents %d --rounds %d --instances %d", s.AttemptsPerIntent, s.Intents, s.Rounds, s.Instances), poolFlag(s.Pool),
		strings.TrimSpace(effectFlag(r)), acquirerFlags(s.AcquirerSettings), millis("lease", s.LeaseMS), schemaFlag(s.Schema))
}

func againRetry(r results.Run) string {
	s, t := r.Settings, r.Retry.Settings
	words := []string{strings.TrimSpace(effectFlag(r)),
		fmt.Sprintf("--intents %d --clicks %d --concurrency %d --timeout %vms --retries %d", s.Intents, t.Clicks, t.Concurrency, t.TimeoutMS, t.Retries),
		"--backoff " + t.Backoff, fmt.Sprintf("--retry-after-cap %vms", t.RetryAfterCapMS), "--key-policy " + t.KeyPolicy,
		fmt.Sprintf("--instances %d --pool %d", s.Instances, s.Pool), acquirerFlags(s.AcquirerSettings), millis("lease", s.LeaseMS)}
	for _, f := range r.Retry.Faults {
		words = append(words, "--fault "+f.Fault)
	}
	if t.Reconcile {
		words = append(words, "--reconcile")
	}
	return command(r, words...)
}

func againExpiry(r results.Run) string {
	s := r.Expiry.Settings
	return command(r, fmt.Sprintf("--key-lifetime %s --retry-after %s --purge %s --intents %d --unfinished %d --fresh %d --batch %d",
		span(s.KeyLifetimeS), span(s.RetryAfterS), s.Purge, s.Answered, s.Unfinished, s.Fresh, s.Batch),
		acquirerFlags(&results.AcquirerSettings{DeclineShare: s.DeclineShare, AcquirerDedup: s.Dedup}))
}

func againRecovery(r results.Run) string {
	s := r.Recovery.Settings
	if s.Demonstration == nil {
		line := fmt.Sprintf("idemlab reconcile --strategy=%s --tables %s --acquirer … --lease %vms", r.Strategy, s.Tables, s.LeaseMS)
		if s.DeadlineMS > 0 {
			line += " " + millis("deadline", s.DeadlineMS)
		}
		if s.DryRun {
			line += " --dry-run"
		}
		return line
	}
	return command(r, fmt.Sprintf("--befalls %s --intents %d --reconciler %s --lease %vms", strings.Join(s.Befalls, ","), s.IntentsEach, s.Reconciler, s.LeaseMS),
		millis("deadline", s.DeadlineMS), acquirerFlags(&s.AcquirerSettings))
}

func againBystander(r results.Run) string {
	s := r.Bystander.Settings
	var hot, latencies []string
	for _, c := range r.Bystander.Cells {
		hot, latencies = append(hot, fmt.Sprint(c.Hot)), append(latencies, fmt.Sprintf("%vms", c.AcquirerLatencyMS))
	}
	return command(r, fmt.Sprintf("--hot %s --acquirer-latency %s --unrelated-latency %vms --clients %d --pool %d --duration %vms",
		strings.Join(each(hot), ","), strings.Join(each(latencies), ","), s.AcquirerMS, s.Clients, s.Pool, s.DurationMS))
}

// each is a list without what stood in it before.
func each(list []string) []string {
	var once []string
	for _, text := range list {
		if !slices.Contains(once, text) {
			once = append(once, text)
		}
	}
	return once
}

func againConsume(r results.Run) string {
	s := r.Consume.Settings
	words := []string{fmt.Sprintf("--broker %s --key-from %s --messages %d --consumers %d --prefetch %d --kills %d",
		s.Broker, s.KeyFrom, s.Charges, s.Consumers, s.Prefetch, r.Consume.Kills.Planned)}
	if s.DoublePublishShare > 0 {
		words = append(words, fmt.Sprintf("--double-publish %v --double-publish-id %s", s.DoublePublishShare, s.DoublePublishID),
			millis("double-publish-after", s.DoublePublishAfterMS))
	}
	return command(r, append(words, millis("window", s.WindowMS), millis("dedup-window", s.DedupWindowMS), fmt.Sprintf("--max-deliveries %d", s.MaxDeliveries),
		fmt.Sprintf("--retry-after %vms --orphan-after %vms --attempt-timeout %vms", s.RetryAfterMS, s.OrphanAfterMS, s.AttemptTimeoutMS),
		acquirerFlags(s.AcquirerSettings), millis("lease", s.LeaseMS), schemaFlag(s.Schema))...)
}

func againLoad(r results.Run) string {
	s := r.Load.Settings
	loop := fmt.Sprintf("--clients %d", s.Clients)
	if s.Clients == 0 {
		loop = fmt.Sprintf("--rate %s --arrivals %s --max-in-flight %d", decimal(s.Rate), s.Arrivals, s.MaxInFlight)
	}
	hot := ""
	if s.HotShare > 0 {
		hot = fmt.Sprintf("--hot-share %v --hot-keys %d", s.HotShare, s.HotKeys)
	}
	return command(r, loop, fmt.Sprintf("--duration %vms --warmup %vms --repeat-share %v", s.DurationMS, s.WarmupMS, s.RepeatShare), hot,
		millis("stall", s.StallMS), fmt.Sprintf("--instances %d --pool %d", s.Instances, s.Pool),
		acquirerFlags(s.AcquirerSettings), millis("lease", s.LeaseMS), schemaFlag(s.Schema))
}
