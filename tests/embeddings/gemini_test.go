package embeddings

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"modelgateway/providers/providertest"
	"modelgateway/providers/simulator"
	"modelgateway/tests/gatewaytest"
)

const older, newer = "gemini-embedding-001", "gemini-embedding-2"

// simulated starts a gateway whose providers are the simulator.
func simulated(t testing.TB, settings ...string) *gatewaytest.Program {
	t.Helper()
	url := gatewaytest.ServeUpstream(t, simulator.New(simulator.Options{}))
	return gatewaytest.Start(t, append([]string{
		"OPENAI_API_KEY=sk-o", "OPENAI_BASE_URL=" + url, "GEMINI_API_KEY=sk-g", "GEMINI_BASE_URL=" + url,
		"ANTHROPIC_API_KEY=sk-a", "ANTHROPIC_BASE_URL=" + url, "OLLAMA_BASE_URL=" + url, "OLLAMA_API_KEY=sk-l", "GROQ_API_KEY=sk-q", "MAX_RETRIES=0",
	}, settings...)...)
}

func official(p *gatewaytest.Program) sdk.Client {
	return sdk.NewClient(option.WithBaseURL(p.URL+"/v1"), option.WithAPIKey("sk-dummy"), option.WithHTTPClient(p.Client),
		option.WithMaxRetries(0))
}

// vectorsOf are the vectors of an answer, in its order, of floats or of base64.
func vectorsOf(t testing.TB, body string) [][]float32 {
	t.Helper()
	var list struct {
		Data []struct {
			Index     int
			Embedding json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatalf("%v: %.200s", err, body)
	}
	var all [][]float32
	for i, d := range list.Data {
		if d.Index != i {
			t.Fatalf("vector %d has index %d", i, d.Index)
		}
		all = append(all, vectorOf(t, d.Embedding))
	}
	return all
}

func vectorOf(t testing.TB, raw json.RawMessage) (vector []float32) {
	t.Helper()
	if raw[0] == '[' {
		if err := json.Unmarshal(raw, &vector); err != nil {
			t.Fatal(err)
		}
		return vector
	}
	bytes, err := base64.StdEncoding.DecodeString(strings.Trim(string(raw), `"`))
	if err != nil || len(bytes)%4 != 0 {
		t.Fatal(len(bytes), err)
	}
	for ; len(bytes) > 0; bytes = bytes[4:] {
		vector = append(vector, math.Float32frombits(binary.LittleEndian.Uint32(bytes)))
	}
	return vector
}

func lengthOf(vector []float32) float64 {
	var sum float64
	for _, x := range vector {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
}

func same32(a, b []float32) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) {
			return false
		}
	}
	return true
}

// Case 35.
func TestBase64AndFloatAreBitEqualInOrderOver100InputsAndTokenArrays(t *testing.T) {
	t.Parallel()
	p := simulated(t)
	var inputs []string
	for i := range 250 {
		inputs = append(inputs, fmt.Sprintf("text number %d", i))
	}
	list, err := json.Marshal(inputs)
	if err != nil {
		t.Fatal(err)
	}
	for _, model := range []string{small, older, newer} {
		body := `{"model":"` + model + `","dimensions":256,"input":` + string(list) + `,"encoding_format":"`
		floats, texts := post(t, p, body+`float"}`), post(t, p, body+`base64"}`)
		a, b := vectorsOf(t, floats.Body), vectorsOf(t, texts.Body)
		if floats.Status != 200 || len(a) != len(inputs) || len(b) != len(a) {
			t.Fatalf("%s: %d, %d and %d vectors", model, floats.Status, len(a), len(b))
		}
		for i := range a {
			if len(a[i]) != 256 || !same32(a[i], b[i]) || math.Abs(lengthOf(a[i])-1) > 1e-6 {
				t.Fatalf("%s: vector %d of length %v, %v and %v", model, i, lengthOf(a[i]), a[i][:2], b[i][:2])
			}
		}
		last := post(t, p, `{"model":"`+model+`","dimensions":256,"input":"text number 249"}`)
		if one := vectorsOf(t, last.Body); !same32(one[0], a[249]) {
			t.Errorf("%s: the vectors are not in the order of the input", model)
		}
	}
	words := post(t, p, `{"model":"`+newer+`","dimensions":8,"input":["hello world","!"]}`)
	for _, input := range []string{`[[15339,1917],[0]]`, `[[15339,1917],"!"]`} {
		tokens := post(t, p, `{"model":"`+newer+`","dimensions":8,"input":`+input+`}`)
		if tokens.Body != words.Body || tokens.Header.Get("X-Gateway-Decoded-Tokens") != "cl100k_base" {
			t.Errorf("%s: %s, %v, not %s", input, tokens.Body, tokens.Header, words.Body)
		}
	}
	flat := post(t, p, `{"model":"`+newer+`","dimensions":8,"input":[15339,1917]}`)
	if a, b := vectorsOf(t, flat.Body), vectorsOf(t, words.Body); len(a) != 1 || !same32(a[0], b[0]) {
		t.Errorf("%s", flat.Body)
	}
	if native := post(t, p, `{"model":"`+small+`","input":[[15339,1917],[0]]}`); len(vectorsOf(t, native.Body)) != 2 ||
		native.Header.Get("X-Gateway-Decoded-Tokens") != "" {
		t.Errorf("%v %.200s", native.Header, native.Body)
	}
}

