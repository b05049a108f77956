package gemini

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/dialects/chat"
	"modelgateway/llm"
	"modelgateway/providers"
)

// conversation is a source of what no chat request can say.
type conversation struct {
	llm.Source
	said llm.Conversation
}

func (c *conversation) Dialect() llm.Dialect { return "foreign" }

func (c *conversation) Conversation() (*llm.Conversation, error) { return &c.said, nil }

func foreign(t *testing.T, c llm.Conversation, change func(*llm.Request)) *llm.Request {
	t.Helper()
	req, err := chat.Decode(nil, []byte(ask))
	if err != nil {
		t.Fatal(err)
	}
	req.Source = &conversation{req.Source, c}
	if change != nil {
		change(req)
	}
	return req
}

func translated(t *testing.T, id string, c llm.Conversation, change func(*llm.Request)) *exchange {
	t.Helper()
	x, err := provider("http://127.0.0.1:1").Prepare(providers.Call{Request: foreign(t, c, change), Model: model(t, id)})
	if err != nil {
		t.Fatal(err)
	}
	return x.(*exchange)
}

// member is the value of a member of a body.
func bodyMember(t *testing.T, x *exchange, name string) string {
	t.Helper()
	var all map[string]jsontext.Value
	if err := json.Unmarshal(x.body, &all); err != nil {
		t.Fatal(err)
	}
	return string(all[name])
}

func text2(s string) llm.Block { return llm.Block{Kind: llm.BlockText, Text: s} }

func mediaOf(m llm.Media) llm.Block { return llm.Block{Kind: llm.BlockMedia, Media: &m} }

func called(id, name string) llm.Block {
	return llm.Block{Kind: llm.BlockCall, Call: &llm.Call{ID: id, ClientID: id, Name: name, Arguments: jsontext.Value(`{}`)}}
}

func resultOf(id string, failed bool, content ...llm.Block) llm.Block {
	return llm.Block{Kind: llm.BlockResult, Result: &llm.Result{ID: id, ClientID: id, IsError: failed, Content: content}}
}

func user(blocks ...llm.Block) llm.Message { return llm.Message{Blocks: blocks} }

func asking(blocks ...llm.Block) llm.Conversation {
	return llm.Conversation{Messages: []llm.Message{user(blocks...)}}
}

func assistant(blocks ...llm.Block) llm.Message {
	return llm.Message{Role: llm.RoleAssistant, Blocks: blocks}
}

