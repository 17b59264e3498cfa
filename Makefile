# The checks that take minutes; .ci/run has a short sample of each.

.PHONY: test soak

test:
	bash .ci/test

# What explore and load claim, at length: the reduced search against the full one, reality against the model, waits, fingerprints,
# speed; memory over ten minutes at full rate, and with ten thousand attempts in flight.
soak:
	go test -tags soak -run Soak -v -count=1 -timeout 0 ./internal/explore ./internal/load ./internal/retry
