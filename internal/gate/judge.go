package gate

import (
	"encoding/json"
	"fmt"
	"strings"

	"idemlab/results"
)

// Judge holds a run to the gates whose fields runs of its kind can have.
//
// Where a run did not come to its end, what it measured until then proves nothing about the whole: no gate is judged.
func Judge(gates []Gate, run results.Run, k Kind) ([]results.Gate, error) {
	var doc map[string]any
	text, err := json.Marshal(run)
	if err == nil {
		err = json.Unmarshal(text, &doc)
	}
	if err != nil {
		return nil, fmt.Errorf("judge gates of %s: %w", run.Strategy, err)
	}
	if settings, ok := doc["settings"].(map[string]any); ok && run.Settings.Effect == "" {
		settings["effect"] = results.Capture
	}
	var judged []results.Gate
	for _, g := range gates {
		if g.On(k) {
			judged = append(judged, g.judge(doc, run.Status))
		}
	}
	return judged, nil
}

func (g Gate) judge(doc map[string]any, status results.Status) results.Gate {
	out := results.Gate{Expr: g.expr, Field: g.Field(), Op: g.op, Limit: g.limit, Outcome: results.GateNotMeasured}
	if status != results.Complete {
		out.Reason = "the run did not come to its end"
		return out
	}
	value, why := g.value(doc)
	if why != "" {
		out.Reason = why
		return out
	}
	out.Value, out.Outcome = value, results.GatePassed
	if g.fails(value) {
		out.Outcome = results.GateFailed
	}
	return out
}

// value is the field's, or in words why there is none.
func (g Gate) value(doc map[string]any) (any, string) {
	parts := strings.Split(g.path, ".")
	for i, name := range parts {
		next, ok := doc[name]
		if !ok {
			return nil, missing(doc, strings.Join(parts[:i], "."), strings.Join(parts[:i+1], "."))
		}
		inner, deeper := next.(map[string]any)
		if !deeper {
			return next, ""
		}
		doc = inner
	}
	v, ok := doc[g.key]
	switch {
	case !ok && g.class == counts:
		return 0.0, ""
	case !ok:
		return nil, fmt.Sprintf("this run has no %s", g.Field())
	}
	return v, ""
}

// missing says that a part is absent, and where nothing or too little was there to take it of, that too.
func missing(in map[string]any, group, path string) string {
	for _, name := range []string{"count", "n"} {
		switch n, ok := in[name].(float64); {
		case !ok || group == "":
		case n == 0:
			return fmt.Sprintf("%s.%s is 0, so there is no %s", group, name, path)
		case strings.HasSuffix(path, "_ms"):
			return fmt.Sprintf("%s.%s is %.0f, which is too few for %s", group, name, n, path)
		}
	}
	return "this run has no " + path
}

// fails compares as the expression says. The limit has the field's own type, by Parse.
func (g Gate) fails(value any) bool {
	v, isNumber := value.(float64)
	limit, _ := g.limit.(float64)
	switch g.op {
	case "==":
		return value == g.limit
	case "!=":
		return value != g.limit
	case ">":
		return isNumber && v > limit
	case ">=":
		return isNumber && v >= limit
	case "<":
		return isNumber && v < limit
	}
	return isNumber && v <= limit
}
