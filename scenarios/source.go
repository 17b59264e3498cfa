package scenarios

import (
	"embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
)

// source is the package's own text: what explain prints is what runs.
//
//go:embed *.go
var source embed.FS

// FileOf is the file that holds a strategy: its name with underscores.
func FileOf(strategy string) string { return strings.ReplaceAll(strategy, "-", "_") + ".go" }

// Steps returns the SQL of a strategy's steps, each starting with its comment, in the order in which they stand in its file.
func Steps(strategy string) ([]string, error) {
	text, err := source.ReadFile(FileOf(strategy))
	if err != nil {
		return nil, fmt.Errorf("a strategy lives in a file of its name: %w", err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), FileOf(strategy), text, 0)
	if err != nil {
		return nil, fmt.Errorf("read the strategy's source: %w", err)
	}
	var steps []string
	ast.Inspect(file, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		if sql, err := strconv.Unquote(lit.Value); err == nil && StepOf(sql) != "" {
			steps = append(steps, flushLeft(sql))
		}
		return true
	})
	return steps, nil
}

// flushLeft takes from each line after the first the indentation that all of them share.
func flushLeft(sql string) string {
	lines := strings.Split(strings.ReplaceAll(sql, "\t", "    "), "\n")
	indent := -1
	for _, l := range lines[1:] {
		if rest := strings.TrimLeft(l, " "); rest != "" && (indent < 0 || len(l)-len(rest) < indent) {
			indent = len(l) - len(rest)
		}
	}
	for i, l := range lines {
		if i > 0 && len(l) >= indent {
			lines[i] = l[indent:]
		}
	}
	return strings.Join(lines, "\n")
}
