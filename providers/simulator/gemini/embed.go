package gemini

import (
	"net/http"

	"github.com/go-json-experiment/json"

	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/reply"
	"modelgateway/providers/simulator/wire"
)

// The methods of embeddings.
const (
	embedOne   = "embedContent"
	embedBatch = "batchEmbedContents"
)

type embedRequest struct {
	Content struct {
		Parts []struct {
			Text string `json:"text"`
		} `json:"parts"`
	} `json:"content"`
	Dimensions *int `json:"outputDimensionality"`
}

// embed answers one request, or a batch of them.
func (s *Service) embed(w http.ResponseWriter, r *http.Request, model, method string) *wire.Failure {
	if f := checkKey(r); f != nil {
		return f
	}
	if _, f := s.find(model, method); f != nil {
		return f
	}
	raw, err := wire.ReadObject(w, r)
	if err != nil {
		return Refusal("Invalid JSON payload received. %v", err)
	}
	var batch struct {
		Requests []embedRequest `json:"requests"`
	}
	if method == embedOne {
		batch.Requests = make([]embedRequest, 1)
		err = json.Unmarshal(raw, &batch.Requests[0])
	} else {
		err = json.Unmarshal(raw, &batch)
	}
	if err != nil || len(batch.Requests) == 0 || len(batch.Requests) > 100 {
		return Refusal("Invalid JSON payload received: 1 to 100 requests are wanted. %v", err)
	}
	all, tokens := []rawjson.Object{}, 0
	for _, q := range batch.Requests {
		text, dimensions := "", 3072
		for _, p := range q.Content.Parts {
			text += p.Text
		}
		if q.Dimensions != nil {
			dimensions = *q.Dimensions
		}
		if text == "" || dimensions < 1 || dimensions > 3072 {
			return Refusal("content is empty, or outputDimensionality %d is not between 1 and 3072", dimensions)
		}
		all = append(all, rawjson.Object{"values", reply.Vector(text, dimensions)})
		tokens += reply.CountTokens(text)
	}
	a := rawjson.Object{"embeddings", all}
	if method == embedOne {
		a = rawjson.Object{"embedding", all[0]}
	}
	if model != "gemini-embedding-001" { // which tells no usage
		a = append(a, "usageMetadata", rawjson.Object{"promptTokenCount", tokens})
	}
	w.Header().Set("Content-Type", contentType)
	wire.WriteJSON(w, http.StatusOK, a)
	return nil
}
