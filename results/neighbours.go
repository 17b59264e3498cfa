package results

// Neighbours is what one unique constraint makes of requests that are near each other: article 1, section 4.
type Neighbours struct {
	Constraint string      `json:"constraint"` // as SQL
	Pairs      []Neighbour `json:"pairs"`
	Wrong      *int        `json:"wrong,omitempty"` // pairs that were not taken for what they are; absent where not all were asked
}

// Neighbour is two requests, one after the other, and what the second was taken for.
type Neighbour struct {
	Pair string `json:"pair"`
	// Same says that both are one and the same wish, so that the second is to be recognised.
	Same bool `json:"same"`
	// Recognised says that the constraint refused the second: it is told the first one's answer, and not charged.
	Recognised bool `json:"recognised"`
}

// Right says whether the second was taken for what it is.
func (n Neighbour) Right() bool { return n.Same == n.Recognised }