func TestDocumentsBecomeTextsAndFiles(t *testing.T) {
	x := translated(t, "gemini-2.5-flash", asking(
		mediaOf(llm.Media{Kind: llm.File, Text: "plain", Title: "T", Context: "c", Citations: true}),
		mediaOf(llm.Media{Kind: llm.SearchResult, Text: "found", Title: "F", URL: "https://example.com"}),
		mediaOf(llm.Media{Kind: llm.File, URL: "data:application/pdf;base64,JVBERi0=", Title: "paper"}),
		mediaOf(llm.Media{Kind: llm.File, URL: "https://example.com/paper", Format: "application/pdf"}),
		text2(""), text2("q"),
	), nil)
	const want = `[{"role":"user","parts":[{"text":"<document title=\"T\" context=\"c\">\nplain\n</document>"},` +
		`{"text":"<search_result title=\"F\" source=\"https://example.com\">\nfound\n</search_result>"},` +
		`{"text":"<document title=\"paper\"/>"},{"inlineData":{"mimeType":"application/pdf","data":"JVBERi0="}},` +
		`{"fileData":{"mimeType":"application/pdf","fileUri":"https://example.com/paper"}},{"text":"q"}]}]`
	if got := bodyMember(t, x, "contents"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := x.Properties().Ignored; !slices.Equal(got, []string{"messages[].content[].citations"}) {
		t.Errorf("ignored %v", got)
	}
}

func TestResultsOfToolsHoldErrorsPicturesAndDocuments(t *testing.T) {
	c := llm.Conversation{Messages: []llm.Message{
		user(text2("q")), assistant(called("1", "f"), called("2", "f"), called("3", "g"), called("4", "g")),
		user(
			text2("and"), resultOf("4", false), resultOf("1", true, text2("broken")),
			resultOf("2", false, text2("a"), text2(""), mediaOf(llm.Media{Kind: llm.Image, URL: "data:image/png;base64,AA=="})),
			resultOf("3", false, mediaOf(llm.Media{Kind: llm.File, Text: "plain"}), mediaOf(llm.Media{Kind: llm.File,
				URL: "data:application/pdf;base64,JVBERi0="})),
		),
	}}
	const picture, pdf = `{"inlineData":{"mimeType":"image/png","data":"AA=="}}`, `{"inlineData":{"mimeType":"application/pdf",` +
		`"data":"JVBERi0="}}`
	const document = `"<document>\nplain\n</document>"`
	for id, want := range map[string]string{
		"gemini-2.5-flash": `{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"error":"broken"}}},` +
			`{"functionResponse":{"name":"f","response":{"output":"a"}}},{"functionResponse":{"name":"g","response":{"output":` +
			document + `}}},` +
			`{"functionResponse":{"name":"g","response":{"output":""}}},` + picture + `,` + pdf + `,{"text":"and"}]}]`,
		"gemini-3-flash-preview": `{"role":"user","parts":[{"functionResponse":{"id":"1","name":"f","response":{"error":"broken"}}},` +
			`{"functionResponse":{"id":"2","name":"f","response":{"output":"a"},"parts":[` + picture + `]}},` +
			`{"functionResponse":{"id":"3","name":"g","response":{"output":` + document + `},"parts":[` + pdf + `]}},` +
			`{"functionResponse":{"id":"4","name":"g","response":{"output":""}}},{"text":"and"}]}]`,
	} {
		if got := bodyMember(t, translated(t, id, c, nil), "contents"); !strings.HasSuffix(got, want) {
			t.Errorf("%s\ngot  %s\nwant %s", id, got, want)
		}
	}
}

func TestInstructionsInTheMiddleComeBehindTheResults(t *testing.T) {
	x := translated(t, "gemini-2.5-flash", llm.Conversation{Messages: []llm.Message{
		{Role: llm.RoleInstructions, Blocks: []llm.Block{text2("s")}}, user(text2("q")), assistant(called("1", "f")),
		{Role: llm.RoleInstructions, InPlace: true, Blocks: []llm.Block{text2("now")}}, user(resultOf("1", false, text2("r"))),
	}}, nil)
	const want = `[{"role":"user","parts":[{"text":"q"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]},` +
		`{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"r"}}},{"text":"<system>\nnow\n</system>"}]}]`
	if got := bodyMember(t, x, "contents"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := bodyMember(t, x, "systemInstruction"); got != `{"parts":[{"text":"s"}]}` {
		t.Errorf("instructions %s", got)
	}
}

func TestWishForALongAnswerIsLowered(t *testing.T) {
	wish := func(n int64, isWish bool) func(*llm.Request) {
		return func(r *llm.Request) {
			r.MaxOutput, r.OutputWish = &n, isWish
			r.Thinking = &llm.Thinking{Type: "enabled", BudgetTokens: 60_000}
		}
	}
	for _, tt := range []struct {
		wish    int64
		lowers  bool
		want    string
		ignored int
	}{
		{128_000, true, `{"maxOutputTokens":65536,"thinkingConfig":{"includeThoughts":true,"thinkingBudget":32768}}`, 2},
		{128_000, false, `{"maxOutputTokens":128000,"thinkingConfig":{"includeThoughts":true,"thinkingBudget":32768}}`, 1},
		{8000, true, `{"maxOutputTokens":8000,"thinkingConfig":{"includeThoughts":true,"thinkingBudget":6000}}`, 1},
	} {
		x := translated(t, "gemini-2.5-pro", asking(text2("q")), wish(tt.wish, tt.lowers))
		if got := bodyMember(t, x, "generationConfig"); got != tt.want || len(x.Properties().Ignored) != tt.ignored {
			t.Errorf("%d: %s, ignored %v", tt.wish, got, x.Properties().Ignored)
		}
	}
	_, err := provider("http://127.0.0.1:1").Prepare(providers.Call{
		Request: foreign(t, asking(text2("q")), wish(0, true)), Model: model(t, "gemini-2.5-pro"),
	})
	if e := api.AsError(err); err == nil || e.Status != 400 || e.Code != api.CodeUnsupportedValue {
		t.Errorf("a limit of 0: %v", err)
	}
}

func TestStopSequencesBeyondTheLimitAreNamed(t *testing.T) {
	x := translated(t, "gemini-2.5-flash", asking(text2("q")), func(r *llm.Request) { r.Stop = []string{"1", "2", "3", "4", "5", "6"} })
	if got := bodyMember(t, x, "generationConfig"); got != `{"stopSequences":["1","2","3","4","5"]}` || !slices.Equal(x.Properties().Ignored,
		[]string{"stop"}) {
		t.Errorf("%s, ignored %v", got, x.Properties().Ignored)
	}
}

func TestThoughtsAreAskedForOnlyWhereTheyAreShown(t *testing.T) {
	for _, tt := range []struct {
		name, model, want string
		change            func(*llm.Request)
	}{
		{"shown", "gemini-3-flash-preview", `{"includeThoughts":true,"thinkingLevel":"MEDIUM"}`,
			func(r *llm.Request) {
				r.Thinking, r.Effort = &llm.Thinking{Type: "adaptive", Display: "summarized"}, "medium"
			}},
		{"omitted", "gemini-3-flash-preview", `{"thinkingLevel":"MEDIUM"}`,
			func(r *llm.Request) {
				r.Thinking, r.Effort = &llm.Thinking{Type: "adaptive", Display: "omitted"}, "medium"
			}},
		{"not asked for", "gemini-3-flash-preview", `{"thinkingLevel":"HIGH"}`,
			func(r *llm.Request) { r.NoThoughts, r.Effort = true, "max" }},
		{"dynamic", "gemini-2.5-flash", `{"includeThoughts":true,"thinkingBudget":-1}`,
			func(r *llm.Request) { r.Thinking = &llm.Thinking{Type: "adaptive"} }},
		{"disabled", "gemini-2.5-flash", `{"thinkingBudget":0}`,
			func(r *llm.Request) { r.NoThoughts, r.Thinking = true, &llm.Thinking{Type: "disabled"} }},
		{"disabled where it cannot be", "gemini-2.5-pro", `{"thinkingBudget":128}`,
			func(r *llm.Request) { r.NoThoughts, r.Thinking = true, &llm.Thinking{Type: "disabled"} }},
	} {
		want := `{"thinkingConfig":` + tt.want + `}`
		if got := bodyMember(t, translated(t, tt.model, asking(text2("q")), tt.change), "generationConfig"); got != want {
			t.Errorf("%s: %s, want %s", tt.name, got, want)
		}
	}
}

// signed is a thought of Gemini's as a client brings it back.
func signed(model, value, call string) llm.Block {
	return llm.Block{Kind: llm.BlockThought, Thought: &llm.Thought{
		Kind: llm.ThoughtEncrypted, Format: llm.FormatGemini, Model: model, CallID: call,
		Data: signature{model: model, image: noImage, value: value}.String(),
	}}
}

func at(item int, blocks ...llm.Block) []llm.Block {
	for i := range blocks {
		blocks[i].At = llm.At{Item: item, Part: i}
	}
	return blocks
}

func TestSignaturesComeBackToTheirPartsAndTheirModel(t *testing.T) {
	const own, other = "gemini-3-flash-preview", "gemini-3-pro-preview"
	claude := llm.Block{Kind: llm.BlockThought, Thought: &llm.Thought{Text: "secret", Signature: "secret", Format: llm.FormatAnthropic}}
	for name, tt := range map[string]struct {
		said []llm.Block
		want string
	}{
		"of a call": {
			[]llm.Block{claude, text2("t"), signed(own, "s1", "1"), called("1", "f"), called("2", "g")},
			`{"text":"t"},{"functionCall":{"id":"1","name":"f","args":{}},"thoughtSignature":"s1"},{"functionCall":{"id":"2","name":"g",` +
				`"args":{}}}`,
		},
		"of a call whose id has changed": {
			[]llm.Block{signed(own, "s1", "x.1"), called("x_1", "f"), signed(own, "s2", "x.2"), called("x_2", "g")},
			`{"functionCall":{"id":"x_1","name":"f","args":{}},"thoughtSignature":"s1"},` +
				`{"functionCall":{"id":"x_2","name":"g","args":{}},"thoughtSignature":"s2"}`,
		},
		"of another model": {
			[]llm.Block{signed(other, "s1", "1"), called("1", "f"), signed(other, "s2", "2"), called("2", "g")},
			`{"functionCall":{"id":"1","name":"f","args":{}},"thoughtSignature":"` + skipSignature + `"},{"functionCall":{"id":"2",` +
				`"name":"g","args":{}}}`,
		},
		"of another provider": {
			[]llm.Block{claude, called("1", "f"), called("2", "g")},
			`{"functionCall":{"id":"1","name":"f","args":{}},"thoughtSignature":"` + skipSignature + `"},{"functionCall":{"id":"2",` +
				`"name":"g","args":{}}}`,
		},
		"of the text before it": {
			[]llm.Block{text2("a"), signed(own, "s1", ""), signed(own, "s2", "1"), called("1", "f")},
			`{"text":"a","thoughtSignature":"s1"},{"functionCall":{"id":"1","name":"f","args":{}},"thoughtSignature":"s2"}`,
		},
		"of the text behind it": {[]llm.Block{signed(own, "s1", ""), text2("a")}, `{"text":"a","thoughtSignature":"s1"}`},
	} {
		t.Run(name, func(t *testing.T) {
			said := llm.Conversation{Messages: []llm.Message{user(text2("q")), assistant(at(1, tt.said...)...)}}
			want := `{"role":"model","parts":[` + tt.want + `]}]`
			if got := bodyMember(t, translated(t, own, said, nil), "contents"); !strings.HasSuffix(got, want) {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestLongNamesComeBackAsTheyWere(t *testing.T) {
	for id, longest := range map[string]int{"gemini-1.5-pro": longestOldName, "gemini-2.5-flash": longestName} {
		names := []string{strings.Repeat("n", 128), strings.Repeat("n", 127) + "o", "1" + strings.Repeat("n", 127), strings.Repeat("n", 64)}
		c := asking(text2("q"))
		for _, name := range names {
			c.Tools = append(c.Tools, llm.Tool{Name: name})
		}
		x := translated(t, id, c, nil)
		seen := map[string]bool{}
		for i, name := range names {
			made := x.names.of(name)
			if len(made) > longest || seen[made] || x.names.clients(made) != name || made[0] == '1' || len(name) < longest && made != name {
				t.Errorf("%s: %d is %q of %d bytes", id, i, made, len(made))
			}
			seen[made] = true
		}
	}
}

func TestFirstCallIsKeptWhereTheAnswerHoldsOne(t *testing.T) {
	const calls = `{"functionCall":{"name":"f","args":{"a":1}},"thoughtSignature":"c2ln"},{"functionCall":{"name":"g","args":{}}}`
	for _, single := range []bool{true, false} {
		for _, streamed := range []bool{true, false} {
			body := answerWith(calls, stop)
			if streamed {
				body = eventsOf(answerWith(strings.Split(calls, `,{"functionCall":{"name":"g"`)[0], ""),
					answerWith(`{"functionCall":{"name":"g","args":{}}}`, stop))
			}
			p, _ := serve(t, 200, body)
			req := foreign(t, asking(text2("q")), func(r *llm.Request) { r.SingleCall, r.Stream = single, streamed })
			x, err := p.Prepare(providers.Call{Request: req, Model: model(t, "gemini-3-flash-preview")})
			if err != nil {
				t.Fatal(err)
			}
			events, err := x.Open(t.Context(), testKey)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := llm.Collect(events)
			if err != nil {
				t.Fatal(err)
			}
			c := answer.Choices[0]
			if want := map[bool]int{true: 1, false: 2}[single]; len(c.Blocks) != want || c.Blocks[0].Call.Name != "f" ||
				c.Finish != llm.FinishToolCalls {
				t.Errorf("single %v, streamed %v: %+v", single, streamed, c)
			}
			if thought := c.Blocks[0].Thought; thought == nil || thought.Format != llm.FormatGemini ||
				thought.Model != "gemini-3-flash-preview" {
				t.Errorf("%+v", thought)
			}
		}
	}
}

func TestTokensOfAPromptAreCounted(t *testing.T) {
	var body, path string
	answer := `{"totalTokens":31,"promptTokensDetails":[{"modality":"TEXT","tokenCount":31}]}`
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		body, path = string(text), r.Method+" "+r.URL.Path+" "+r.Header.Get("X-Goog-Api-Key")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	p := provider(server.URL)
	c := llm.Conversation{
		Messages: []llm.Message{{Role: llm.RoleInstructions, Blocks: []llm.Block{text2("s")}}, user(text2("q"))},
		Tools:    []llm.Tool{{Name: "f", Parameters: jsontext.Value(`{"type":"object","properties":{"a":{}}}`)}},
		Choice:   &llm.ToolChoice{Mode: llm.ChooseRequired},
	}
	call := providers.Call{Request: foreign(t, c, func(r *llm.Request) { r.Effort = "low" }), Model: model(t, "gemini-2.5-flash")}
	count, err := p.count(t.Context(), call, testKey)
	const want = `{"generateContentRequest":{"model":"models/gemini-2.5-flash","systemInstruction":{"parts":[{"text":"s"}]},` +
		`"contents":[{"role":"user","parts":[{"text":"q"}]}],"tools":[{"functionDeclarations":[{"name":"f",` +
		`"parametersJsonSchema":{"type":"object","properties":{"a":{}}}}]}]}}`
	if err != nil || count.Tokens != 31 || count.Raw != nil || body != want ||
		path != "POST /v1beta/models/gemini-2.5-flash:countTokens "+testKey {
		t.Errorf("%+v, %v\n%s\n%s", count, err, path, body)
	}
	for _, tt := range []struct {
		status int
		answer string
		want   int
	}{
		{404, `{"error":{"code":404,"message":"models/x is not found","status":"NOT_FOUND"}}`, 404},
		{200, `{"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}`, 502},
		{200, `{}`, 502}, {200, `{"totalTokens":-1}`, 502}, {200, `<html>`, 502},
	} {
		status, answer = tt.status, tt.answer
		if _, err := p.count(t.Context(), call, testKey); err == nil || statusOf(err) != tt.want {
			t.Errorf("%d %s: %v", tt.status, tt.answer, err)
		}
	}
}

// statusOf is the upstream's status of a refusal, or that of a client's error.
func statusOf(err error) int {
	if e, ok := clientError(err); ok {
		return e.Status
	}
	return 0
}
