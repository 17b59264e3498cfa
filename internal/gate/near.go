package gate

import (
	"cmp"
	"slices"
	"strings"
)

// Paths are the fields that a gate can be on; what has a value for each key ends in a dot.
func (in Fields) Paths() []string {
	var paths []string
	for _, f := range in.known {
		top, _, _ := strings.Cut(f.path, ".")
		if f.class == list || barred()[top] != "" {
			continue
		}
		if f.class >= counts {
			f.path += "."
		}
		paths = append(paths, f.path)
	}
	return paths
}

// near names up to three fields that may have been meant.
func near(path string, known []field) string {
	type candidate struct {
		path  string
		edits int
	}
	var found []candidate
	for _, f := range known {
		top, _, _ := strings.Cut(f.path, ".")
		if f.class >= list || barred()[top] != "" {
			continue
		}
		edits := distance(path, f.path)
		if strings.HasSuffix(f.path, "."+path) || strings.HasPrefix(f.path, path+"_") { // the name without its group, or its unit
			edits = 1
		}
		if edits <= max(2, len(path)/4) {
			found = append(found, candidate{f.path, edits})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.edits, b.edits) })
	var names []string
	for _, c := range found[:min(3, len(found))] {
		names = append(names, c.path)
	}
	if len(names) == 0 {
		return ""
	}
	return "; is it " + strings.Join(names, " or ") + "?"
}

// distance is Levenshtein's: how many letters must be put in, left out or changed.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}

// under are the members of a group, by their names in it.
func under(known []field, group string) []string {
	var members []string
	for _, f := range known {
		if rest, ok := strings.CutPrefix(f.path, group+"."); ok && f.class != list {
			members = append(members, rest)
		}
	}
	return members
}

// fieldList is what there is, a line for each group.
func fieldList(known []field) string {
	var groups []string
	members := map[string][]string{}
	for _, f := range known {
		top, rest, _ := strings.Cut(f.path, ".")
		if f.class == list || barred()[top] != "" {
			continue
		}
		switch {
		case f.class >= counts && rest == "":
			rest = "KEY"
		case f.class >= counts:
			rest += ".KEY"
		}
		if _, seen := members[top]; !seen {
			groups = append(groups, top)
		}
		members[top] = append(members[top], rest)
	}
	var b strings.Builder
	b.WriteString("\nfields:")
	for _, top := range groups {
		b.WriteString("\n  " + top)
		if m := members[top]; m[0] != "" {
			b.WriteString(": " + strings.Join(m, ", "))
		}
	}
	return b.String()
}

// engines are those of the kinds, for a sentence.
func engines(kinds []Kind) string {
	var names []string
	for _, k := range kinds {
		if name := k.Engine; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}
