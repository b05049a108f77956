//go:build !race

package simulation

const (
	fewSeeds = 200
	slower   = 1
)
