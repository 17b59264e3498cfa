package gate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"idemlab/results"
)

// Kind is a kind of run: what is known beforehand of the fields that its runs can have.
type Kind struct {
	Engine    string
	Acquirer  bool     // money moves at one in the scenario
	Followups bool     // keys are tried again afterwards
	Measures  bool     // the scenario has counts of its own
	Harm      bool     // its control does other harm than to charge twice
	Answers   []string // that can come
}

// class is what a field's values are.
type class int

const (
	number class = iota
	text
	truth
	list   // of more values than a gate can be on
	counts // a number for each key; it says all that was counted, so that a key that is not in it is zero
	other  // the same without that promise, of numbers
	texts  // a text for each key
)

// Fields are the fields of the run document, and those among them that runs of some kinds can have.
type Fields struct {
	kinds      []Kind
	all, known []field
}

// For reads the schema. A gate is on a field that runs of one of the kinds can have.
func For(kinds []Kind) (Fields, error) {
	all, err := fields()
	known := slices.DeleteFunc(slices.Clone(all), func(f field) bool {
		return !slices.ContainsFunc(kinds, func(k Kind) bool { return k.has(f.path) })
	})
	return Fields{kinds, all, known}, err
}

// field is one field of the run document.
type field struct {
	path  string
	class class
	enum  []string // all that a text can be, where that is known
}

// fields reads the schema's run, in the schema's order: one entry for each value, list and map.
func fields() ([]field, error) {
	var root struct {
		Defs map[string]node `json:"$defs"`
	}
	if err := json.Unmarshal([]byte(results.Schema), &root); err != nil {
		return nil, fmt.Errorf("read schema of the run document: %w", err)
	}
	var all []field
	var walk func(path string, n node)
	walk = func(path string, n node) {
		if name, ok := strings.CutPrefix(n.Ref, "#/$defs/"); ok {
			n = root.Defs[name]
		}
		if len(n.Properties) == 0 {
			all = append(all, n.leaf(path))
			return
		}
		for _, name := range names(n.Properties) {
			walk(strings.TrimPrefix(path+"."+name, "."), n.Properties[name])
		}
	}
	walk("", root.Defs["run"])
	return all, nil
}

// node is as much of a JSON Schema as the run document's uses.
type node struct {
	Ref        string          `json:"$ref"`
	Type       any             `json:"type"`
	Enum       []any           `json:"enum"`
	Properties map[string]node `json:"properties"`
	Additional json.RawMessage `json:"additionalProperties"`
}

func (n node) leaf(path string) field {
	f := field{path: path, class: text}
	switch n.Type {
	case "number", "integer":
		f.class = number
	case "boolean":
		f.class = truth
	case "array":
		f.class = list
	case "object":
		f.class = mapOf(path, n.Additional)
	}
	if path == effect {
		f.enum = append(f.enum, results.Capture)
	}
	for _, v := range n.Enum {
		if s, ok := v.(string); ok {
			f.enum = append(f.enum, s)
		}
	}
	return f
}

func mapOf(path string, additional json.RawMessage) class {
	var value node
	switch err := json.Unmarshal(additional, &value); {
	case err == nil && value.Type == "string":
		return texts
	case path == "answers" || path == "sqlstates":
		return counts
	}
	return other
}

// effect is the field that is absent where it has its first value, which a gate may name all the same.
const effect = "settings.effect"

// names sorts what the decoder has put into a map: groups that belong together stay so, since their names start alike.
func names(properties map[string]node) []string {
	var all []string
	for name := range properties {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// barred are the fields that a gate cannot be on, and why.
func barred() map[string]string {
	return map[string]string{
		"engine": "names the run", "scenario": "names the run", "strategy": "names the run", "hazard": "names the run",
		"mutant": "names the run", "fate": "names the run", "started_at": "is a time of day",
		"status":    "cannot decide: where a run did not come to its end, no gate is judged",
		"exit_code": "follows from the gates", "claim_exit_code": "follows from the claim, as verdict does",
		"gates": "holds the gates", "baseline": "has a judge of its own: --baseline",
	}
}

// blocks are the parts that belong to one engine each, by their name, or to two that are about the same.
func blocks() []string {
	return []string{"explore", "load", "bystander", "storage", "repeats", "consume", "retry", "recovery", "expiry", "stored", "neighbours"}
}

// block is an engine's own part; that of some engines has no run.
func block(engine string) string {
	switch engine {
	case "recover", "reconcile":
		return "recovery"
	}
	return engine
}

// lacks are the parts of a run that an engine leaves out.
func lacks() map[string][]string {
	racesOnly := []string{"settings", "rounds", "racing_ms", "followups", "overlap"}
	told := append(racesOnly, "sqlstates", "waits", "latency")                                  // a story, not a race
	alone := append(racesOnly, "counts", "answers", "sqlstates", "waits", "latency", "control") // no attempts at all
	return map[string][]string{
		"explore":    append(racesOnly, "counts", "answers", "sqlstates", "waits", "latency"),
		"load":       racesOnly,
		"bystander":  append(racesOnly, "waits", "latency"),
		"consume":    append(racesOnly, "waits", "latency"),
		"retry":      {"rounds", "racing_ms", "followups", "overlap", "waits", "latency"},
		"repeats":    append(racesOnly, "waits", "latency", "control"),
		"storage":    append(racesOnly, "counts", "answers", "sqlstates", "waits", "latency", "control"),
		"recover":    told,
		"expiry":     told,
		"stored":     told,
		"reconcile":  alone,
		"neighbours": alone,
	}
}

// has says whether runs of the kind can have the field.
func (k Kind) has(path string) bool {
	in := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return path == p || strings.HasPrefix(path, p+".") })
	}
	if top, _, _ := strings.Cut(path, "."); slices.Contains(blocks(), top) && top != block(k.Engine) {
		return false // an engine's own block
	}
	if in(lacks()[k.Engine]...) {
		return false
	}
	switch {
	case in(forced()...):
		return k.Acquirer && !k.Harm
	case in(acquirers()...):
		return k.Acquirer
	case in("followups"):
		return k.Followups
	case in("counts.attempts_given_up"):
		return k.Engine == "race"
	case in("counts.measures"):
		return k.Measures
	case in("control.anomaly", "explore.likely.violated"):
		return !k.Acquirer || k.Harm
	}
	return true
}

// forced are the fields of who was made to charge twice.
func forced() []string {
	return []string{"control.captures", "control.double_charged", "explore.likely.double_charged"}
}

// acquirers are the fields that are absent in scenarios without an acquirer.
func acquirers() []string {
	all := append(forced(), "counts.intents_charged", effect)
	for _, name := range []string{
		"capture_requests", "captures", "declines", "duplicate_captures", "intents_double_charged", "rows", "duplicate_rows", "orphans",
		"charged_without_record", "answered_without_charge", "owed_cents", "captured_cents",
	} {
		all = append(all, "counts."+name)
	}
	for _, name := range []string{"acquirer_latency_ms", "acquirer_latency", "acquirer_dedup", "decline_share"} {
		all = append(all, "settings."+name, "load.settings."+name)
	}
	return all
}
