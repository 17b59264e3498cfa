package report

import (
	"bytes"
	"encoding/xml"
	"strings"
	"testing"

	"idemlab/results"
)

// Whoever reads of a failure in CI finds there what it was about, and what to type, whatever was run.
func TestAFailureSaysWhatWasFoundAndWhatToTypeAgain(t *testing.T) {
	failed := []results.Gate{{Expr: "duration_ms>0", Field: "duration_ms", Op: ">", Value: 1.0, Limit: 0.0, Outcome: results.GateFailed}}
	acq := results.AcquirerSettings{AcquirerLatency: "50ms", DeclineShare: 0.5, AcquirerDedup: true}
	const asked, end = "--acquirer-latency 50ms --decline-share 0.5 --acquirer-dedup", " --isolation 'read committed' --seed 7"
	for want, r := range map[string]results.Run{
		"idemlab race --strategy=s --attempts 4 --intents 3 --rounds 2 --instances 1 --pool 4 --effect email " + asked + " --lease 5ms --schema 'x.sql'" + end: {
			Engine: "race", Settings: &results.Settings{AttemptsPerIntent: 4, Intents: 3, Rounds: 2, Instances: 1, Pool: 4, Effect: "email", AcquirerSettings: &acq, LeaseMS: 5, Schema: "x.sql"}},
		"idemlab race --strategy=s --attempts 4 --intents 3 --rounds 2 --instances 1 --pool 4" + end: {
			Engine: "race", Hazard: "race", Settings: &results.Settings{AttemptsPerIntent: 4, Intents: 3, Rounds: 2, Instances: 1, Pool: 4}},
		"idemlab explore --strategy=s --sessions 2 --no-split --crashes 1 --lost-replies 0 --search full --hard": {
			Engine: "explore", Explore: &results.Explore{Sessions: 2, AttemptsPerSession: 2, Crashes: 1, Search: "full", Hard: true, Coverage: "exhaustive"}},
		"idemlab explore --spec …": {Engine: "explore", Explore: &results.Explore{Search: "spec"}},
		"idemlab expiry --strategy=s --key-lifetime 24h --retry-after 25h0m1s --purge finished --intents 10 --unfinished 2 --fresh 3 --batch 4" +
			" --decline-share 0.5 --acquirer-dedup" + end: {
			Engine: "expiry", Expiry: &results.Expiry{Settings: results.ExpirySettings{KeyLifetimeS: 86400, RetryAfterS: 90001, Purge: "finished",
				Answered: 10, Unfinished: 2, Fresh: 3, Batch: 4, DeclineShare: 0.5, Dedup: true}}},
		"idemlab neighbours --constraint=s": {Engine: "neighbours", Neighbours: &results.Neighbours{}},
		"idemlab repeats --strategy=s --repeats 64" + end: {
			Engine: "repeats", Repeats: &results.Repeats{Settings: results.RepeatsSettings{Repeats: 64}}},
		"idemlab recover --strategy=s --befalls after-claim,slow-answer --intents 2 --reconciler patient --lease 200ms --deadline 400ms " + asked + end: {
			Engine: "recover", Recovery: &results.Recovery{Settings: results.RecoverySettings{Reconciler: "patient", LeaseMS: 200, DeadlineMS: 400,
				Demonstration: &results.Demonstration{Befalls: []string{"after-claim", "slow-answer"}, IntentsEach: 2, AcquirerSettings: acq}}}},
		"idemlab reconcile --strategy=s --tables idemlab_6b1f0c2d9a3e4f58 --acquirer … --lease 60000ms --deadline 90000ms --dry-run": {
			Engine: "reconcile", Recovery: &results.Recovery{Settings: results.RecoverySettings{LeaseMS: 60000, DeadlineMS: 90000, DryRun: true, Tables: "idemlab_6b1f0c2d9a3e4f58"}}},
		"idemlab stored --store-errors=final" + end: {Engine: "stored", Stored: &results.Stored{Policy: "final"}},
		"idemlab bystander --strategy=s --hot 20,40 --acquirer-latency 5ms,1000ms --unrelated-latency 5ms --clients 8 --pool 20 --duration 2000ms" + end: {
			Engine: "bystander", Bystander: &results.Bystander{Settings: results.BystanderSettings{Clients: 8, AcquirerMS: 5, DurationMS: 2000, Pool: 20}, Cells: []results.BystanderCell{
				{Hot: 20, AcquirerLatencyMS: 5}, {Hot: 20, AcquirerLatencyMS: 1000}, {Hot: 40, AcquirerLatencyMS: 5}, {Hot: 40, AcquirerLatencyMS: 1000}}}},
		"idemlab consume --strategy=s --broker postgres --key-from payload --messages 60 --consumers 3 --prefetch 4 --kills 20 --double-publish 0.5 --double-publish-id same" +
			" --double-publish-after 10ms --window 3000ms --max-deliveries 9 --retry-after 0ms --orphan-after 4000ms --attempt-timeout 3000ms " + asked + end: {
			Engine: "consume", Consume: &results.Consume{Kills: results.ConsumeKills{Planned: 20}, Settings: results.ConsumeSettings{
				Broker: "postgres", KeyFrom: "payload", WindowMS: 3000, Charges: 60, Consumers: 3, Prefetch: 4, DoublePublishShare: 0.5, DoublePublishID: "same", DoublePublishAfterMS: 10,
				MaxDeliveries: 9, OrphanAfterMS: 4000, AttemptTimeoutMS: 3000, AcquirerSettings: &acq}}},
		"idemlab load --strategy=s --clients 16 --duration 10000ms --warmup 0ms --repeat-share 0.1 --instances 1 --pool 16 " + asked + end: {
			Engine: "load", Load: &results.Load{Settings: results.LoadSettings{Loop: "closed", Clients: 16, DurationMS: 10000, RepeatShare: 0.1, Instances: 1, Pool: 16, AcquirerSettings: &acq}}},
		"idemlab load --strategy=s --rate 2000000 --arrivals constant --max-in-flight 10 --duration 10000ms --warmup 2000ms --repeat-share 0 --hot-share 0.5 --hot-keys 4" +
			" --stall 100ms --instances 2 --pool 20 --lease 5ms" + end: {
			Engine: "load", Load: &results.Load{Settings: results.LoadSettings{Loop: "open", Rate: 2e6, Arrivals: "constant", MaxInFlight: 10, DurationMS: 10000, WarmupMS: 2000,
				HotShare: 0.5, HotKeys: 4, StallMS: 100, Instances: 2, Pool: 20, LeaseMS: 5}}},
	} {
		r.Strategy, r.Seed, r.Status, r.Gates = "s", 7, results.Complete, failed
		r.Server.Isolation = "read committed"
		if got, want := failure(t, r), "field: duration_ms\nfound: 1\nlimit: fails where > 0\nagain: "+want; got != want {
			t.Errorf("%s:\n%s\nwant\n%s", r.Engine, got, want)
		}
	}
	cut := results.Run{Status: results.Complete, Gates: failed, Explore: &results.Explore{Search: "dpor", Coverage: "cut"}}
	if got := failure(t, cut); strings.Contains(got, "again") {
		t.Errorf("there is no order to run again: %s", got)
	}
}

// failure is the text of the one failure that a run's file has.
func failure(t *testing.T, r results.Run) string {
	t.Helper()
	var b bytes.Buffer
	if err := JUnit(&b, results.Document{Runs: []results.Run{r}}); err != nil {
		t.Fatal(err)
	}
	var read junitSuites
	if err := xml.Unmarshal(b.Bytes(), &read); err != nil {
		t.Fatal(err)
	}
	for _, c := range read.Suites[0].Cases {
		if c.Failure != nil {
			return c.Failure.Text
		}
	}
	t.Fatalf("no failure in %s", b.String())
	return ""
}
