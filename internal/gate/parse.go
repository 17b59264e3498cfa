package gate

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Gate is a limit on one field. Where the comparison is true, it fails.
type Gate struct {
	expr  string
	path  string
	key   string // of the map that the field is, else empty
	class class
	op    string
	limit any // float64, string or bool
}

// Expr is the gate as it was typed.
func (g Gate) Expr() string { return g.expr }

// form is a field, an operator and a limit.
var form = regexp.MustCompile(`^\s*([\w.-]+?)\s*(>=|<=|==|!=|>|<)\s*(.*?)\s*$`)

// Parse reads an expression, and checks that there is such a field and that it can be so.
func (in Fields) Parse(expr string) (Gate, error) {
	g := Gate{expr: strings.TrimSpace(expr)}
	m := form.FindStringSubmatch(expr)
	switch {
	case m == nil && strings.ContainsAny(expr, "=<>!"):
		return g, fmt.Errorf("%q: write a field, one of > >= < <= == != and a limit, as in 'latency.p99_ms>250'", expr)
	case m == nil:
		return g, fmt.Errorf("%q compares with nothing: write 'latency.p99_ms>250', in quotes, since the shell takes > for itself", expr)
	}
	g.op = m[2]
	f, err := g.find(strings.TrimSuffix(m[1], "."), in)
	if err != nil {
		return g, err
	}
	return g, g.read(f, m[3])
}

// find looks the field up.
func (g *Gate) find(path string, in Fields) (field, error) {
	all, known, kinds := in.all, in.known, in.kinds
	top, _, _ := strings.Cut(path, ".")
	if why := barred()[top]; why != "" {
		return field{}, fmt.Errorf("no gate can be on %s: it %s", top, why)
	}
	for _, f := range known {
		rest, inside := strings.CutPrefix(path, f.path+".")
		switch {
		case f.class == list && (inside || path == f.path):
			return f, fmt.Errorf("%s is a list, and a gate is on one value%s", f.path, fieldList(known))
		case f.class >= counts && inside && rest != "":
			g.path, g.key, g.class = f.path, rest, f.class
			return f, checkKey(f, rest, kinds)
		case f.class >= counts && path == f.path:
			return f, fmt.Errorf("%s has a value for each key: say which, as in %s.%s", path, path, exampleKey(f, kinds))
		case path == f.path:
			g.path, g.class = path, f.class
			return f, nil
		}
	}
	if members := under(known, path); len(members) > 0 {
		return field{}, fmt.Errorf("%s has more than one value: say which of %s", path, strings.Join(members, ", "))
	}
	if slices.ContainsFunc(all, func(f field) bool { return path == f.path || strings.HasPrefix(path, f.path+".") && f.class >= counts }) {
		return field{}, fmt.Errorf("a run of %s has no %s here%s", engines(kinds), path, fieldList(known))
	}
	return field{}, fmt.Errorf("there is no field %s%s%s", path, near(path, known), fieldList(known))
}

// checkKey refuses a key that can never be in its map, as far as that is known: its gate would pass for ever.
func checkKey(f field, key string, kinds []Kind) error {
	switch f.path {
	case "answers":
		var can []string
		for _, k := range kinds {
			for _, a := range k.Answers {
				if !slices.Contains(can, a) {
					can = append(can, a)
				}
			}
		}
		if len(can) > 0 && !slices.Contains(can, key) {
			return fmt.Errorf("no attempt is answered %q here; the answers are %s", key, strings.Join(can, ", "))
		}
	case "sqlstates":
		if !regexp.MustCompile(`^[0-9A-Z]{5}$`).MatchString(key) {
			return fmt.Errorf("%q is no SQLSTATE: write five digits or capital letters, as in sqlstates.40001", key)
		}
	}
	return nil
}

func exampleKey(f field, kinds []Kind) string {
	switch {
	case f.path == "answers" && len(kinds) > 0 && len(kinds[0].Answers) > 0:
		return kinds[0].Answers[len(kinds[0].Answers)-1]
	case f.path == "sqlstates":
		return "40001"
	case f.class == texts:
		return "fsync"
	}
	return "…"
}

// read takes the limit as what the field is.
func (g *Gate) read(f field, limit string) error {
	name := g.Field()
	for _, q := range []string{`"`, `'`} {
		if inner, ok := strings.CutPrefix(limit, q); ok {
			limit = strings.TrimSuffix(inner, q)
		}
	}
	if limit == "" {
		return fmt.Errorf("%q: say what %s is compared with", g.expr, name)
	}
	order := g.op != "==" && g.op != "!="
	switch f.class {
	case text, texts:
		if order {
			return fmt.Errorf("%s is text, which == and != compare, and %s does not", name, g.op)
		}
		if len(f.enum) > 0 && !slices.Contains(f.enum, limit) {
			return fmt.Errorf("%s is never %q: it is one of %s", name, limit, strings.Join(f.enum, ", "))
		}
		g.limit = limit
	case truth:
		if order {
			return fmt.Errorf("%s is true or false, which == and != compare, and %s does not", name, g.op)
		}
		if limit != "true" && limit != "false" {
			return fmt.Errorf("%s is true or false, never %q", name, limit)
		}
		g.limit = limit == "true"
	default:
		v, err := strconv.ParseFloat(limit, 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%s is a number, and %q is none: write digits alone, in the unit that the field's name ends in", name, limit)
		}
		g.limit = v
	}
	return nil
}

// Field is the field that the gate is on.
func (g Gate) Field() string {
	if g.key == "" {
		return g.path
	}
	return g.path + "." + g.key
}

// On says whether runs of the kind can have the gate's field.
func (g Gate) On(k Kind) bool { return k.has(g.Field()) }
