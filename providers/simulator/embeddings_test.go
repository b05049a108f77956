package simulator_test

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"

	"modelgateway/providers/simulator/simulatortest"
)

// closeness is the cosine of the angle between two vectors of length 1.
func closeness(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

func TestEmbeddingsOfOpenAI(t *testing.T) {
	client := sdk(t)
	a, err := client.Embeddings.New(t.Context(), openai.EmbeddingNewParams{
		Model: "text-embedding-3-small", Dimensions: openai.Int(256),
		Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: []string{"a red fox", "the red fox", "prices of wheat"}},
	})
	if err != nil || len(a.Data) != 3 || len(a.Data[0].Embedding) != 256 || a.Usage.PromptTokens != 9 {
		t.Fatalf("%+v %v", a, err)
	}
	one, near, far := a.Data[0].Embedding, a.Data[1].Embedding, a.Data[2].Embedding
	if math.Abs(closeness(one, one)-1) > 1e-5 || closeness(one, near) < closeness(one, far)+0.2 {
		t.Errorf("%v of itself, %v, %v", closeness(one, one), closeness(one, near), closeness(one, far))
	}
	raw := simulatortest.OpenAI.At("/v1/embeddings").Post(t, `{"model":"text-embedding-3-small","dimensions":256,"encoding_format":"base64","input":["a red fox",[1,2]]}`)
	got := simulatortest.Decode[struct {
		Data []struct {
			Embedding string `json:"embedding"`
		} `json:"data"`
	}](t, raw.Body)
	data, err := base64.StdEncoding.DecodeString(got.Data[0].Embedding)
	if err != nil || len(data) != 4*256 || float64(math.Float32frombits(binary.LittleEndian.Uint32(data))) != float64(float32(one[0])) {
		t.Errorf("%v %s", err, raw.Body)
	}
	refuse := simulatortest.OpenAI.At("/v1/embeddings").Refuser(t)
	refuse("a chat model", `{"model":"gpt-4o","input":"x"}`, 404, "model_not_found")
	refuse("too many dimensions", `{"model":"text-embedding-3-small","input":"x","dimensions":1537}`, 400, "dimensions")
	refuse("no input", `{"model":"text-embedding-3-small","input":[]}`, 400, `"param":"input"`)
}

func TestEmbeddingsOfGemini(t *testing.T) {
	const content = `{"content":{"parts":[{"text":"a fox"}]},"outputDimensionality":8}`
	for model, usage := range map[string]bool{"gemini-embedding-001": false, "gemini-embedding-2": true} {
		for method, body := range map[string]string{"embedContent": content, "batchEmbedContents": `{"requests":[` + content + `,` + content + `]}`} {
			a := simulatortest.Gemini(model, method).Send(t, simulatortest.Strict(t), http.MethodPost, body)
			if a.Status != 200 || strings.Count(string(a.Body), `"values":[`) != strings.Count(body, "parts") ||
				strings.Contains(string(a.Body), "promptTokenCount") != usage {
				t.Errorf("%s %s: %d %s", model, method, a.Status, a.Body)
			}
		}
	}
	for _, body := range []string{`{"requests":[]}`, `{"requests":[{"content":{"parts":[]}}]}`} {
		if a := simulatortest.Gemini("gemini-embedding-2", "batchEmbedContents").Post(t, body); a.Status != 400 {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	}
	if a := simulatortest.Gemini("gemini-3.5-flash", "batchEmbedContents").Post(t, `{}`); a.Status != 404 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}
