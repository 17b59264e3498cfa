package scenarios

// Scenarios returns every scenario, the articles' own first.
func Scenarios() []Scenario { return []Scenario{ChargeOnce, TwoDoors, TwoTenants, Debit, Resource} }

// All returns every strategy, scenario by scenario.
func All() []Strategy {
	var all []Strategy
	for _, c := range Scenarios() {
		all = append(all, c.Strategies()...)
	}
	return all
}

// ScenarioNamed returns the scenario of that name, and whether there is one.
func ScenarioNamed(name string) (Scenario, bool) {
	for _, c := range Scenarios() {
		if c.Name == name {
			return c, true
		}
	}
	return Scenario{}, false
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

// chargeStrategies are in the order in which the articles introduce the ideas, and then in that in which engineers bring
// forward what else there is.
func chargeStrategies() []Strategy {
	return []Strategy{
		// Look, then write.
		CheckThenAct,
		CheckInsertCapture,
		UniqueEffectFirst,
		InsertWhereNotExists,

		// Write first, and let the database refuse.
		InsertFirst,
		InsertFirstCatch,
		InsertFirstBatched,
		CatchInTx,
		CatchInSavepoint,
		CTEGetOrCreate,
		DoUpdateNoop,
		Merge,
		InsertFirstOpenTx,

		// Which key.
		OrderIDKey,
		NewKeyPerRetry,
		BusinessEvent,

		// Which answers are stored.
		StoreEveryAnswer,
		StoreSuccessOnly,
		StoreNothing,

		// Other tools: locks and versions, levels, mutexes.
		ForUpdateMissingRow,
		ForUpdateOrder,
		VersionColumn,
		VersionColumnApart,
		VersionColumnLate,
		SerializableCheck,
		SerializableRetry,
		SerializableCommitFirst,
		AdvisoryXact,
		AdvisorySession,
		ProcessMutex,

		// What is left half-way.
		GetOrCreateUnowned,
		LeaseTakeover,
		LeaseTakeoverFenced,
		LeaseTakeoverHeartbeat,
		RecoveryPoints,
		IntentThenReconcile,
	}
}

// twoDoorsStrategies are the key alone, and the two things that both doors have in common.
func twoDoorsStrategies() []Strategy {
	return []Strategy{
		KeyPerDoor,
		EventKey,
		OrderState,
	}
}

// twoTenantsStrategies are the key alone, without and with a look at whose it is, and the two ways to make it each tenant's own.
func twoTenantsStrategies() []Strategy {
	return []Strategy{
		KeyForAllTenants,
		TenantCompared,
		KeyPerTenant,
		TenantInKey,
	}
}

// debitStrategies are the wrong one, the two locks of the articles, and what PostgreSQL does without either.
func debitStrategies() []Strategy {
	return []Strategy{
		ReadThenWrite,
		ForUpdate,
		Version,
		ConditionalUpdate,
		Serializable,
	}
}

// resourceStrategies are HTTP's methods: those that may be repeated, and the one that may not.
func resourceStrategies() []Strategy {
	return []Strategy{
		Put,
		Delete,
		Post,
	}
}
