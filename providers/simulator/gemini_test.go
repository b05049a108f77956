package simulator

import (
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

const weatherGemini = `,"tools":[{"functionDeclarations":[{"name":"get_weather","description":"d","parametersJsonSchema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}}]}]`

const hi = `{"role":"user","parts":[{"text":"Hello there"}]}`

func geminiBody(extra, contents string) string {
	return `{"contents":[` + contents + `]` + extra + `}`
}

type geminiHeard struct {
	Candidates []struct {
		Content struct {
			Role  string          `json:"role"`
			Parts []geminiAllPart `json:"parts"`
		} `json:"content"`
		FinishReason  string          `json:"finishReason"`
		FinishMessage string          `json:"finishMessage"`
		Index         int             `json:"index"`
		Logprobs      *geminiLogprobs `json:"logprobsResult"`
	} `json:"candidates"`
	Usage        geminiUsage `json:"usageMetadata"`
	ModelVersion string      `json:"modelVersion"`
	ResponseID   string      `json:"responseId"`
}

type geminiAllPart struct {
	Text         *string `json:"text"`
	Thought      bool    `json:"thought"`
	Signature    string  `json:"thoughtSignature"`
	FunctionCall *struct {
		ID   string         `json:"id"`
		Name string         `json:"name"`
		Args jsontext.Value `json:"args"`
	} `json:"functionCall"`
	InlineData *geminiMedia `json:"inlineData"`
}

// geminiSaidAll is what a candidate comes to, in one piece or many.
type geminiSaidAll struct {
	text, thought, textSignature string
	calls                        []string
	ids                          []string
	callSignatures               []string
	images                       int
	end                          string
	ends                         int
}

func (h geminiHeard) candidate(index int) geminiSaidAll {
	var said geminiSaidAll
	for _, c := range h.Candidates {
		if c.Index != index {
			continue
		}
		for _, part := range c.Content.Parts {
			switch {
			case part.FunctionCall != nil:
				said.calls = append(said.calls, part.FunctionCall.Name+compact(part.FunctionCall.Args))
				said.ids = append(said.ids, part.FunctionCall.ID)
				said.callSignatures = append(said.callSignatures, part.Signature)
			case part.InlineData != nil:
				said.images++
			case part.Thought:
				said.thought += *part.Text
			default:
				said.text += *part.Text
				said.textSignature += part.Signature
			}
		}
		if c.FinishReason != "" {
			said.end, said.ends = c.FinishReason, said.ends+1
		}
	}
	return said
}

func askGemini(t *testing.T, model, body string) geminiHeard {
	t.Helper()
	var a geminiHeard
	asGemini(model, "generateContent").ask(t, serve(t, Options{}), body, &a)
	return a
}

// joinGemini puts chunks together; their usage must grow.
func joinGemini(t *testing.T, chunks []jsontext.Value) geminiHeard {
	t.Helper()
	var all geminiHeard
	for i, raw := range chunks {
		if member(raw, "usageMetadata") == nil {
			t.Fatalf("chunk without usage: %s", raw)
		}
		chunk := decode[geminiHeard](t, raw)
		if chunk.Usage.Total < all.Usage.Total || i > 0 && chunk.ResponseID != all.ResponseID {
			t.Fatalf("chunk %s after %+v", raw, all)
		}
		all.Usage, all.ModelVersion, all.ResponseID = chunk.Usage, chunk.ModelVersion, chunk.ResponseID
		all.Candidates = append(all.Candidates, chunk.Candidates...)
	}
	return all
}

func streamGemini(t *testing.T, model, body string) geminiHeard {
	t.Helper()
	a := asGemini(model, "streamGenerateContent?alt=sse").send(t, serve(t, Options{}), http.MethodPost, body)
	if got := a.header.Get("Content-Type"); a.status != 200 || got != "text/event-stream" {
		t.Fatalf("%d %s %s", a.status, got, a.body)
	}
	var chunks []jsontext.Value
	for _, e := range events(t, a.body, "\r\n") {
		if e.name != "" {
			t.Fatalf("event is called %s", e.name)
		}
		chunks = append(chunks, e.data)
	}
	return joinGemini(t, chunks)
}

func TestGeminiAnswersAndEchoes(t *testing.T) {
	a := askGemini(t, "gemini-2.5-flash", geminiBody(`,"systemInstruction":{"parts":[{"text":"Be brief."}]}`, `{"role":"user","parts":[{"text":"Hello there"},{"inlineData":{"mimeType":"application/pdf","data":"AA=="}}]}`))
	said := a.candidate(0)
	if said.text != `This is a simulated answer from gemini-2.5-flash. You said: "Hello there" With it came 1 file.` || said.end != "STOP" || said.textSignature != "" {
		t.Fatalf("%+v", said)
	}
	if u := a.Usage; u.Prompt != 4+mediaTokens || u.Candidates != 16 || u.Total != u.Prompt+16 || len(u.PromptDetails) != 2 {
		t.Fatalf("%+v", u)
	}
	if a.ModelVersion != "gemini-2.5-flash" || a.ResponseID == "" || a.Candidates[0].Content.Role != "model" {
		t.Fatalf("%+v", a)
	}
}

func TestGeminiStreamSaysWhatTheAnswerSays(t *testing.T) {
	thinking := `,"generationConfig":{"thinkingConfig":{"includeThoughts":true}}`
	for _, model := range []string{"gemini-2.5-flash", "gemini-3-pro-preview", "gemini-3.5-flash", "gemini-2.5-flash-image-preview"} {
		for _, extra := range []string{
			"", weatherGemini, thinking, thinking + weatherGemini,
			`,"generationConfig":{"candidateCount":3,"thinkingConfig":{"thinkingBudget":1024}}`,
			`,"generationConfig":{"maxOutputTokens":4}`, `,"generationConfig":{"stopSequences":["simulated"]}`,
			`,"generationConfig":{"maxOutputTokens":4,"thinkingConfig":{"includeThoughts":true}}`,
		} {
			body := geminiBody(extra, `{"role":"user","parts":[{"text":"both in Paris and Rome"}]}`)
			want, got := askGemini(t, model, body), streamGemini(t, model, body)
			wanted := encodeString(want.Usage)
			if encodeString(got.Usage) != wanted {
				t.Errorf("%s %s: usage %+v, want %+v", model, extra, got.Usage, want.Usage)
			}
			for i := range want.Candidates {
				w, g := want.candidate(i), got.candidate(i)
				if len(w.calls) > 0 && geminiGeneration(model) > 3 && (len(g.ids[0]) != 8 || g.ids[0] == w.ids[0]) {
					t.Errorf("%s: ids %v and %v", model, w.ids, g.ids)
				}
				w.ids, g.ids = nil, nil
				if encodeString(flat(w)) != encodeString(flat(g)) || g.ends != 1 {
					t.Errorf("%s %s: %+v, want %+v", model, extra, g, w)
				}
			}
		}
	}
}

func flat(s geminiSaidAll) []any {
	return []any{s.text, s.thought, s.textSignature, s.calls, s.callSignatures, s.images, s.end}
}

func encodeString(v any) string { return string(encode(v)) }

func TestGeminiStreamsAnArrayWithoutAltSSE(t *testing.T) {
	body := geminiBody("", hi)
	a := asGemini("gemini-2.5-pro", "streamGenerateContent").send(t, serve(t, Options{}), http.MethodPost, body)
	if got := a.header.Get("Content-Type"); !strings.HasPrefix(got, "application/json") || !jsontext.Value(a.body).IsValid() {
		t.Fatalf("%s %s", got, a.body)
	}
	heard := joinGemini(t, elements(a.body))
	if want := askGemini(t, "gemini-2.5-pro", body); heard.candidate(0).text != want.candidate(0).text {
		t.Fatalf("%+v", heard.candidate(0))
	}
}

func TestGeminiToolRoundTripNeedsItsSignature(t *testing.T) {
	question := `{"role":"user","parts":[{"text":"Weather in Paris and Rome, both"}]}`
	for _, model := range []string{"gemini-2.5-flash", "gemini-3-flash-preview", "gemini-3.6-flash"} {
		raw := asGemini(model, "generateContent").send(t, serve(t, Options{}), http.MethodPost, geminiBody(weatherGemini, question))
		first := decode[geminiHeard](t, raw.body)
		said := first.candidate(0)
		if strings.Join(said.calls, " ") != `get_weather{"city":"Paris"} get_weather{"city":"Rome"}` || said.end != "STOP" || first.Candidates[0].FinishMessage == "" {
			t.Fatalf("%+v", said)
		}
		needed := geminiGeneration(model) >= 3
		if (said.callSignatures[0] != "") != needed || said.callSignatures[1] != "" {
			t.Fatalf("%s signs %v", model, said.callSignatures)
		}
		content := string(member(elements(member(raw.body, "candidates"))[0], "content"))
		back := func(content, more string) string {
			return geminiBody(weatherGemini, question+","+content+`,{"role":"user","parts":[{"functionResponse":{"name":"get_weather","response":{"output":"sunny"}}},{"functionResponse":{"name":"get_weather","response":{"c":14}}}`+more+`]}`)
		}
		second := askGemini(t, model, back(content, "")).candidate(0)
		if !strings.HasSuffix(second.text, `The tool get_weather returned: "sunny" The tool get_weather returned: "{"c":14}"`) {
			t.Fatal(second.text)
		}
		if third := askGemini(t, model, back(content, `,{"text":"And Oslo?"}`)).candidate(0); len(third.calls) == 0 {
			t.Fatalf("a new question is answered without the tool: %+v", third)
		}
		if !needed {
			continue
		}
		for signature, want := range map[string]string{
			"":                                 "Function call is missing a thought_signature",
			"Zm9yZWlnbg==":                     "Corrupted thought signature",
			"no base64!":                       "Corrupted thought signature",
			"skip_thought_signature_validator": "The tool get_weather returned",
		} {
			a := asGemini(model, "generateContent").send(t, serve(t, Options{}), http.MethodPost, back(strings.Replace(content, said.callSignatures[0], signature, 1), ""))
			if !strings.Contains(string(a.body), want) {
				t.Errorf("%s with %q: %d %s", model, signature, a.status, a.body)
			}
		}
		other := asGemini("gemini-3.1-pro-preview", "generateContent").send(t, serve(t, Options{}), http.MethodPost, back(content, ""))
		if other.status != 400 {
			t.Errorf("another model takes the signature: %s", other.body)
		}
		history := back(strings.Replace(content, said.callSignatures[0], "", 1), "")
		history = strings.Replace(history, `]}],"tools"`, `]},{"role":"model","parts":[{"text":"x"}]},`+hi+`],"tools"`, 1)
		if a := asGemini(model, "generateContent").send(t, serve(t, Options{}), http.MethodPost, history); a.status != 200 {
			t.Errorf("an earlier turn without signature: %s", a.body)
		}
	}
}

func TestGeminiCallingConfigIsObeyed(t *testing.T) {
	tools := `,"tools":[{"functionDeclarations":[{"name":"a"},{"name":"b","parameters":{"type":"OBJECT","properties":{"n":{"type":"INTEGER"}}}}]}]`
	for config, want := range map[string]string{
		`"mode":"AUTO"`: "a{}",
		`"mode":"NONE"`: "",
		`"mode":"ANY"`:  "a{}",
		`"mode":"ANY","allowedFunctionNames":["b"]`: `b{"n":1}`,
	} {
		body := geminiBody(tools+`,"toolConfig":{"functionCallingConfig":{`+config+`}}`, hi)
		if got := strings.Join(askGemini(t, "gemini-2.5-pro", body).candidate(0).calls, " "); got != want {
			t.Errorf("%s: %q, want %q", config, got, want)
		}
	}
}

func TestGeminiWritesJSON(t *testing.T) {
	for config, want := range map[string]string{
		`"responseSchema":{"type":"OBJECT","properties":{"city":{"type":"STRING","enum":["Oslo","Rome"]},"list":{"type":"ARRAY","items":{"type":"NUMBER"},"minItems":"2"}}}`: `{"city": "Oslo", "list": [1, 1]}`,
		`"responseJsonSchema":{"$ref":"#/$defs/x","$defs":{"x":{"type":"object","properties":{"ok":{"type":"boolean"}}}}}`:                                                   `{"ok": true}`,
		`"temperature":1`: `{"simulated": true, "model": "gemini-2.5-pro", "you_said": "Hello there"}`,
	} {
		body := geminiBody(`,"generationConfig":{"responseMimeType":"application/json",`+config+`}`, hi)
		if got := askGemini(t, "gemini-2.5-pro", body).candidate(0).text; got != want {
			t.Errorf("%s: %s, want %s", config, got, want)
		}
	}
}

func TestGeminiEndsAtStopsAndLimits(t *testing.T) {
	for config, want := range map[string][2]string{
		`"maxOutputTokens":5`:                                                            {"This is a simulated answer", "MAX_TOKENS"},
		`"stopSequences":[" answer"]`:                                                    {"This is a simulated", "STOP"},
		`"maxOutputTokens":5,"thinkingConfig":{"thinkingBudget":128}`:                    {"", "MAX_TOKENS"},
		`"maxOutputTokens":5,"thinkingConfig":{"thinkingBudget":0}`:                      {"This is a simulated answer", "MAX_TOKENS"},
		`"maxOutputTokens":3,"candidateCount":2,"seed":-5,"responseModalities":["TEXT"]`: {"This is a", "MAX_TOKENS"},
	} {
		said := askGemini(t, "gemini-2.5-flash", geminiBody(`,"generationConfig":{`+config+`}`, hi)).candidate(0)
		if said.text != want[0] || said.end != want[1] {
			t.Errorf("%s: %q %s", config, said.text, said.end)
		}
	}
	empty := asGemini("gemini-2.5-flash", "generateContent").send(t, serve(t, Options{}), http.MethodPost, geminiBody(`,"generationConfig":{"maxOutputTokens":5,"thinkingConfig":{"thinkingBudget":128}}`, hi))
	if !strings.Contains(string(empty.body), `"content":{"role":"model"},"finishReason":"MAX_TOKENS"`) {
		t.Errorf("eaten by thinking: %s", empty.body)
	}
	cut := askGemini(t, "gemini-2.5-flash", geminiBody(weatherGemini+`,"generationConfig":{"maxOutputTokens":2}`, hi)).candidate(0)
	if len(cut.calls) != 0 || cut.end != "MAX_TOKENS" {
		t.Errorf("half a call: %+v", cut)
	}
}

func TestGeminiThinksApartFromItsText(t *testing.T) {
	a := askGemini(t, "gemini-3.5-flash", geminiBody(`,"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"HIGH"}}`, hi))
	said := a.candidate(0)
	if said.thought == "" || said.textSignature == "" || a.Usage.Thoughts == 0 || a.Usage.Candidates != 11 || a.Usage.Total != a.Usage.Prompt+a.Usage.Candidates+a.Usage.Thoughts {
		t.Fatalf("%+v %+v", said, a.Usage)
	}
	a = askGemini(t, "gemini-2.5-flash", geminiBody(`,"generationConfig":{"thinkingConfig":{"thinkingBudget":1024}}`, hi))
	if said := a.candidate(0); said.thought != "" || a.Usage.Thoughts == 0 {
		t.Fatalf("%+v %+v", said, a.Usage)
	}
}

func TestGeminiGivesLogprobs(t *testing.T) {
	a := askGemini(t, "gemini-2.0-flash", geminiBody(`,"generationConfig":{"responseLogprobs":true,"logprobs":1}`, hi))
	l := a.Candidates[0].Logprobs
	if l == nil || len(l.Chosen) != 11 || len(l.Top) != 11 {
		t.Fatalf("%+v", l)
	}
}

func TestGeminiCountsTheCacheWithinThePrompt(t *testing.T) {
	server := serve(t, Options{})
	body := geminiBody("", `{"role":"user","parts":[{"text":"`+strings.Repeat("w ", 1500)+`"}]}`)
	for _, want := range []int{0, 1500} {
		var a geminiHeard
		asGemini("gemini-2.5-pro", "generateContent").ask(t, server, body, &a)
		if a.Usage.Cached != want || a.Usage.Prompt != 1500 {
			t.Fatalf("%+v", a.Usage)
		}
	}
}
