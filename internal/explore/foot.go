package explore

import (
	"slices"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/schedule"
)

// Objects that are no tables.
const (
	advisoryLocks = "advisory locks"
	serializables = "serializable transactions" // that one has ended, which every later snapshot sees
)

// txn is what a transaction has touched so far: what its COMMIT will publish, its ROLLBACK give back, and, where it is
// SERIALIZABLE, what its steps can collide over.
type txn struct {
	iso           pgx.TxIsoLevel
	sighted       bool // a snapshot that will serve to the end has been taken
	reads, writes []string
	locks         []string
	everything    bool
	wrote         bool // rows were changed, or may have been
	crowd         bool // there are two others and more
}

// ran notes what a statement that was not refused has come to.
func (t *txn) ran(s statement, r *result) {
	t.wrote = t.wrote || r.err == nil && (t.everything || len(s.writes) > 0 && !s.wroteNothing(r))
}

func (t *txn) snapshots() bool    { return t.iso != pgx.ReadCommitted && t.iso != pgx.ReadUncommitted }
func (t *txn) serializable() bool { return t.iso == pgx.Serializable }

// statement is the footprint of s as the transaction's next statement.
func (t *txn) statement(s statement) schedule.Footprint {
	// From the first statement that is not understood, nothing of the transaction is: it may have changed its own level.
	t.everything = t.everything || s.everything || s.control
	if t.everything {
		return everything()
	}
	if s.setting {
		return nil
	}
	var f []schedule.Access
	if t.snapshots() && !t.sighted {
		f = append(f, schedule.Access{Object: schedule.Database, Mode: schedule.Read})
	}
	if !t.snapshots() {
		f = append(f, each(s.reads, schedule.Read)...)
	}
	t.sighted = true
	locked := slices.Concat(s.writes, s.locks)
	if s.advisory {
		locked = append(locked, advisoryLocks)
		f = append(f, schedule.Access{Object: advisoryLocks, Mode: schedule.Release})
	}
	f = append(f, each(locked, schedule.Lock)...)
	for _, l := range locked {
		t.locks = add(t.locks, l)
	}
	for _, w := range s.writes {
		t.writes = add(t.writes, w)
	}
	for _, r := range s.reads {
		t.reads = add(t.reads, r)
	}
	return schedule.Touch(append(f, t.collisions()...)...)
}

// collisions is what a step of a SERIALIZABLE transaction can fail over, or make another fail over: PostgreSQL looks at all
// that a transaction has read and written, at each of its later steps (README-SSI, "Heap locking" and what follows).
func (t *txn) collisions() []schedule.Access {
	if !t.serializable() {
		return nil
	}
	f := append(each(t.reads, schedule.Saw), each(t.writes, schedule.Wrote)...)
	if t.crowd {
		// Of three in a row it matters which of the outer ones ended first, and they need not share a table: it is the one in the middle
		// that each of them shares one with (the dangerous structure of README-SSI).
		f = append(f, schedule.Access{Object: serializables, Mode: schedule.Saw})
	}
	return f
}

// commit is the footprint of making it all visible.
func (t *txn) commit() schedule.Footprint {
	return t.end(schedule.Publish)
}

// rollback is the footprint of giving everything back, which PostgreSQL also does at the first error.
func (t *txn) rollback() schedule.Footprint {
	return t.end(schedule.Release)
}

func (t *txn) end(writes schedule.Mode) schedule.Footprint {
	if t.everything {
		return everything()
	}
	f := append(each(t.writes, writes), each(t.locks, schedule.Release)...)
	if t.serializable() {
		f = append(f, schedule.Access{Object: serializables, Mode: schedule.Publish})
		if t.crowd {
			f = append(f, schedule.Access{Object: serializables, Mode: schedule.Wrote})
		}
	}
	return schedule.Touch(append(f, t.collisions()...)...)
}

// idle says that ending the transaction touches nothing.
func (t *txn) idle() bool { return len(t.rollback()) == 0 }

func everything() schedule.Footprint {
	return schedule.Touch(schedule.Access{Object: schedule.Database, Mode: schedule.Everything})
}

func each(objects []string, m schedule.Mode) []schedule.Access {
	var f []schedule.Access
	for _, o := range objects {
		f = append(f, schedule.Access{Object: o, Mode: m})
	}
	return f
}
