//go:build !race

package simulation

const (
	fewSeeds  = 200
	manySeeds = 10_000
	slower    = 1
)
