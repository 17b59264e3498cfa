package scenarios

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// A file that defines a strategy and is not listed would be dead code that looks like a guarantee.
func TestEveryStrategyFileIsListed(t *testing.T) {
	all, err := os.ReadFile("all.go")
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range parsePackage(t) {
		for _, v := range strategiesDefinedIn(file) {
			if !strings.Contains(string(all), "\t\t"+v+",\n") {
				t.Errorf("%s defines %s, which no command knows. Add this line to the list in scenarios/all.go:\n\t\t%s,", name, v, v)
			}
		}
	}
}

func strategiesDefinedIn(file *ast.File) []string {
	var found []string
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, spec := range g.Specs {
			v := spec.(*ast.ValueSpec)
			for i, value := range v.Values {
				lit, ok := value.(*ast.CompositeLit)
				if !ok {
					continue
				}
				if id, ok := lit.Type.(*ast.Ident); ok && id.Name == "Strategy" {
					found = append(found, v.Names[i].Name)
				}
			}
		}
	}
	return found
}

func TestStrategiesAreWellFormed(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range All() {
		t.Run(s.Name, func(t *testing.T) {
			if s.Name == "" || s.Title == "" || s.Text == "" || s.New == nil {
				t.Error("a strategy needs a name, a title, a text and a handler")
			}
			if seen[s.Name] {
				t.Error("the name is taken")
			}
			seen[s.Name] = true
			if got, ok := Named(s.Name); !ok || got.Name != s.Name {
				t.Error("Named does not find it")
			}
			if len(s.Never)+len(s.Shows) == 0 {
				t.Error("it claims nothing, so nothing about it is tested")
			}
			contradiction(t, s)
			steps, err := Steps(s.Name)
			if err != nil || len(steps) == 0 {
				t.Errorf("explain finds no SQL in %s: %v", FileOf(s.Name), err)
			}
		})
	}
}

// What must never be found and what must be found cannot be the same thing at the same level.
func contradiction(t *testing.T, s Strategy) {
	for _, h := range []Hazard{Race, Instances, Crash, LostReply} {
		for _, at := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable} {
			never, shows := s.Judged(h, at)
			for _, a := range never {
				if slices.Contains(shows, a) {
					t.Errorf("claims never and shows %s under %s at %s", a, h, at)
				}
			}
		}
	}
}

// Timelines and schedules read like the article only because every statement says which step it is.
func TestEveryStatementNamesItsStep(t *testing.T) {
	for name, file := range parsePackage(t) {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || !slices.Contains([]string{"Exec", "Query", "QueryRow"}, sel.Sel.Name) || len(call.Args) < 2 {
				return true
			}
			lit, ok := call.Args[1].(*ast.BasicLit)
			if !ok || StepOf(strings.Trim(lit.Value, "`\"")) == "" {
				t.Errorf("%s: a statement sent by %s does not start with /* its step */", name, sel.Sel.Name)
			}
			return true
		})
	}
}

func parsePackage(t *testing.T) map[string]*ast.File {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]*ast.File{}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = f
	}
	return files
}

func TestWhoseRequestsDiffer(t *testing.T) {
	var alike []string
	for _, c := range Scenarios() {
		if c.Alike() {
			alike = append(alike, c.Name)
		}
	}
	if want := []string{"charge", "resource"}; !slices.Equal(alike, want) {
		t.Errorf("%q, want %q", alike, want)
	}
}
