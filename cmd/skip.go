package cmd

import (
	"errors"
	"slices"

	"idemlab/internal/server"
	"idemlab/results"
	"idemlab/scenarios"
)

// able leaves out what the server's version cannot run, and says so. It is an error where nothing is left.
func able[T any](a *app, srv *server.Server, work []T, strategy func(T) scenarios.Strategy) (can []T, skipped []results.Skipped, err error) {
	can, skipped = split(work, strategy, srv.Info().VersionNum)
	for _, s := range skipped {
		a.say("skipped: %s %s", s.Strategy, s.Reason)
	}
	if len(can) == 0 {
		err = errors.New("nothing to run: this server lacks what each of the strategies needs")
	}
	return can, skipped, err
}

// split names each strategy that is left out once, however much work it would have been.
func split[T any](work []T, strategy func(T) scenarios.Strategy, versionNum int) (can []T, skipped []results.Skipped) {
	for _, w := range work {
		s := strategy(w)
		why := s.Lacking(versionNum)
		if why == "" {
			can = append(can, w)
		} else if left := (results.Skipped{Strategy: s.Name, Reason: why}); !slices.Contains(skipped, left) {
			skipped = append(skipped, left)
		}
	}
	return can, skipped
}
