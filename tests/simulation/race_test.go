//go:build race

package simulation

const (
	// fewSeeds is how many runs there are where the long tests do not run: make test makes
	// these with the race detector, and those of norace_test.go without it.
	fewSeeds = 5
	// manySeeds is how many runs there are where the long tests run.
	manySeeds = 200
	// slower is how much longer a run takes under the race detector.
	slower = 5
)
