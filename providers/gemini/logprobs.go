package gemini

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// logprobs and tokenProbability are OpenAI's form of the probabilities of tokens.
type logprobs struct {
	Content []tokenProbability `json:"content"`
	Refusal *struct{}          `json:"refusal"` // null
}

type tokenProbability struct {
	Token   string             `json:"token"`
	Logprob float64            `json:"logprob"`
	Bytes   []int              `json:"bytes"`
	Top     []tokenProbability `json:"top_logprobs,omitzero"`
}

// value is the result in OpenAI's form; nil where there is none.
func (r *logprobsResult) value() jsontext.Value {
	if r == nil || len(r.Chosen) == 0 {
		return nil
	}
	all := logprobs{Content: make([]tokenProbability, len(r.Chosen))}
	for i, chosen := range r.Chosen {
		all.Content[i] = chosen.common()
		all.Content[i].Top = []tokenProbability{}
		if i >= len(r.Top) {
			continue
		}
		for _, other := range r.Top[i].Candidates {
			all.Content[i].Top = append(all.Content[i].Top, other.common())
		}
	}
	out, err := json.Marshal(all)
	if err != nil {
		return nil
	}
	return out
}

func (t tokenLogprob) common() tokenProbability {
	p := tokenProbability{Token: t.Token, Logprob: t.LogProbability, Bytes: make([]int, len(t.Token))}
	for i := range len(t.Token) {
		p.Bytes[i] = int(t.Token[i])
	}
	return p
}
