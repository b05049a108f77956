package rig

import (
	"fmt"
	"math/rand/v2"
	"strconv"
)

// The texts of a request for embeddings, and the numbers of each vector.
const (
	vectors    = 100
	dimensions = 1536
)

// embeddingsWire is in the form of text-embedding-3-small.
func embeddingsWire() *wire {
	random := rand.New(rand.NewPCG(9, 10))
	text := []byte(`{"object":"list","data":[`)
	for i := range vectors {
		if i > 0 {
			text = append(text, ',')
		}
		text = fmt.Appendf(text, `{"object":"embedding","index":%d,"embedding":[`, i)
		for j := range dimensions {
			if j > 0 {
				text = append(text, ',')
			}
			text = strconv.AppendFloat(text, random.NormFloat64()/40, 'g', 8, 64)
		}
		text = append(text, `]}`...)
	}
	return &wire{answer: append(text, `],"model":"text-embedding-3-small","usage":{"prompt_tokens":4400,"total_tokens":4400}}`...)}
}