func TestTheOfficialSDKAsksEveryProvider(t *testing.T) {
	t.Parallel()
	p := simulated(t)
	client := official(p)
	for model, want := range map[string]int{
		small: 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536, older: 3072, newer: 3072,
		"gemini-embedding-2-preview": 3072, "ollama/text-embedding-3-small": 1536,
	} {
		for _, input := range []sdk.EmbeddingNewParamsInputUnion{
			{OfString: sdk.String("one")}, {OfArrayOfStrings: []string{"one", " "}}, {OfArrayOfTokens: []int64{15339}},
			{OfArrayOfTokenArrays: [][]int64{{15339}, {1917, 0}}},
		} {
			got, err := client.Embeddings.New(t.Context(), sdk.EmbeddingNewParams{Model: model, Input: input, User: sdk.String("u")})
			if err != nil || len(got.Data) == 0 || len(got.Data[0].Embedding) != want || got.Usage.PromptTokens < 1 || got.Object != "list" {
				t.Errorf("%s: %v, %+v", model, err, got)
			}
		}
	}
	got, err := client.Embeddings.New(t.Context(), sdk.EmbeddingNewParams{
		Model: older, Input: sdk.EmbeddingNewParamsInputUnion{OfString: sdk.String("one")}, Dimensions: sdk.Int(64),
	})
	if err != nil || len(got.Data[0].Embedding) != 64 || got.Model != older {
		t.Errorf("%v, %+v", err, got)
	}
}

func TestARequestThatCannotBeServedSaysWhy(t *testing.T) {
	t.Parallel()
	p := simulated(t)
	for body, want := range map[string]string{
		`{"model":"claude-haiku-4-5-20251001","input":"a"}`:                           "400 unsupported_value model anthropic has no models for embeddings; use text-embedding-3-small or",
		`{"model":"gpt-4","input":"a"}`:                                               "400 unsupported_value model the model `gpt-4` is for chat completions, not for embeddings; use text-embedding-3-small or",
		`{"model":"groq/some-embedding","input":"a"}`:                                 "400 unsupported_value model groq does not answer requests for embeddings",
		`{"model":"no-such-model","input":"a"}`:                                       "404 model_not_found model ",
		`{"input":"a"}`:                                                               "400 missing_field model ",
		`{"model":"` + small + `"}`:                                                   "400 missing_field input ",
		`{"model":"` + small + `","input":{"a":1}}`:                                   "400 invalid_value input ",
		`{"model":"` + small + `","input":"a","input":"b"}`:                           "400 invalid_json input ",
		`{"model":"` + small + `","input":["a"` + strings.Repeat(`,"a"`, 2048) + `]}`: "400 invalid_value input input must have at most 2048",
		`{"model":"` + newer + `","input":["a",""]}`:                                  "400 invalid_value input[1] input[1] must not be empty",
		`{"model":"` + newer + `","input":[]}`:                                        "400 invalid_value input ",
		`{"model":"` + newer + `","input":[[1],[]]}`:                                  "400 invalid_value input[1] ",
		`{"model":"` + newer + `","input":["a",7]}`:                                   "400 invalid_value input[1] ",
		`{"model":"` + newer + `","input":[[1],[999999]]}`:                            "400 invalid_value input[1] input[1] has a token id that cl100k_base",
		`{"model":"` + newer + `","input":[1,-1]}`:                                    "400 invalid_value input ",
		`{"model":"` + newer + `","input":"a","dimensions":0}`:                        "400 invalid_value dimensions ",
		`{"model":"` + newer + `","input":"a","encoding_format":"int8"}`:              "400 invalid_value encoding_format ",
		`{"model":"` + newer + `","input":"a","task_type":"SINGING"}`:                 "400 invalid_value task_type ",
		`{"model":"` + newer + `","input":"a","title":"t"}`:                           "400 invalid_value title ",
		`{"model":"` + newer + `","input":"a","dimensions":4000}`:                     "400 provider_error null ",
	} {
		got := post(t, p, body)
		e := got.APIError(t)
		param := "null"
		if e.Param != nil {
			param = *e.Param
		}
		if text := fmt.Sprintf("%d %s %s %s", got.Status, e.Code, param, e.Message); !strings.HasPrefix(text, want) {
			t.Errorf("%.80s: %s, not %s", body, text, want)
		}
	}
	for path, body := range map[string]string{
		"/v1/chat/completions": `{"model":"` + newer + `","messages":[{"role":"user","content":"a"}]}`,
		"/v1/messages":         `{"model":"` + newer + `","max_tokens":5,"messages":[{"role":"user","content":"a"}]}`,
		"/v1/responses":        `{"model":"` + newer + `","input":"a","store":false}`,
	} {
		got := p.Call(t, http.MethodPost, path, body)
		if got.Status != 400 || !strings.Contains(got.Body, "is for embeddings, not for chat completions") {
			t.Errorf("%s: %d %s", path, got.Status, got.Body)
		}
	}
	strict := post(t, p, `{"model":"`+newer+`","input":"a","user":"u","new":1}`)
	if strict.Status != 200 || strict.Header.Get("X-Gateway-Ignored-Params") != "user, new" {
		t.Errorf("%d %v", strict.Status, strict.Header)
	}
}

