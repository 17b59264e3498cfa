package schedule

// set is a set of small numbers.
type set []uint64

func newSet(n int) set { return make(set, (n+63)/64) }

func (s set) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }
func (s set) add(i int)      { s[i/64] |= 1 << (i % 64) }

func (s set) addAll(t set) {
	for i := range t {
		s[i] |= t[i]
	}
}

func (s set) hasAll(t set) bool {
	for i := range t {
		if t[i]&^s[i] != 0 {
			return false
		}
	}
	return true
}
