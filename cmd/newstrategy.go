package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"idemlab/scenarios"
)

// listEnd is what stands behind the last strategy of a list in scenarios/all.go.
const listEnd = "\n\t}\n}\n"

func (a *app) newStrategy() *cobra.Command {
	var from string
	c := &cobra.Command{
		Use:     "new-strategy NAME",
		Short:   "Write a strategy's file and its line in the list, in this repository",
		Long:    "Write scenarios/NAME.go, a copy of an existing strategy for you to change, and its line in scenarios/all.go.\nCONTRIBUTING.md shows the rest, end to end.",
		Example: "  idemlab new-strategy my-way\n  idemlab new-strategy my-way --from check-then-act",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("new-strategy takes one name, such as my-way")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.writeStrategy(args[0], from) },
	}
	c.Flags().StringVar(&from, "from", scenarios.InsertFirst.Name, "strategy to copy")
	// The only error is a flag that does not exist, which the first test run would show.
	_ = c.RegisterFlagCompletionFunc("from", cobra.FixedCompletions(strategyNames(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

func (a *app) writeStrategy(name, from string) error {
	variable, err := scenarios.Variable(name)
	if err != nil {
		return usageError{err}
	}
	copied, err := scenarios.Variable(from)
	if _, unknown := strategyOf(from); unknown != nil || err != nil {
		return errors.Join(unknown, err)
	}
	list := filepath.Join("scenarios", "all.go")
	text, err := os.ReadFile(list)
	if errors.Is(err, fs.ErrNotExist) {
		return usagef("there is no %s here: run it in the root of idemlab's repository", list)
	}
	if err != nil {
		return fmt.Errorf("read the list: %w", err)
	}
	before, after, ok := behind(string(text), "\n\t\t"+copied+",", listEnd)
	if !ok {
		return fmt.Errorf("%s is not as expected: add %s to the list by hand", list, variable)
	}
	code, err := scenarios.CopyOf(from, name)
	if err != nil {
		return err
	}
	path := filepath.Join("scenarios", scenarios.FileOf(name))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return usagef("%s is there already: choose another name", path)
	}
	if err != nil {
		return fmt.Errorf("write the strategy: %w", err)
	}
	if _, err := f.Write(code); err != nil {
		return errors.Join(fmt.Errorf("write the strategy: %w", err), f.Close(), os.Remove(path))
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("write the strategy: %w", err)
	}
	if err := os.WriteFile(list, []byte(before+"\n\t\t"+variable+","+listEnd+after), 0o644); err != nil {
		return errors.Join(fmt.Errorf("write the list: %w", err), os.Remove(path))
	}
	_, err = fmt.Fprintf(a.stdout, "wrote %s, a copy of %s, and its line in %s\nnow: go run . race --strategy=%s\nthen change it, and say what it claims; go test ./scenarios ./internal/race holds it to that\n", path, from, list, name)
	return err
}

// behind cuts a text around the first end that stands behind a line: the end of the list in which the copied strategy stands,
// for its copy belongs to the same scenario. Where it stands in none, the first list has to do.
func behind(text, line, end string) (before, after string, ok bool) {
	i := max(0, strings.Index(text, line))
	before, after, ok = strings.Cut(text[i:], end)
	return text[:i] + before, after, ok
}