// gemini starts a gateway for a scripted Gemini.
func gemini(t testing.TB, settings ...string) (*gatewaytest.Program, *providertest.Upstream) {
	t.Helper()
	u := providertest.Serve(t)
	own := []string{"GEMINI_API_KEY=sk-g", "GEMINI_BASE_URL=" + u.URL, "MAX_RETRIES=0"}
	return gatewaytest.Start(t, append(own, settings...)...), u
}

func TestRecordedAnswersOfGeminiBecomeOpenAIs(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ledger.db")
	p, u := gemini(t, "DATABASE_URL=sqlite:"+file)
	for name, r := range recordings(t, "gemini") {
		var asked struct {
			Requests []struct {
				Model   string
				Content struct{ Parts []struct{ Text string } }
				Size    int    `json:"outputDimensionality"`
				Task    string `json:"taskType"`
			}
		}
		var answered struct {
			Embeddings []struct{ Values []float64 }
			Usage      struct {
				Prompt int64 `json:"promptTokenCount"`
			} `json:"usageMetadata"`
		}
		if err := json.Unmarshal([]byte(r[0]), &asked); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(r[1]), &answered); err != nil {
			t.Fatal(err)
		}
		one := asked.Requests[0]
		body := map[string]any{"model": strings.TrimPrefix(one.Model, "models/"), "input": one.Content.Parts[0].Text}
		if one.Size > 0 {
			body["dimensions"] = one.Size
		}
		if one.Task != "" {
			body["task_type"] = one.Task
		}
		failing := strings.Contains(name, "error")
		if failing {
			body["model"], one.Model = newer, "models/"+newer
			u.Play(gatewaytest.JSON(404, r[1]))
		} else {
			u.Play(gatewaytest.JSON(200, r[1]))
		}
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		before := len(u.Requests())
		got := post(t, p, string(text))
		if failing {
			if e := got.APIError(t); got.Status != 404 || e.Code != "provider_error" {
				t.Errorf("%s: %d %s", name, got.Status, got.Body)
			}
			continue
		}
		checkSent(t, name, r[0], u.Requests()[before:])
		vectors := vectorsOf(t, got.Body)
		if got.Status != 200 || len(vectors) != 1 || math.Abs(lengthOf(vectors[0])-1) > 1e-5 || cosine(vectors[0], answered.Embeddings[0].Values) < 1-1e-9 {
			t.Errorf("%s: %d, %d vectors", name, got.Status, len(vectors))
			continue
		}
		row := gatewaytest.AwaitLedgerRow(t, file, got.Header.Get("X-Request-Id"))
		if reported := answered.Usage.Prompt; row.Estimated != (reported == 0) || reported > 0 && row.Prompt != reported || row.Prompt < 3 ||
			row.Output != 0 || row.Outcome != "ok" || !strings.Contains(got.Body, fmt.Sprintf(`"prompt_tokens":%d,`, row.Prompt)) {
			t.Errorf("%s: %+v, %s", name, row, got.Body[len(got.Body)-100:])
		}
	}
}

