package openai

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/reply"
	"modelgateway/providers/simulator/wire"
)

// Embedding is the name of requests for embeddings, for a check.
const Embedding = "openai embeddings"

type embedRequest struct {
	Model      string         `json:"model"`
	Input      jsontext.Value `json:"input"`
	Dimensions *int           `json:"dimensions"`
	Encoding   string         `json:"encoding_format"`
}

// mostDimensions are those of the models that do not have 1536.
var mostDimensions = map[string]int{"text-embedding-3-large": 3072}

// Embed is POST /v1/embeddings.
func (s *Service) Embed(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Request-Id", wire.NewID("req_"))
	w.Header().Set("Openai-Version", "2020-10-01")
	if f := CheckKey(r); f != nil {
		f.Write(w)
		return
	}
	raw, err := wire.ReadObject(w, r)
	if err != nil {
		Refusal("", "", "We could not parse the JSON body of your request.").Write(w)
		return
	}
	q := embedRequest{}
	if err := json.Unmarshal(raw, &q); err != nil {
		Refusal("", "", err.Error()).Write(w)
		return
	}
	if f := s.options.Refuse(Embedding, q.Model, r.Header, raw); f != nil {
		f.Write(w)
		return
	}
	m, known := FindModel(q.Model)
	if !known || !m.Embeds {
		unknownModel(q.Model).Write(w)
		return
	}
	most := mostDimensions[m.ID]
	if most == 0 {
		most = 1536
	}
	dimensions, inputs := most, q.inputs()
	if q.Dimensions != nil {
		dimensions = *q.Dimensions
	}
	if dimensions < 1 || dimensions > most {
		Refusal("", "", "Invalid value for 'dimensions'.").Write(w)
		return
	}
	if len(inputs) == 0 || len(inputs) > 2048 {
		Refusal("input", "", "Invalid 'input': expected 1 to 2048 texts.").Write(w)
		return
	}
	data, tokens := []rawjson.Object{}, 0
	for i, text := range inputs {
		data = append(data, rawjson.Object{"object", "embedding", "index", i, "embedding", q.encode(reply.Vector(text, dimensions))})
		tokens += reply.CountTokens(text)
	}
	wire.WriteJSON(w, http.StatusOK, rawjson.Object{
		"object", "list", "data", data, "model", m.ID, "usage", rawjson.Object{"prompt_tokens", tokens, "total_tokens", tokens},
	})
}

// inputs are the texts. One in tokens is the text of their numbers.
func (q *embedRequest) inputs() (texts []string) {
	all := rawjson.Elements(q.Input)
	if q.Input.Kind() == '"' || len(all) > 0 && all[0].Kind() == '0' {
		all = []jsontext.Value{q.Input}
	}
	for _, input := range all {
		text := rawjson.String(input)
		if input.Kind() == '[' {
			text = strings.ReplaceAll(strings.Trim(string(input), "[]"), ",", " ")
		}
		texts = append(texts, text)
	}
	return texts
}

func (q *embedRequest) encode(vector []float32) any {
	if q.Encoding != "base64" {
		return vector
	}
	var data []byte
	for _, x := range vector {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(data)
}
