// Package compare says whether runs differ from those recorded earlier, or whether what differs is noise.
//
// Only like is compared with like: the same engine, scenario, strategy, isolation level and settings, on as good as the same server and
// machine. What differs otherwise is named, and where it shapes the numbers nothing is compared unless that is asked for.
//
// A number is compared over samples: rounds of a race, blocks of seconds of a load run, and whole runs where several are given
// on both sides, which is best: seconds of one run know nothing of what makes the next run another (a checkpoint, a neighbour, the layout of
// the table), so that two runs of the same code can differ by more than their seconds let one expect. That is what the
// tolerance is for.
package compare