// checkSent compares what Gemini was sent with the recorded request, whatever the order of
// members.
func checkSent(t *testing.T, name, recorded string, sent []providertest.Request) {
	t.Helper()
	var want, got any
	if len(sent) != 1 || !strings.HasSuffix(sent[0].Path, ":batchEmbedContents") {
		t.Errorf("%s: %+v", name, sent)
		return
	}
	text := strings.ReplaceAll(recorded, newer+"-preview", newer)
	if err := json.Unmarshal([]byte(text), &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(sent[0].Body, &got); err != nil {
		t.Fatal(err)
	}
	if a, b := fmt.Sprint(want), fmt.Sprint(got); a != b {
		t.Errorf("%s: sent %s, not %s", name, b, a)
	}
}

func cosine(a []float32, b []float64) float64 {
	var product, square float64
	for i := range a {
		product += float64(a[i]) * b[i]
		square += b[i] * b[i]
	}
	return product / math.Sqrt(square) / lengthOf(a)
}

// A batch that fails with one key is asked for again with the other one, and only that one.
func TestOtherKeysAnswerTheBatchesThatAreMissing(t *testing.T) {
	t.Parallel()
	fake := simulator.New(simulator.Options{})
	var calls, answered atomic.Int64
	var refused atomic.Pointer[string]
	url := gatewaytest.ServeUpstream(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get("X-Goog-Api-Key")
		calls.Add(1)
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), `"text 250"`) && (refused.CompareAndSwap(nil, &key) || *refused.Load() == key) {
			gatewaytest.Until(t, "the other batches are answered", func() bool { return answered.Load() >= 3 })
			time.Sleep(500 * time.Millisecond) // in which the gateway reads them
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		fake.ServeHTTP(w, r)
		_ = http.NewResponseController(w).Flush()
		answered.Add(1)
	}))
	p := gatewaytest.Start(t, "GEMINI_API_KEY=sk-g1,sk-g2", "GEMINI_BASE_URL="+url)
	var inputs []string
	for i := range 301 {
		inputs = append(inputs, fmt.Sprintf("text %d", i))
	}
	list, _ := json.Marshal(inputs)
	got := post(t, p, `{"model":"`+newer+`","dimensions":4,"input":`+string(list)+`}`)
	if n := len(vectorsOf(t, got.Body)); got.Status != 200 || n != 301 || calls.Load() > 7 {
		t.Errorf("%d, %d vectors after %d calls: %.300s", got.Status, n, calls.Load(), got.Body)
	}
}

// Of a request four calls of Gemini run at once, and never more.
func TestFourBatchesOfARequestRunAtOnce(t *testing.T) {
	t.Parallel()
	fake := simulator.New(simulator.Options{})
	var running, most, calls atomic.Int64
	url := gatewaytest.ServeUpstream(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		n := running.Add(1)
		for seen := most.Load(); n > seen && !most.CompareAndSwap(seen, n); seen = most.Load() {
		}
		gatewaytest.Until(t, "four calls run at once", func() bool { return most.Load() >= 4 })
		answer := httptest.NewRecorder()
		fake.ServeHTTP(answer, r)
		running.Add(-1) // the gateway does not have the answer before
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer.Body.Bytes())
	}))
	p := gatewaytest.Start(t, "GEMINI_API_KEY=sk-g", "GEMINI_BASE_URL="+url, "MAX_RETRIES=0")
	list, _ := json.Marshal(strings.Split(strings.Repeat("a ", 1000)+"a", " "))
	got := post(t, p, `{"model":"`+newer+`","dimensions":4,"input":`+string(list)+`}`)
	if n := len(vectorsOf(t, got.Body)); got.Status != 200 || n != 1001 || calls.Load() != 11 || most.Load() != 4 {
		t.Errorf("%d, %d vectors of %d calls, %d at once", got.Status, n, calls.Load(), most.Load())
	}
}

// An answer that does not end is left when it is longer than answers may be.
func TestAnEndlessAnswerOfGeminiIsLeft(t *testing.T) {
	t.Parallel()
	const longest = 256 << 20
	var sent atomic.Int64
	url := gatewaytest.ServeUpstream(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, err := io.WriteString(w, `{"embeddings":[{"values":[0`)
		for piece := strings.Repeat(",0.25", 10_000); err == nil && sent.Load() < longest; {
			var n int
			n, err = io.WriteString(w, piece)
			sent.Add(int64(n))
		}
	}))
	p := gatewaytest.Start(t, "GEMINI_API_KEY=sk-g", "GEMINI_BASE_URL="+url, "MAX_RETRIES=0")
	got := post(t, p, `{"model":"`+newer+`","input":"a"}`)
	if e := got.APIError(t); got.Status != http.StatusBadGateway || e.Code != "provider_error" || sent.Load() >= longest/2 {
		t.Errorf("%d %s after %d MiB", got.Status, got.Body, sent.Load()>>20)
	}
}
