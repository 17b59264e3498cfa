package scenarios

// All returns every strategy, in the order in which the articles introduce the ideas.
func All() []Strategy {
	return []Strategy{
		CheckThenAct,
		InsertFirst,
		InsertFirstCatch,
		InsertFirstOpenTx,
	}
}

// Named returns the strategy of that name, and whether there is one.
func Named(name string) (Strategy, bool) {
	for _, s := range All() {
		if s.Name == name {
			return s, true
		}
	}
	return Strategy{}, false
}
