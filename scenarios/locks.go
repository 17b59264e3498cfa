package scenarios

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
)

// TakesAdvisoryLocks says whether the strategy's source speaks of PostgreSQL's functions for advisory locks: its file, or what that uses of
// the package's. Such a lock is on a number, and a number is the same in all of a database, whatever schema the strategy works in.
//
// What has no source here, such as a test's own strategy, is taken to: to be wrong about that costs time, the other way a verdict.
func (s Strategy) TakesAdvisoryLocks() bool {
	text, err := source.ReadFile(FileOf(s.Name))
	return err != nil || MentionsAdvisoryLocks(string(text)) || lockingHelper(FileOf(s.Name), readDecls())
}

// MentionsAdvisoryLocks says whether a text, in Go or in SQL, names one of those functions (PostgreSQL docs, "Advisory Lock Functions").
func MentionsAdvisoryLocks(text string) bool {
	return regexp.MustCompile(`(?i)pg_(try_)?advisory_\w*lock`).MatchString(text)
}

// decl is one thing that a file declares.
type decl struct {
	file string
	text string
	uses []string // every name in it: too many, rather than too few
}

// lockingHelper follows the names in a file from declaration to declaration.
func lockingHelper(file string, decls map[string][]decl) bool {
	seen := map[string]bool{}
	var follow func(d decl) bool
	follow = func(d decl) bool {
		if MentionsAdvisoryLocks(d.text) {
			return true
		}
		for _, name := range d.uses {
			if seen[name] {
				continue
			}
			seen[name] = true
			for _, next := range decls[name] {
				if follow(next) {
					return true
				}
			}
		}
		return false
	}
	for _, ds := range decls {
		for _, d := range ds {
			if d.file == file && follow(d) {
				return true
			}
		}
	}
	return false
}

// readDecls reads the package, by name: functions, methods, variables and constants. The list of strategies is left out, since
// everything is in it and most of it is not used by whoever asks for it; and so is what is only here to find locks.
func readDecls() map[string][]decl {
	decls := map[string][]decl{}
	entries, err := source.ReadDir(".")
	if err != nil {
		return decls // an embedded folder can be read
	}
	for _, e := range entries {
		if e.Name() == "all.go" || e.Name() == "locks.go" || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		text, _ := source.ReadFile(e.Name())
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, e.Name(), text, parser.SkipObjectResolution)
		if err != nil {
			continue // it would not have compiled
		}
		for _, d := range file.Decls {
			one := decl{file: e.Name(), text: string(text[fset.Position(d.Pos()).Offset:fset.Position(d.End()).Offset])}
			ast.Inspect(d, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					one.uses = append(one.uses, id.Name)
				}
				return true
			})
			for _, name := range declared(d) {
				decls[name] = append(decls[name], one)
			}
		}
	}
	return decls
}

func declared(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		names = append(names, d.Name.Name)
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if v, ok := spec.(*ast.ValueSpec); ok {
				for _, id := range v.Names {
					names = append(names, id.Name)
				}
			}
		}
	}
	return names
}
