package openai

import (
	"net/http"

	"modelgateway/api"
	"modelgateway/dialects/embeddings"
	"modelgateway/llm"
	"modelgateway/providers/simulator/reply"
	"modelgateway/providers/simulator/wire"
)

// mostDimensions are those of the models that do not have 1536.
var mostDimensions = map[string]int64{"text-embedding-3-large": 3072}

// Embed is POST /v1/embeddings. The gateway's dialect reads the request and writes the
// answer, and words the refusals.
func (s *Service) Embed(w http.ResponseWriter, r *http.Request) *wire.Failure {
	SetHeader(w.Header())
	if f := CheckKey(r); f != nil {
		return f
	}
	body, f := s.embedded(w, r)
	if f != nil {
		return f
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // it fails only when the client has disconnected
	return nil
}

func refused(err error) *wire.Failure {
	e := api.AsError(err)
	return &wire.Failure{Status: e.Status, Body: e}
}

func (s *Service) embedded(w http.ResponseWriter, r *http.Request) ([]byte, *wire.Failure) {
	raw, err := wire.ReadObject(w, r)
	if err != nil {
		return nil, Refusal("", "", "We could not parse the JSON body of your request.")
	}
	req, err := embeddings.Decode(nil, raw)
	if err != nil {
		return nil, refused(err)
	}
	m, f := Find(s.options, req.Model)
	if f == nil && !m.Embeds {
		f = unknownModel(notThere, req.Model)
	}
	if f != nil {
		return nil, f
	}
	source := req.Source.(llm.Embedding)
	options, err := source.Options()
	if err != nil {
		return nil, refused(err)
	}
	texts, err := source.Strings()
	if err != nil {
		return nil, refused(err)
	}
	most := mostDimensions[m.ID]
	if most == 0 {
		most = 1536
	}
	if options.Dimensions > most {
		return nil, Refusal("dimensions", "", "Invalid value for 'dimensions'.")
	}
	if options.Dimensions > 0 {
		most = options.Dimensions
	}
	tokens, vectors := 0, source.Vectors(len(texts))
	for i, text := range texts {
		vectors.Add(i, vectors.AppendVector(nil, i, reply.Vector(text, int(most))))
		tokens += reply.CountTokens(text)
	}
	answer := &llm.Answer{Raw: vectors.Answer(m.ID), Usage: &llm.Usage{Input: int64(tokens)}}
	body, err := embeddings.Dialect().AppendAnswer(nil, req, answer)
	if err != nil {
		return nil, refused(err)
	}
	return body, nil
}
