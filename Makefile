# The checks that take minutes; .ci/run has a short sample of each.

.PHONY: test soak bench

test:
	bash .ci/test

# What explore and load claim, at length: the reduced search against the full one, reality against the model, waits, fingerprints,
# speed; memory over ten minutes at full rate, and with ten thousand attempts in flight.
soak:
	go test -tags soak -run Soak -v -count=1 -timeout 0 ./internal/explore ./internal/load ./internal/retry

# The engine beside pgbench and plain pgx, and the hot paths, in benchstat's format. Nothing else should run meanwhile.
bench:
	bash bench/run
	go test -run '^$$' -bench . -benchmem ./internal/load ./internal/instance
