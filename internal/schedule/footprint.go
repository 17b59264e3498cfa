package schedule

import (
	"cmp"
	"slices"
	"strings"
)

// Mode is how a step touched an object. Modes are bits: one step may touch one object in several.
type Mode uint8

// The modes. Two steps that touch one object in modes that conflict cannot be swapped without a possible difference.
const (
	Read    Mode = 1 << iota // saw what is committed there
	Lock                     // took, or waited for, a lock: an INSERT's key, a row, an advisory lock, a mutex
	Publish                  // made writes visible, and gave the locks back: COMMIT
	Release                  // gave locks back and published nothing: ROLLBACK, or an error inside a transaction
	Saw                      // read as part of a SERIALIZABLE transaction that has read this so far
	Wrote                    // the same, written

	Everything = Read | Lock | Publish | Release | Saw | Wrote
)

// conflicts[i] are the modes that conflict with the mode 1<<i. The table is symmetric.
var conflicts = [...]Mode{
	0: Publish,                  // Read
	1: Lock | Publish | Release, // Lock
	2: Read | Lock,              // Publish
	3: Lock,                     // Release
	4: Wrote,                    // Saw
	5: Saw | Wrote,              // Wrote
}

func (m Mode) conflicts(n Mode) bool {
	for i, with := range conflicts {
		if m&(1<<i) != 0 && n&with != 0 {
			return true
		}
	}
	return false
}

// Database stands for every object of the database: a snapshot sees all of it, and SQL that is not understood may touch any.
const Database = "*"

// Outside names an object that no SQL can touch: the acquirer, a mutex. Database does not cover it.
func Outside(name string) string { return "@" + name }

// Access is one object and how it was touched.
type Access struct {
	Object string
	Mode   Mode
}

// Footprint is what a step touched, sorted by object, each object once. Make it with Touch.
type Footprint []Access

// Touch puts accesses together.
func Touch(accesses ...Access) Footprint {
	var f Footprint
	for _, a := range accesses {
		i, found := slices.BinarySearchFunc(f, a.Object, func(b Access, object string) int { return cmp.Compare(b.Object, object) })
		if found {
			f[i].Mode |= a.Mode
		} else {
			f = slices.Insert(f, i, a)
		}
	}
	return f
}

// And is what both touched.
func (f Footprint) And(g Footprint) Footprint { return Touch(slices.Concat(f, g)...) }

// GivesBack says whether something was given back that others may wait for.
func (f Footprint) GivesBack() bool {
	return slices.ContainsFunc(f, func(a Access) bool {
		return a.Mode&Release != 0 || a.Mode&Publish != 0 && !strings.HasPrefix(a.Object, "@")
	})
}

// Relation says whether two steps of different sessions depend on each other: whether their order can matter. It must be
// symmetric, and must never say no where it can.
type Relation func(f, g Footprint) bool

// Depend is the Relation of the modes.
func Depend(f, g Footprint) bool {
	for _, a := range f {
		for _, b := range g {
			if overlap(a.Object, b.Object) && a.Mode.conflicts(b.Mode) {
				return true
			}
		}
	}
	return false
}

func overlap(a, b string) bool {
	return a == b || a == Database && !strings.HasPrefix(b, "@") || b == Database && !strings.HasPrefix(a, "@")
}
