package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// imports is the house: which package may import which. What is not named is not allowed, so that an engine never learns of
// another, a report never of an engine, and a strategy of nothing.
//
// Test files may import more, to try things together.
func imports() map[string][]string {
	low := []string{"results", "scenarios"}
	return map[string][]string{
		"":          {"cmd"},
		"scenarios": {},
		"results":   {},

		"internal/web":               {},
		"internal/acquirer":          {"internal/web", "scenarios"},
		"internal/broker":            {},
		"internal/broker/rabbittest": {},
		"internal/attempt": append(low, "internal/acquirer", "internal/check", "internal/instance", "internal/intents",
			"internal/server", "internal/tables"),
		"internal/check":             low,
		"internal/child":             {},
		"internal/lockwait":          low,
		"internal/mutate":            {"scenarios"},
		"internal/purge":             {"scenarios"},
		"internal/recovery":          low,
		"internal/schedule":          low,
		"internal/server":            {"internal/timelimit"},
		"internal/server/servertest": {"internal/server"},
		"internal/compare":           {"results"},
		"internal/gate":              {"results"},
		"internal/instance":          {"internal/acquirer", "scenarios"},
		"internal/service":           {"internal/instance", "internal/web", "scenarios"},
		"internal/intents":           {"scenarios"},
		"internal/fault":             {},
		"internal/meter":             {},
		"internal/spec":              {"results", "internal/timelimit"},
		"internal/timelimit":         {},
		"internal/tables":            {"internal/check", "internal/server", "scenarios"},

		"internal/race": append(low, "internal/acquirer", "internal/check", "internal/child", "internal/instance", "internal/intents",
			"internal/lockwait", "internal/server", "internal/tables"),
		"internal/load": append(low, "internal/acquirer", "internal/check", "internal/child", "internal/instance", "internal/intents",
			"internal/lockwait", "internal/server", "internal/tables"),
		"internal/consume": append(low, "internal/acquirer", "internal/broker", "internal/check", "internal/child", "internal/instance", "internal/intents",
			"internal/recovery", "internal/server", "internal/tables"),
		"internal/retry": append(low, "internal/acquirer", "internal/check", "internal/child", "internal/fault", "internal/instance",
			"internal/intents", "internal/recovery", "internal/server", "internal/service", "internal/tables", "internal/web"),
		"internal/explore": append(low, "internal/acquirer", "internal/check", "internal/instance", "internal/lockwait", "internal/schedule",
			"internal/server", "internal/tables", "internal/timelimit"),
		"internal/report": append(low, "internal/stat"),
		"internal/stat":   {},

		"internal/storage": append(low, "internal/check", "internal/intents", "internal/meter", "internal/server"),
		"internal/repeats": append(low, "internal/acquirer", "internal/check", "internal/instance", "internal/intents", "internal/meter",
			"internal/server", "internal/tables"),

		"internal/neighbours": append(low, "internal/check", "internal/server"),
		"internal/expiry":     append(low, "internal/acquirer", "internal/attempt", "internal/check", "internal/purge", "internal/server"),
		"internal/orphans":    append(low, "internal/acquirer", "internal/attempt", "internal/check", "internal/recovery", "internal/server"),
		"internal/stored":     append(low, "internal/acquirer", "internal/attempt", "internal/check", "internal/recovery", "internal/server"),

		"cmd": append(low,
			"internal/acquirer",
			"internal/attempt",
			"internal/broker",
			"internal/check",
			"internal/compare",
			"internal/consume",
			"internal/expiry",
			"internal/explore",
			"internal/fault",
			"internal/gate",
			"internal/instance",
			"internal/load",
			"internal/mutate",
			"internal/neighbours",
			"internal/orphans",
			"internal/purge",
			"internal/race",
			"internal/recovery",
			"internal/repeats",
			"internal/report",
			"internal/retry",
			"internal/schedule",
			"internal/server",
			"internal/service",
			"internal/spec",
			"internal/stat",
			"internal/storage",
			"internal/stored",
			"internal/tables",
			"internal/web",
		),
	}
}

// TestImportsRunOneWay parses the files itself: a test that asked the go command would be answered from its cache, with the
// bad import in place.
func TestImportsRunOneWay(t *testing.T) {
	allowed := imports()
	for path, file := range parseAll(t) {
		room := filepath.ToSlash(filepath.Dir(path))
		if room == "." {
			room = ""
		}
		may, known := allowed[room]
		if !known {
			t.Errorf("%s: package %s has no place in the house: add it to the table in house_test.go", path, room)
			continue
		}
		for _, imp := range file.Imports {
			p, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if inside, ours := strings.CutPrefix(p, "idemlab/"); ours && !slices.Contains(may, inside) {
				t.Errorf("%s imports %s, which %q may not", path, inside, room)
			}
		}
	}
}

// TestHouseRules holds what reviewers would otherwise have to look for: one exit, no init, no quotes that gofmt made of code.
func TestHouseRules(t *testing.T) {
	for path, file := range parseAll(t) {
		for _, c := range file.Comments {
			if strings.ContainsAny(c.Text(), "“”") {
				t.Errorf("%s: a typographic quote, which gofmt makes of two single ones: %s", path, c.Text())
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv == nil && n.Name.Name == "init" {
					t.Errorf("%s: func init: what runs before main cannot be handed its streams, clock and seed", path)
				}
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "os" && n.Sel.Name == "Exit" && path != "main.go" {
					t.Errorf("%s: os.Exit: nothing deferred would run; return the code to main", path)
				}
			}
			return true
		})
	}
}

// parseAll reads every Go file of the program, tests excepted.
func parseAll(t *testing.T) map[string]*ast.File {
	t.Helper()
	files := map[string]*ast.File{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		files[filepath.ToSlash(path)] = f
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 20 {
		t.Fatalf("only %d files found: this test must run in the repository's root", len(files))
	}
	return files
}
