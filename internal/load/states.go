package load

// state is what the book remembers of a settled intent.
type state byte

// The states.
const (
	unseen     state = iota
	awaitsRow        // ordinary, if there is one row for it
	hasRow           // ordinary, and its row was seen
	isOdd            // kept whole
	unfinished       // its story has no end: its rows say nothing
)

// states keeps a byte for each intent, in pieces: the numbers are dense, with a gap before the hot ones.
type states map[uint64]*[piece]state

const piece = 1 << 16

func (s *states) set(number uint64, to state) {
	if *s == nil {
		*s = states{}
	}
	p := (*s)[number/piece]
	if p == nil {
		p = new([piece]state)
		(*s)[number/piece] = p
	}
	p[number%piece] = to
}

func (s states) get(number uint64) state {
	if p := s[number/piece]; p != nil {
		return p[number%piece]
	}
	return unseen
}

// each calls f for every intent in a state.
func (s states) each(in state, f func(number uint64)) {
	for n, p := range s {
		for i, st := range p {
			if st == in {
				f(n*piece + uint64(i))
			}
		}
	}
}
