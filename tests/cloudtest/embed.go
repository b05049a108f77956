package cloudtest

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/reply"
	"modelgateway/providers/simulator/wire"
)

// embed is InvokeModel of Cohere's models for embeddings and of Amazon's.
func (a *AWS) embed(w http.ResponseWriter, id string, members map[string]jsontext.Value) {
	var q struct {
		Texts     []string `json:"texts"`
		InputType string   `json:"input_type"`
		Types     []string `json:"embedding_types"`
		Truncate  string   `json:"truncate"`
		Dimension int      `json:"output_dimension"`

		Text       string `json:"inputText"`
		Dimensions int    `json:"dimensions"`
		Normalize  bool   `json:"normalize"`
	}
	const wrong = "Malformed input request: required keys are missing, or extraneous keys are not permitted, please reformat your " +
		"input and try again."
	err := json.Unmarshal(rawjson.Encode(members), &q, json.RejectUnknownMembers(true))
	cohere, titan := strings.HasPrefix(id, "cohere.embed-"), strings.HasPrefix(id, "amazon.titan-embed-text-v2")
	switch {
	case !cohere && !titan:
		invalid(unknownModel).write(w)
		return
	case err != nil || cohere && (len(q.Texts) == 0 || q.InputType == "" || q.Text != "") || titan && (q.Text == "" || q.Texts != nil):
		invalid(wrong).write(w)
		return
	case len(q.Texts) > 96:
		invalid("Malformed input request: #/texts: expected maximum item count: 96, found: %d", len(q.Texts)).write(w)
		return
	case titan:
		q.Texts = []string{q.Text}
	}
	tokens, vectors := 0, [][]float64{}
	for _, t := range q.Texts {
		tokens += reply.CountTokens(t)
		vectors = append(vectors, reply.Vector(t, cmp.Or(q.Dimension, q.Dimensions, 1024)))
	}
	w.Header().Set("X-Amzn-Bedrock-Input-Token-Count", strconv.Itoa(tokens))
	float := rawjson.Object{"float", vectors}
	switch {
	case titan:
		wire.WriteJSON(w, http.StatusOK, rawjson.Object{
			"embedding", vectors[0], "embeddingsByType", rawjson.Object{"float", vectors[0]}, "inputTextTokenCount", tokens})
	case q.Types != nil || strings.HasPrefix(id, "cohere.embed-v4"):
		wire.WriteJSON(w, http.StatusOK, rawjson.Object{"id", wire.NewID(""), "texts", q.Texts, "embeddings", float, "response_type", "embeddings_by_type"})
	default:
		wire.WriteJSON(w, http.StatusOK, rawjson.Object{"id", wire.NewID(""), "texts", q.Texts, "embeddings", vectors, "response_type", "embeddings_floats"})
	}
}
