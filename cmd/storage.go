package cmd

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"idemlab/internal/server"
	"idemlab/internal/storage"
	"idemlab/results"
	"idemlab/scenarios"
)

// Bounds of what is loaded: fewer keys say nothing about bytes per key, and more take a night.
const (
	fewestKeys = 1000
	mostKeys   = 100_000_000
)

// mostLifetime bounds the partitions by day.
const mostLifetime = 366 * aDay

// storageFlags are the flags of storage as typed.
type storageFlags struct {
	server serverFlags
	output outputFlags

	layouts             []string
	keys, batch, sample int
	rate                float64
	lifetime            days
	seed                uint64
}

func (a *app) storage() *cobra.Command {
	var f storageFlags
	c := &cobra.Command{
		Use:   "storage",
		Short: "Weigh what a key's lifetime costs: bytes, WAL, and the purge",
		Long: `Load a table with finished charges, their answers stored, and weigh it: bytes per key in the heap and in the unique index, WAL of
each key that comes, what that makes a day and in the steady state, and what it takes to be rid of the keys that have expired.

A layout is the type of the key's column (text or uuid), the UUIDs that clients make (version 4 is all chance, 7 begins with the
time), and how expired keys go: DELETE in batches and VACUUM, or, where the table is partitioned, DROP of a day. Partitioned by the
day of arrival a key is one row a day: UNIQUE must contain the day, so the same key is accepted on two days, which is tried and
counted. Partitioned by a key that begins with its own day it stays one row.

The keys are spread over one lifetime and one expired day behind it. WAL is counted for the whole server, right after a CHECKPOINT
where the role may make one: best on a server where nobody else is at work. One that is started here runs without autovacuum.`,
		Example: `  idemlab storage
  idemlab storage --keys 100000 --rate 500 --lifetime 7d
  idemlab storage --layout=text-v4,text-v4-by-day --json
  idemlab storage --layout=uuid-v7 --fail-on 'storage.size.bytes_per_key>250'`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			options, err := f.options(a)
			if err != nil {
				return err
			}
			return a.runStorage(c.Context(), f, options)
		},
	}
	f.lifetime = days(24 * time.Hour)
	fl := c.Flags()
	fl.StringSliceVar(&f.layouts, "layout", layoutNames(), "layouts of the table; a comma list (without it: all)")
	fl.Lookup("layout").DefValue = "[]" // none, which --help leaves out
	fl.IntVar(&f.keys, "keys", 1_000_000, "keys to load, for each layout")
	fl.Float64Var(&f.rate, "rate", 100, "keys a second, for what a day and a lifetime come to")
	fl.Var(&f.lifetime, "lifetime", "how long a key counts: 24h, 7d, 1d12h")
	fl.IntVar(&f.batch, "batch", 10_000, "expired keys that one DELETE takes")
	fl.IntVar(&f.sample, "sample", 1000, "keys to write one by one, for the WAL of each")
	fl.Uint64Var(&f.seed, "seed", 1, "seed of the keys")
	// The only error is a flag that does not exist, which the first test run would show.
	_ = c.RegisterFlagCompletionFunc("layout", cobra.FixedCompletions(layoutNames(), cobra.ShellCompDirectiveNoFileComp))
	f.server.add(c)
	f.output.add(c)
	f.output.gates.add(c, "storage")
	return c
}

func layoutNames() []string {
	var names []string
	for _, l := range storage.Layouts() {
		names = append(names, l.Name)
	}
	return names
}

// options checks everything that can be wrong before a server is looked for, and returns one run for each layout.
func (f *storageFlags) options(a *app) ([]storage.Options, error) {
	lifetime := time.Duration(f.lifetime)
	switch {
	case f.keys < fewestKeys || f.keys > mostKeys:
		return nil, usagef("--keys %d: say %d to %d", f.keys, fewestKeys, mostKeys)
	case !(f.rate > 0 && f.rate <= 1e6):
		return nil, usagef("--rate %v: say more than 0 keys a second, and 1000000 at most", f.rate)
	case lifetime < time.Minute || lifetime > mostLifetime:
		return nil, usagef("--lifetime %s: say 1m to %dd", f.lifetime.String(), mostLifetime/aDay)
	case f.batch < 1:
		return nil, usagef("--batch %d: say 1 or more", f.batch)
	case f.sample < 1 || f.sample > f.keys:
		return nil, usagef("--sample %d: say 1 or more, and no more than --keys", f.sample)
	}
	today := time.Now()
	var all []storage.Options
	for _, l := range storage.Layouts() {
		if slices.Contains(f.layouts, l.Name) {
			all = append(all, storage.Options{
				Layout: l, Keys: f.keys, Rate: f.rate, Lifetime: lifetime, Batch: f.batch, Sample: f.sample,
				Seed: f.seed, Today: today, DDL: a.schema,
			})
		}
	}
	for _, name := range f.layouts {
		if !slices.Contains(layoutNames(), name) {
			return nil, usagef("no layout %q; there are: %s", name, strings.Join(layoutNames(), ", "))
		}
	}
	if len(all) == 0 {
		return nil, usagef("--layout: name at least one of %s", strings.Join(layoutNames(), ", "))
	}
	return all, nil
}

func (a *app) runStorage(ctx context.Context, f storageFlags, options []storage.Options) error {
	if err := f.output.prepare(scenarios.ChargeOnce); err != nil {
		return err
	}
	ctx, release := untilParentDies(ctx)
	defer release()
	started := time.Now()
	runs, err := a.storeAll(ctx, f, options)
	if len(runs) == 0 && err != nil {
		return err
	}
	return a.put(f.output, "storage", started, document(ctx, runs, err))
}

// storeAll measures one layout after another, so that one at a time is on the disk.
func (a *app) storeAll(ctx context.Context, f storageFlags, options []storage.Options) (runs []results.Run, err error) {
	srv, err := server.Open(ctx, f.server.quiet(a, storage.Overhead))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, srv.Stop(context.WithoutCancel(ctx))) }()
	var done atomic.Int64
	bar := a.progress(int64(len(options)*options[0].Keys), &done)
	defer bar.stop()
	for _, o := range options {
		o.Done = &done
		bar.describe(o.Layout.Name)
		run, err := storage.Run(ctx, srv, o)
		run.Tool.Version = version
		runs = append(runs, run)
		if err != nil || ctx.Err() != nil {
			return runs, err
		}
	}
	return runs, nil
}
