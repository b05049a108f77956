package reply

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"
)

// Vector is an embedding of a text, of length 1. Texts that share words have vectors that
// are close to each other.
func Vector(text string, dimensions int) []float64 {
	sums := make([]float64, dimensions)
	for _, word := range append(strings.Fields(strings.ToLower(text)), "") {
		h := fnv.New64a()
		_, _ = h.Write([]byte(word)) // a hash never fails to write
		random := rand.New(rand.NewPCG(h.Sum64(), 0))
		for i := range sums {
			sums[i] += random.NormFloat64()
		}
	}
	square := 0.0
	for _, x := range sums {
		square += x * x
	}
	for i := range sums {
		sums[i] /= math.Sqrt(square)
	}
	return sums
}

// CountTokens counts the words of a text.
func CountTokens(text string) int { return countTokens(text) }
