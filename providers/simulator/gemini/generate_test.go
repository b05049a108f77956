package gemini_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/providers/simulator/gemini"
	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/reply"
	"modelgateway/providers/simulator/simulatortest"
)

const (
	hello = simulatortest.HelloContent
	tools = simulatortest.GeminiTools
)

var body = simulatortest.ContentsBody

type joined struct {
	Candidates []struct {
		Content struct {
			Role  string `json:"role"`
			Parts []part `json:"parts"`
		} `json:"content"`
		FinishReason  string           `json:"finishReason"`
		FinishMessage string           `json:"finishMessage"`
		Index         int              `json:"index"`
		Logprobs      *gemini.Logprobs `json:"logprobsResult"`
	} `json:"candidates"`
	Usage        gemini.Usage `json:"usageMetadata"`
	ModelVersion string       `json:"modelVersion"`
	ResponseID   string       `json:"responseId"`
}

type part struct {
	Text         *string `json:"text"`
	Thought      bool    `json:"thought"`
	Signature    string  `json:"thoughtSignature"`
	FunctionCall *struct {
		ID   string         `json:"id"`
		Name string         `json:"name"`
		Args jsontext.Value `json:"args"`
	} `json:"functionCall"`
	InlineData *gemini.Media `json:"inlineData"`
}

// whole is what a candidate comes to, in one piece or many.
type whole struct {
	text, thought, textSignature string
	calls                        []string
	ids                          []string
	callSignatures               []string
	images                       int
	end                          string
	ends                         int
}

