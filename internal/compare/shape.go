package compare

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"idemlab/results"
)

// kind is what two runs must have in common to be thought of as the same one, then and now.
type kind struct{ engine, scenario, strategy, hazard, mutant, isolation string }

func kindOf(r results.Run) kind {
	return kind{r.Engine, r.Scenario, r.Strategy, r.Hazard, r.Mutant, r.Server.Isolation}
}

// circumstances are what a run was asked for and what it ran on, by the document's names.
type circumstances struct {
	shaping map[string]string // decide about the numbers
	noted   map[string]string // are worth knowing
}

// circumstancesOf reads them off the run's own JSON, so that a setting that is new is one that counts, until somebody
// decides otherwise here.
func circumstancesOf(r results.Run) (circumstances, error) {
	var doc map[string]any
	text, err := json.Marshal(r)
	if err == nil {
		err = json.Unmarshal(text, &doc)
	}
	if err != nil {
		return circumstances{}, fmt.Errorf("read settings of %s: %w", r.Strategy, err)
	}
	c := circumstances{shaping: map[string]string{}, noted: map[string]string{}}
	flatten("", doc, func(path, value string) {
		switch {
		case slices.Contains(noted(), path):
			c.noted[path] = value
		case slices.ContainsFunc(shaping(), func(p string) bool { return path == p || strings.HasSuffix(p, ".") && strings.HasPrefix(path, p) }):
			c.shaping[path] = value
		}
	})
	if r.Settings != nil && r.Settings.Effect == "" {
		c.shaping["settings.effect"] = results.Capture
	}
	major, _, _ := strings.Cut(r.Server.Version, ".")
	c.shaping[majorVersion] = major
	return c, nil
}

// majorVersion is no field: minor versions mend faults, major ones change speeds.
const majorVersion = "server.version, major"

// shaping are the fields, or groups of them, that decide about numbers.
func shaping() []string {
	return []string{
		"settings.", "load.settings.", "bystander.settings.", "server.settings.", "server.not_durable",
		"tool.os", "tool.arch", "tool.cpus", "load.client.gomaxprocs",
		"explore.sessions", "explore.attempts_per_session", "explore.crashes", "explore.lost_replies", "explore.instances", "explore.schema",
		"explore.hard", "explore.search", "explore.split", "explore.split_commit",
	}
}

// noted are fields that may differ between runs that are compared: how long was measured, which chance, which release. rounds
// and seconds are what samples are made of, and more of them are better samples of the same.
func noted() []string {
	return []string{
		"settings.rounds", "load.settings.duration_ms", "seed", "expected",
		"server.version", "server.source", "tool.version", "tool.go",
	}
}

// flatten names every single value.
func flatten(path string, v any, leaf func(path, value string)) {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			flatten(strings.TrimPrefix(path+"."+name, "."), inner, leaf)
		}
	case []any: // rows of results
	default:
		leaf(path, fmt.Sprint(v))
	}
}

// differences of what shapes the numbers come first.
func differences(old, new circumstances) []results.Difference {
	var all []results.Difference
	add := func(old, new map[string]string, shapes bool) {
		names := maps.Clone(old)
		maps.Copy(names, new)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if old[name] != new[name] {
				all = append(all, results.Difference{Field: name, Old: or(old[name]), New: or(new[name]), Shapes: shapes})
			}
		}
	}
	add(old.shaping, new.shaping, true)
	add(old.noted, new.noted, false)
	return all
}

func or(value string) string {
	if value == "" {
		return "none"
	}
	return value
}

// together lays the circumstances of several runs together, which differ in what is noted at the most.
func together(runs []measured) circumstances {
	c := circumstances{shaping: runs[0].circumstances.shaping, noted: map[string]string{}}
	for _, name := range noted() {
		var values []string
		for _, r := range runs {
			if v := r.circumstances.noted[name]; v != "" && !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
		slices.Sort(values)
		if n := len(values); n > 3 {
			values = []string{fmt.Sprintf("%d values", n)}
		}
		c.noted[name] = strings.Join(values, ", ")
	}
	return c
}
