package cmd

import "idemlab/scenarios"

// warnDeclines says before a run what it will leave open where nothing is approved. It is no error, since what is found all the same decides:
// answers to a declined charge that differ, for one.
func (a *app) warnDeclines(share float64, e scenarios.Effect) {
	if share == 1 {
		w := e.Words()
		a.say("warning: --decline-share 1: no %s goes through, so that nothing can be %s twice, and whether it would be stays undecided; say less than 1", w.One, w.Charged)
	}
}
