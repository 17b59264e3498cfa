package scenarios

import (
	"slices"

	"github.com/jackc/pgx/v5"
)

// The isolation levels, in the groups that claims need.
var (
	readCommitted    = []pgx.TxIsoLevel{pgx.ReadCommitted}
	repeatableRead   = []pgx.TxIsoLevel{pgx.RepeatableRead}
	snapshotLevels   = []pgx.TxIsoLevel{pgx.RepeatableRead, pgx.Serializable}
	serializable     = []pgx.TxIsoLevel{pgx.Serializable}
	withoutConflicts = []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead} // no rw-conflict is looked for
)

// neverInARace claims, for races in one process and across several, at every isolation level, that none of these is found.
func neverInARace(anomalies ...Anomaly) []Claim { return inARace(nil, anomalies...) }

// inARace makes claims for races in one process and across several, at the given isolation levels (nil: at every one).
func inARace(at []pgx.TxIsoLevel, anomalies ...Anomaly) []Claim {
	var claims []Claim
	for _, h := range []Hazard{Race, Instances} {
		for _, a := range anomalies {
			claims = append(claims, Claim{h, at, a})
		}
	}
	return claims
}

// Judged returns what the strategy claims under a hazard at an isolation level: the anomalies that must never be found, and
// those that must be.
//
// What remembers nothing but the key's row forgets with it: under a purge every charge is made again, unless the strategy says otherwise.
func (s Strategy) Judged(under Hazard, at pgx.TxIsoLevel) (never, shows []Anomaly) {
	never, shows = pick(s.Never, under, at), pick(s.Shows, under, at)
	if under == Purge && len(never)+len(shows) == 0 && s.Scenario().Acquirer {
		shows = []Anomaly{DoubleCharge}
	}
	return never, shows
}

func pick(claims []Claim, under Hazard, at pgx.TxIsoLevel) []Anomaly {
	var found []Anomaly
	for _, c := range claims {
		if c.Under == under && (c.At == nil || slices.Contains(c.At, at)) {
			found = append(found, c.Anomaly)
		}
	}
	return found
}

// debitsConserveMoney is what every sound way to debit claims, at every isolation level, also where a session dies.
func debitsConserveMoney() []Claim {
	never := []Anomaly{LostUpdate, Overdraft, DoubleCharge, ChargedWithoutRecord, AnsweredWithoutCharge, MissingCharge}
	claims := neverInARace(never...)
	for _, a := range never {
		claims = append(claims, Claim{Crash, nil, a})
	}
	return claims
}

// sameStateAfterAll is what an idempotent method claims, at every isolation level, also where a session dies.
func sameStateAfterAll() []Claim {
	return append(neverInARace(StateDiffers), Claim{Crash, nil, StateDiffers})
}
