package report

import (
	"fmt"
	"strings"

	"idemlab/results"
)

// consumeFields are the figures of a run of consumers.
func consumeFields(r results.Run) []field {
	c := *r.Consume
	return []field{
		{"double-charged", []string{doubleCharged(r)}, moodOfCount(r)},
		{"acquirer told", []string{told(r)}, plain},
		{"rows", []string{rows(r)}, plain},
		{"owed", []string{money(r, func(c results.Counts) int64 { return c.OwedCents })}, plain},
		{"taken", []string{money(r, func(c results.Counts) int64 { return c.CapturedCents })}, moodOfCount(r)},
		{"messages", messages(c), plain},
		{"deliveries", deliveries(c), plain},
		{"killed", killed(c), plain},
		{"answers", consumerAnswers(r), plain},
		{"errors", []string{sqlstates(r)}, plain},
		{"orphans", []string{orphans(c.Orphans)}, plain},
		{"acknowledged", acknowledged(c), moodOfEnd(c)},
		{"control", []string{control(r)}, plain},
		{"verdict", []string{strings.ToUpper(string(r.Verdict)) + ending(r)}, moodOf(r)},
	}
}

func messages(c results.Consume) []string {
	lines := []string{thousands(int64(c.Messages))}
	if c.DoublePublishes > 0 {
		lines = append(lines, count(c.DoublePublishes, "charge")+" sent twice")
	}
	if c.Deduplicated != nil {
		lines = append(lines, thousands(int64(*c.Deduplicated))+" dropped by the broker")
	}
	return lines
}

func deliveries(c results.Consume) []string {
	lines := []string{fmt.Sprintf("%s, %s of them again", thousands(int64(c.Deliveries)), thousands(int64(c.Redeliveries)))}
	if c.RanOut > 0 {
		lines = append(lines, thousands(int64(c.RanOut))+" while the first was at work")
	}
	return lines
}

func killed(c results.Consume) []string {
	k := c.Kills
	if k.Planned == 0 {
		return []string{"none"}
	}
	return []string{
		count(k.Made, "consumer") + " of " + thousands(int64(k.Planned)) + " planned",
		thousands(int64(k.BeforeClaim)) + " before the claim",
		thousands(int64(k.AfterCapture)) + " after the capture",
		thousands(int64(k.BeforeAck)) + " before the acknowledgement",
	}
}

// consumerAnswers are answers, and the attempts that never gave one.
func consumerAnswers(r results.Run) []string {
	lines := answers(r)
	if n := r.Consume.AttemptsDied; n > 0 {
		lines = append(lines, thousands(int64(n))+" died")
	}
	return lines
}

func orphans(o results.ConsumeOrphans) string {
	if o.Recorded+o.Released == 0 {
		return "none"
	}
	return fmt.Sprintf("%s recorded, %s released", thousands(int64(o.Recorded)), thousands(int64(o.Released)))
}

func acknowledged(c results.Consume) []string {
	lines := []string{fmt.Sprintf("%s of %s", thousands(int64(c.Acknowledged)), count(c.Messages, "message"))}
	for _, e := range []extra{{&c.DeadLettered, "dead-lettered"}, {&c.Unfinished, "not ended"}, {&c.TooLate, "too late to say so"}} {
		if *e.n > 0 {
			lines = append(lines, thousands(int64(*e.n))+" "+e.what)
		}
	}
	return lines
}

func moodOfEnd(c results.Consume) mood {
	if c.DeadLettered+c.Unfinished > 0 {
		return unsure
	}
	return good
}

// consumeHeading is what was asked for.
func consumeHeading(b *strings.Builder, r results.Run, c results.ConsumeSettings) {
	fmt.Fprintf(b, "%s, %s: %s over %s, %s, %s in hand each", r.Engine, r.Scenario,
		count(c.Charges, "charge"), brokerName(c), count(c.Consumers, "consumer"), count(c.Prefetch, "message"))
	if c.WindowMS > 0 {
		fmt.Fprintf(b, "; window %s", short(c.WindowMS))
	}
	fmt.Fprintf(b, "; the acquirer takes %s", c.AcquirerLatency)
	fmt.Fprintf(b, "; the key is %s", map[string]string{"payload": "the payload's", "message-id": "the message's id"}[c.KeyFrom])
	if c.DoublePublishShare > 0 {
		fmt.Fprintf(b, "; %.3g%% sent twice, under %s id", 100*c.DoublePublishShare, map[string]string{"new": "another", "same": "the same"}[c.DoublePublishID])
		if c.DoublePublishAfterMS > 0 {
			fmt.Fprintf(b, " %s later", short(c.DoublePublishAfterMS))
		}
	}
	if c.DedupWindowMS > 0 {
		fmt.Fprintf(b, "; the broker drops an id it has taken for %s", short(c.DedupWindowMS))
	}
	fmt.Fprintf(b, "; seed %d\n", r.Seed)
}

func brokerName(c results.ConsumeSettings) string {
	return map[string]string{"postgres": "a queue in PostgreSQL", "rabbitmq": "RabbitMQ"}[c.Broker] + version(c)
}

func version(c results.ConsumeSettings) string {
	if c.Broker == "postgres" || c.BrokerVersion == "" {
		return ""
	}
	return " " + c.BrokerVersion
}

// consumeNotes are what the figures of consumers do not say by themselves.
func consumeNotes(r results.Run) (lines []string) {
	c := r.Consume
	doubled := r.Counts != nil && r.Counts.AcquirerCounts != nil && r.Counts.DuplicateCaptures > 0
	if c.Settings.KeyFrom == "message-id" && c.DoublePublishes > 0 && c.Settings.DoublePublishID == "new" && doubled {
		lines = append(lines, fmt.Sprintf("%s: the key was the message's id, and a charge sent twice under two ids has two keys. "+
			"The broker's id tells one delivery from the next, not one wish from the next.", r.Strategy))
	}
	if c.DeadLettered > 0 {
		deliveries := "1 delivery"
		if n := c.Settings.MaxDeliveries; n > 1 {
			deliveries = thousands(int64(n)) + " deliveries"
		}
		lines = append(lines, fmt.Sprintf("%s: %s set aside after %s: what became of them is for people to find out.",
			r.Strategy, count(c.DeadLettered, "message"), deliveries))
	}
	return lines
}
