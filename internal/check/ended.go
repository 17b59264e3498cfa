package check

import (
	"context"
	"strings"

	"idemlab/results"
)

// Ended says how a run came to its end, for every engine. A run that was cut off never held: what would have gone wrong afterwards is
// not known. A violation that was seen stays one. The user's own Ctrl-C is no error.
func Ended(ctx context.Context, run results.Run, err error) (results.Run, error) {
	why := "interrupted"
	switch {
	case ctx.Err() != nil:
		run.Status, err = results.Aborted, nil
	case err != nil:
		run.Status, why = results.Errored, "not finished: "+err.Error()
	default:
		return run, nil
	}
	if run.Verdict == results.Held {
		run.Verdict, run.Reason, run.ExitCode = results.Inconclusive, strings.TrimSuffix(why+"; "+run.Reason, "; "), ExitInconclusive
	}
	if run.Verdict == results.Inconclusive && run.Reason == "" {
		run.Reason = why
	}
	return run, err
}
