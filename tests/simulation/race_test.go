//go:build race

package simulation

// slower is how much longer a run takes under the race detector.
const slower = 5
