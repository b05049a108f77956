//go:build !race

package simulation

const slower = 1
