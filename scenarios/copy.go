package scenarios

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
)

// ErrName says that a name cannot be a strategy's.
var ErrName = errors.New("a strategy's name is lower-case words joined by hyphens, as in my-way")

// Variable is the Go name of a strategy: MyWay for my-way. It returns ErrName where the name is none.
func Variable(name string) (string, error) {
	if !regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`).MatchString(name) {
		return "", fmt.Errorf("%q: %w", name, ErrName)
	}
	var b strings.Builder
	for _, word := range strings.Split(name, "-") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String(), nil
}

// CopyOf returns the source of a new strategy: that of an existing one, under another name, for its author to change.
func CopyOf(existing, name string) ([]byte, error) {
	variable, err := Variable(name)
	if err != nil {
		return nil, err
	}
	text, err := source.ReadFile(FileOf(existing))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", existing, err)
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, FileOf(existing), text, parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", existing, err)
	}
	rename(file, variable)
	for _, c := range file.Comments { // the old one's doc comment speaks of the old one
		if strings.HasPrefix(c.Text(), mustVariable(existing)+" ") {
			c.List = []*ast.Comment{{Slash: c.Pos(), Text: "// " + variable + " is a copy of " + existing + ", to be changed."}}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if kv, ok := n.(*ast.KeyValueExpr); ok {
			relabel(kv, name, existing)
		}
		return true
	})
	var out bytes.Buffer
	if err := format.Node(&out, fset, file); err != nil {
		return nil, fmt.Errorf("write %s: %w", name, err)
	}
	return out.Bytes(), nil
}

func mustVariable(name string) string {
	v, _ := Variable(name) // the names of the list are well formed, which a test holds
	return v
}

// rename gives every top-level name of the file a new one that starts with the variable's, so that none stands twice.
func rename(file *ast.File, variable string) {
	names := map[string]string{}
	lower := strings.ToLower(variable[:1]) + variable[1:]
	n := 0
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				names[d.Name.Name] = numbered(lower, n)
				n++
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.ValueSpec:
					names[s.Names[0].Name] = variable
				case *ast.TypeSpec:
					names[s.Name.Name] = lower + strings.ToUpper(s.Name.Name[:1]) + s.Name.Name[1:]
				}
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && names[id.Name] != "" {
			id.Name = names[id.Name]
		}
		return true
	})
}

func numbered(name string, n int) string {
	if n == 0 {
		return name
	}
	return name + strconv.Itoa(n+1)
}

// relabel changes what the strategy says of itself.
func relabel(kv *ast.KeyValueExpr, name, existing string) {
	key, ok := kv.Key.(*ast.Ident)
	lit, isText := kv.Value.(*ast.BasicLit)
	if !ok || !isText || lit.Kind != token.STRING {
		return
	}
	switch key.Name {
	case "Name":
		lit.Value = strconv.Quote(name)
	case "Title":
		lit.Value = strconv.Quote("say in one line how it answers; so far it is a copy of " + existing)
	case "Text":
		lit.Value = strconv.Quote("Say why it holds or how it fails, and what to use instead.")
	}
}