func (h joined) candidate(index int) whole {
	var said whole
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

func compact(raw jsontext.Value) string {
	if err := raw.Compact(); err != nil {
		return string(raw)
	}
	return string(raw)
}

func ask(t *testing.T, model, request string) joined {
	t.Helper()
	var a joined
	simulatortest.Gemini(model, "generateContent").Ask(t, simulatortest.Strict(t), request, &a)
	return a
}

// join puts chunks together; their usage must grow.
func join(t *testing.T, chunks []jsontext.Value) joined {
	t.Helper()
	var all joined
	for i, raw := range chunks {
		if rawjson.Get(raw, "usageMetadata") == nil {
			t.Fatalf("chunk without usage: %s", raw)
		}
		chunk := simulatortest.Decode[joined](t, raw)
		if chunk.Usage.Total < all.Usage.Total || i > 0 && chunk.ResponseID != all.ResponseID {
			t.Fatalf("chunk %s after %+v", raw, all)
		}
		all.Usage, all.ModelVersion, all.ResponseID = chunk.Usage, chunk.ModelVersion, chunk.ResponseID
		all.Candidates = append(all.Candidates, chunk.Candidates...)
	}
	return all
}

func stream(t *testing.T, model, request string) joined {
	t.Helper()
	a := simulatortest.Gemini(model, "streamGenerateContent?alt=sse").Post(t, request)
	if got := a.Header.Get("Content-Type"); a.Status != 200 || got != "text/event-stream" {
		t.Fatalf("%d %s %s", a.Status, got, a.Body)
	}
	var chunks []jsontext.Value
	for _, e := range simulatortest.Events(t, a.Body, "\r\n") {
		if e.Name != "" {
			t.Fatalf("event is called %s", e.Name)
		}
		chunks = append(chunks, e.Data)
	}
	return join(t, chunks)
}

func TestAnswersAndEchoes(t *testing.T) {
	a := ask(t, "gemini-2.5-flash", body(`,"systemInstruction":{"parts":[{"text":"Be brief."}]}`,
		`{"role":"user","parts":[{"text":"Hello there"},{"inlineData":{"mimeType":"application/pdf","data":"AA=="}}]}`))
	said := a.candidate(0)
	want := `This is a simulated answer from gemini-2.5-flash. You said: "Hello there" With it came 1 file.`
	if said.text != want || said.end != "STOP" || said.textSignature != "" {
		t.Fatalf("%+v", said)
	}
	if u := a.Usage; u.Prompt != 4+reply.MediaTokens || u.Candidates != 16 || u.Total != u.Prompt+16 || len(u.PromptDetails) != 2 {
		t.Fatalf("%+v", u)
	}
	if a.ModelVersion != "gemini-2.5-flash" || a.ResponseID == "" || a.Candidates[0].Content.Role != "model" {
		t.Fatalf("%+v", a)
	}
}

func TestStreamSaysWhatTheAnswerSays(t *testing.T) {
	thinking := `,"generationConfig":{"thinkingConfig":{"includeThoughts":true}}`
	for _, model := range []string{"gemini-2.5-flash", "gemini-3-pro-preview", "gemini-3.5-flash", "gemini-2.5-flash-image-preview"} {
		for _, extra := range []string{
			"", tools, thinking, thinking + tools,
			`,"generationConfig":{"candidateCount":3,"thinkingConfig":{"thinkingBudget":1024}}`,
			`,"generationConfig":{"maxOutputTokens":4}`, `,"generationConfig":{"stopSequences":["simulated"]}`,
			`,"generationConfig":{"maxOutputTokens":4,"thinkingConfig":{"includeThoughts":true}}`,
		} {
			request := body(extra, `{"role":"user","parts":[{"text":"both in Paris and Rome"}]}`)
			want, got := ask(t, model, request), stream(t, model, request)
			wanted := encodeString(want.Usage)
			if encodeString(got.Usage) != wanted {
				t.Errorf("%s %s: usage %+v, want %+v", model, extra, got.Usage, want.Usage)
			}
			for i := range want.Candidates {
				w, g := want.candidate(i), got.candidate(i)
				if len(w.calls) > 0 && gemini.Generation(model) > 3 && (len(g.ids[0]) != 8 || g.ids[0] == w.ids[0]) {
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

func flat(s whole) []any {
	return []any{s.text, s.thought, s.textSignature, s.calls, s.callSignatures, s.images, s.end}
}

func encodeString(v any) string { return string(rawjson.Encode(v)) }

func TestStreamsAnArrayWithoutAltSSE(t *testing.T) {
	request := body("", hello)
	a := simulatortest.Gemini("gemini-2.5-pro", "streamGenerateContent").Post(t, request)
	if got := a.Header.Get("Content-Type"); !strings.HasPrefix(got, "application/json") || !jsontext.Value(a.Body).IsValid() {
		t.Fatalf("%s %s", got, a.Body)
	}
	answer := join(t, rawjson.Elements(a.Body))
	if want := ask(t, "gemini-2.5-pro", request); answer.candidate(0).text != want.candidate(0).text {
		t.Fatalf("%+v", answer.candidate(0))
	}
}

func TestToolRoundTripNeedsItsSignature(t *testing.T) {
	question := `{"role":"user","parts":[{"text":"Weather in Paris and Rome, both"}]}`
	for _, model := range []string{"gemini-2.5-flash", "gemini-3-flash-preview", "gemini-3.6-flash"} {
		raw := simulatortest.Gemini(model, "generateContent").Post(t, body(tools, question))
		first := simulatortest.Decode[joined](t, raw.Body)
		said := first.candidate(0)
		if strings.Join(said.calls, " ") != `get_weather{"city":"Paris"} get_weather{"city":"Rome"}` ||
			said.end != "STOP" || first.Candidates[0].FinishMessage == "" {
			t.Fatalf("%+v", said)
		}
		needed := gemini.Generation(model) >= 3
		if (said.callSignatures[0] != "") != needed || said.callSignatures[1] != "" {
			t.Fatalf("%s signs %v", model, said.callSignatures)
		}
		content := string(rawjson.Get(rawjson.Elements(rawjson.Get(raw.Body, "candidates"))[0], "content"))
		back := func(content, more string) string {
			return body(tools, question+","+content+`,{"role":"user","parts":[`+
				`{"functionResponse":{"name":"get_weather","response":{"output":"sunny"}}},`+
				`{"functionResponse":{"name":"get_weather","response":{"c":14}}}`+more+`]}`)
		}
		second := ask(t, model, back(content, "")).candidate(0)
		if !strings.HasSuffix(second.text, `The tool get_weather returned: "sunny" The tool get_weather returned: "{"c":14}"`) {
			t.Fatal(second.text)
		}
		if third := ask(t, model, back(content, `,{"text":"And Oslo?"}`)).candidate(0); len(third.calls) == 0 {
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
			a := simulatortest.Gemini(model, "generateContent").
				Post(t, back(strings.Replace(content, said.callSignatures[0], signature, 1), ""))
			if !strings.Contains(string(a.Body), want) {
				t.Errorf("%s with %q: %d %s", model, signature, a.Status, a.Body)
			}
		}
		other := simulatortest.Gemini("gemini-3.1-pro-preview", "generateContent").Post(t, back(content, ""))
		if other.Status != 400 {
			t.Errorf("another model takes the signature: %s", other.Body)
		}
		history := back(strings.Replace(content, said.callSignatures[0], "", 1), "")
		history = strings.Replace(history, `]}],"tools"`, `]},{"role":"model","parts":[{"text":"x"}]},`+hello+`],"tools"`, 1)
		if a := simulatortest.Gemini(model, "generateContent").Post(t, history); a.Status != 200 {
			t.Errorf("an earlier turn without signature: %s", a.Body)
		}
	}
}

func TestCallingConfigIsObeyed(t *testing.T) {
	tools := `,"tools":[{"functionDeclarations":[{"name":"a"},` +
		`{"name":"b","parameters":{"type":"OBJECT","properties":{"n":{"type":"INTEGER"}}}}]}]`
	for config, want := range map[string]string{
		`"mode":"AUTO"`: "a{}",
		`"mode":"NONE"`: "",
		`"mode":"ANY"`:  "a{}",
		`"mode":"ANY","allowedFunctionNames":["b"]`: `b{"n":1}`,
	} {
		request := body(tools+`,"toolConfig":{"functionCallingConfig":{`+config+`}}`, hello)
		if got := strings.Join(ask(t, "gemini-2.5-pro", request).candidate(0).calls, " "); got != want {
			t.Errorf("%s: %q, want %q", config, got, want)
		}
	}
}

func TestWritesJSON(t *testing.T) {
	for config, want := range map[string]string{
		`"responseSchema":{"type":"OBJECT","properties":{"city":{"type":"STRING","enum":["Oslo","Rome"]},` +
			`"list":{"type":"ARRAY","items":{"type":"NUMBER"},"minItems":"2"}}}`: `{"city": "Oslo", "list": [1, 1]}`,
		`"responseJsonSchema":{"$ref":"#/$defs/x","$defs":{"x":{"type":"object","properties":{"ok":{"type":"boolean"}}}}}`: `{"ok": true}`,
		`"temperature":1`: `{"simulated": true, "model": "gemini-2.5-pro", "you_said": "Hello there"}`,
	} {
		request := body(`,"generationConfig":{"responseMimeType":"application/json",`+config+`}`, hello)
		if got := ask(t, "gemini-2.5-pro", request).candidate(0).text; got != want {
			t.Errorf("%s: %s, want %s", config, got, want)
		}
	}
}

func TestEndsAtStopsAndLimits(t *testing.T) {
	for config, want := range map[string][2]string{
		`"maxOutputTokens":5`:                                                            {"This is a simulated answer", "MAX_TOKENS"},
		`"stopSequences":[" answer"]`:                                                    {"This is a simulated", "STOP"},
		`"maxOutputTokens":5,"thinkingConfig":{"thinkingBudget":128}`:                    {"", "MAX_TOKENS"},
		`"maxOutputTokens":5,"thinkingConfig":{"thinkingBudget":0}`:                      {"This is a simulated answer", "MAX_TOKENS"},
		`"maxOutputTokens":3,"candidateCount":2,"seed":-5,"responseModalities":["TEXT"]`: {"This is a", "MAX_TOKENS"},
	} {
		said := ask(t, "gemini-2.5-flash", body(`,"generationConfig":{`+config+`}`, hello)).candidate(0)
		if said.text != want[0] || said.end != want[1] {
			t.Errorf("%s: %q %s", config, said.text, said.end)
		}
	}
	empty := simulatortest.Gemini("gemini-2.5-flash", "generateContent").Post(t,
		body(`,"generationConfig":{"maxOutputTokens":5,"thinkingConfig":{"thinkingBudget":128}}`, hello))
	if !strings.Contains(string(empty.Body), `"content":{"role":"model"},"finishReason":"MAX_TOKENS"`) {
		t.Errorf("eaten by thinking: %s", empty.Body)
	}
	cut := ask(t, "gemini-2.5-flash", body(tools+`,"generationConfig":{"maxOutputTokens":2}`, hello)).candidate(0)
	if len(cut.calls) != 0 || cut.end != "MAX_TOKENS" {
		t.Errorf("half a call: %+v", cut)
	}
}

func TestThinksApartFromItsText(t *testing.T) {
	a := ask(t, "gemini-3.5-flash", body(`,"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"HIGH"}}`, hello))
	said := a.candidate(0)
	if said.thought == "" || said.textSignature == "" || a.Usage.Thoughts == 0 || a.Usage.Candidates != 11 ||
		a.Usage.Total != a.Usage.Prompt+a.Usage.Candidates+a.Usage.Thoughts {
		t.Fatalf("%+v %+v", said, a.Usage)
	}
	a = ask(t, "gemini-2.5-flash", body(`,"generationConfig":{"thinkingConfig":{"thinkingBudget":1024}}`, hello))
	if said := a.candidate(0); said.thought != "" || a.Usage.Thoughts == 0 {
		t.Fatalf("%+v %+v", said, a.Usage)
	}
}

func TestGivesLogprobs(t *testing.T) {
	a := ask(t, "gemini-2.0-flash", body(`,"generationConfig":{"responseLogprobs":true,"logprobs":1}`, hello))
	l := a.Candidates[0].Logprobs
	if l == nil || len(l.Chosen) != 11 || len(l.Top) != 11 {
		t.Fatalf("%+v", l)
	}
}

func TestCountsTheCacheWithinThePrompt(t *testing.T) {
	server := simulatortest.Strict(t)
	request := body("", `{"role":"user","parts":[{"text":"`+strings.Repeat("w ", 1500)+`"}]}`)
	for _, want := range []int{0, 1500} {
		var a joined
		simulatortest.Gemini("gemini-2.5-pro", "generateContent").Ask(t, server, request, &a)
		if a.Usage.Cached != want || a.Usage.Prompt != 1500 {
			t.Fatalf("%+v", a.Usage)
		}
	}
}
