package chat

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/dialects/chat"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/openai/compose"
	"modelgateway/providers/openai/openaitest"
	"modelgateway/providers/providertest"
)

// compared prepares a chat request natively, and as one of another dialect. Both
// bodies are read again as chat requests: they must mean the same in the common
// form, but for what sameMeaning lists. It is false where the request is refused in
// another dialect.
func compared(t *testing.T, m *catalog.Model, body []byte) bool {
	t.Helper()
	req, err := chat.Decode(nil, body)
	if err != nil {
		t.Fatal(err)
	}
	p := apiAt("http://127.0.0.1:1")
	native, err := p.Prepare(providers.Call{Request: req, Model: m})
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := p.Prepare(providers.Call{Request: providertest.Foreign(req), Model: m})
	if err != nil {
		if e := api.AsError(err); e.Status != http.StatusBadRequest || e.Param == "" {
			t.Fatalf("%v: %s", err, body)
		}
		return false
	}
	want, got := sentBody(native), sentBody(foreign)
	a, err := chat.Decode(nil, want)
	if err != nil {
		t.Skipf("the gateway would not take its own native request: %v", err)
	}
	b, err := chat.Decode(nil, got)
	if err != nil {
		t.Fatalf("%v\nnative  %s\nforeign %s", err, want, got)
	}
	named(t, want, got, foreign.Properties().Ignored)
	x, y := meaningOf(t, a, m), meaningOf(t, b, m)
	if slices.ContainsFunc(x.Messages, resultsInMedia) { // its images follow in a message of the user: see the golden files
		return true
	}
	if req.Thinking != nil { // becomes an effort, with which some models take no sampling; natively it is left out
		for _, r := range []*llm.Request{&x.Request, &y.Request} {
			r.Effort, r.Temperature, r.TopP, r.FrequencyPenalty, r.PresencePenalty = "", nil, nil, nil, nil
		}
	}
	if !reflect.DeepEqual(x, y) {
		t.Errorf("native  %s\nforeign %s\nwant %s\ngot  %s", want, got, shownMeaning(x), shownMeaning(y))
	}
	return true
}

func resultsInMedia(m llm.Message) bool {
	return slices.ContainsFunc(m.Blocks, func(b llm.Block) bool {
		return b.Kind == llm.BlockResult &&
			slices.ContainsFunc(b.Result.Content, func(b llm.Block) bool { return b.Kind == llm.BlockMedia })
	})
}

// named checks that every member of the native body that is not in the other one
// is named as ignored, or that its value asks for nothing.
func named(t *testing.T, native, foreign []byte, ignored []string) {
	t.Helper()
	there := map[string]bool{
		"functions": true, "function_call": true, // are written as tools
		"max_tokens": true, "max_completion_tokens": true, // are one limit
		"tool_choice": true, "parallel_tool_calls": true, // are left out where there are no tools
		"stop": true, "stream": true, "n": true, "logprobs": true, "response_format": true, "metadata": true, "modalities": true,
		"tools": true, "user": true, "safety_identifier": true, "service_tier": true, // are compared, and may be empty
		"reasoning_effort": true, "stream_options": true,
	}
	for name := range jsonbytes.Members(foreign) {
		there[name.String()] = true
	}
	for name, value := range jsonbytes.Members(native) {
		n := name.String()
		idle := slices.Contains([]string{`null`, `""`, `[]`, `false`, `"medium"`}, strings.TrimSpace(string(value)))
		if !there[n] && !idle && !slices.Contains(ignored, n) {
			t.Errorf("%s is left out and not named: %q\n%s", n, ignored, native)
		}
	}
}

// meaning is what a request says.
type meaning struct {
	Request   llm.Request
	Messages  []llm.Message
	Tools     []llm.Tool
	Choice    *llm.ToolChoice
	Format    *llm.Format
	LogitBias string
	WebSearch string
}

// meaningOf is what a request says, without the differences that are meant to be
// between the client's bytes and what is written from the common form. Each is
// named where it is left out.
func meaningOf(t *testing.T, req *llm.Request, m *catalog.Model) meaning {
	t.Helper()
	c, err := req.Source.Conversation()
	if err != nil {
		t.Fatal(err)
	}
	out := meaning{Request: *req, Choice: c.Choice, LogitBias: canonical(req.LogitBias), WebSearch: canonical(req.WebSearch)}
	r := &out.Request
	r.Source, r.Raw, r.LogitBias, r.WebSearch = nil, nil, nil, nil
	r.Prompt = llm.Prompt{}
	for i := range c.Messages {
		message := plainMessage(c.Messages[i])
		if len(message.Blocks) > 0 { // messages without content are left out
			out.Messages = append(out.Messages, message)
		}
	}
	for _, tool := range c.Tools {
		tool.At, tool.Custom = llm.At{}, jsontext.Value(canonical(tool.Custom))
		tool.Parameters = jsontext.Value(canonical(tool.Parameters))
		tool.Name = upstreamName(tool.Name)
		tool.Strict = plainStrict(tool.Strict, tool.Parameters) // strict is left out where OpenAI cannot enforce the schema
		out.Tools = append(out.Tools, tool)
	}
	if f := c.Format; f != nil {
		format := *f
		format.Schema = jsontext.Value(canonical(f.Schema))
		format.Strict = plainStrict(f.Strict, f.Schema)
		out.Format = &format
	}
	if r.SingleCall { // deprecated functions become tools, of which one may be called
		r.SingleCall, r.ParallelCalls = false, new(bool)
	}
	if len(out.Tools) == 0 { // OpenAI refuses both without tools
		out.Choice, r.ParallelCalls = nil, nil
	}
	if out.Choice != nil { // the common form has no custom tools among the allowed ones
		choice := *out.Choice
		choice.Allowed = slices.DeleteFunc(slices.Clone(choice.Allowed), func(name string) bool { return name == "" })
		choice.Name = upstreamName(choice.Name)
		for i := range choice.Allowed {
			choice.Allowed[i] = upstreamName(choice.Allowed[i])
		}
		out.Choice = &choice
	}
	if m.Traits.LimitField != "" { // an effort that the model does not take is rounded or left out
		r.Effort = ""
	}
	if len(m.Traits.Efforts) > 0 { // models that reason refuse stop sequences
		r.Stop = nil
	}
	if !slices.Contains([]string{"auto", "default", "flex", "priority", "scale"}, r.ServiceTier) {
		r.ServiceTier = "" // tiers of others are left out
	}
	r.User = compose.UserID(r.User) // long names are hashed
	if r.SafetyIdentifier != "" {
		r.SafetyIdentifier = "hashed"
	}
	if r.MaxOutput != nil { // of two limits that disagree the common form holds one
		r.OutputLimit = *r.MaxOutput
	}
	if len(r.Metadata) == 0 {
		r.Metadata = nil
	}
	if len(r.Modalities) == 0 {
		r.Modalities = nil
	}
	if len(r.Stop) == 0 {
		r.Stop = nil
	}
	r.Audio = nil // of an answer that is not spoken
	return out
}

// plainMessage is a message without where its blocks stood. Refusals come last:
// they are one member of a message.
func plainMessage(m llm.Message) llm.Message {
	m.At, m.Cache = llm.At{}, nil
	var blocks []llm.Block
	refusal := ""
	for _, b := range m.Blocks {
		b.At, b.Cache = llm.At{}, nil
		switch b.Kind {
		case llm.BlockRefusal:
			if m.Role == llm.RoleAssistant {
				refusal += b.Text
				continue
			}
		case llm.BlockResult:
			result := *b.Result
			if result.ClientID == "" { // a deprecated function has no id
				result.ID, result.Name = "call_"+result.Name, ""
			}
			result.ID = new(compose.CallIDs).Unique(result.ID)
			result.ClientID = result.ID
			inner := plainMessage(llm.Message{Blocks: result.Content})
			result.Content = inner.Blocks
			b.Result = &result
		case llm.BlockCall:
			call := *b.Call
			call.ID = new(compose.CallIDs).Unique(call.ID) // natively an id keeps the characters that only other providers take
			call.ClientID = call.ID
			call.Name = upstreamName(call.Name)
			call.Arguments = jsontext.Value(canonical(call.Arguments))
			b.Call = &call
		}
		blocks = append(blocks, b)
	}
	if refusal != "" {
		at := slices.IndexFunc(blocks, func(b llm.Block) bool { return b.Kind == llm.BlockCall })
		if at < 0 {
			at = len(blocks)
		}
		blocks = slices.Insert(blocks, at, llm.Block{Kind: llm.BlockRefusal, Text: refusal})
	}
	m.Blocks = blocks
	return m
}

// upstreamName is the name of a function as OpenAI takes it; natively it keeps the characters
// that only other servers take.
func upstreamName(name string) string {
	if name == "" {
		return ""
	}
	return new(compose.ToolNames).Upstream("", name)
}

func plainStrict(strict *bool, schema jsontext.Value) *bool {
	if strict != nil && *strict && !compose.Enforceable(schema) {
		return nil
	}
	return strict
}

// canonical is a value with its members in order.
func canonical(v jsontext.Value) string {
	if len(v) == 0 {
		return ""
	}
	out := v.Clone()
	if err := out.Format(jsontext.ReorderRawObjects(true), jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)); err != nil {
		return string(v)
	}
	return string(out)
}

func shownMeaning(m meaning) string {
	text, err := json.Marshal(m, json.Deterministic(true), api.Lenient)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// corpus are the chat requests that the fuzz tests of all providers have found.
func corpus(t *testing.T) [][]byte {
	t.Helper()
	var files []string
	for _, folder := range []string{"../../*", "../*"} {
		found, err := filepath.Glob(folder + "/testdata/fuzz/Fuzz*/*")
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	var all [][]byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			quoted, ok := strings.CutPrefix(strings.TrimSpace(line), "[]byte(")
			if !ok {
				continue
			}
			body, err := strconv.Unquote(strings.TrimSuffix(quoted, ")"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := chat.Decode(nil, []byte(body)); err == nil {
				all = append(all, []byte(body))
			}
		}
	}
	return all
}

// Every chat request of the tests means the same when it is written from the common
// form as it does in the client's own bytes.
func TestRequestsOfAnotherDialectMeanTheSame(t *testing.T) {
	n := 0
	for _, tt := range goldens {
		t.Run(tt.name, func(t *testing.T) {
			if !compared(t, openaitest.Model(t, tt.model), []byte(tt.body)) {
				t.Error("refused")
			}
			n++
		})
	}
	for _, tt := range written {
		t.Run(tt.name, func(t *testing.T) {
			if !compared(t, openaitest.Model(t, tt.model), []byte(tt.body)) {
				t.Error("refused")
			}
			n++
		})
	}
	refused := 0
	for _, body := range corpus(t) {
		for _, id := range []string{"gpt-4", "gpt-5", "gpt-7"} {
			if !compared(t, openaitest.Model(t, id), body) {
				refused++
			}
			n++
		}
	}
	if n < 50 || refused > n/2 {
		t.Errorf("%d of %d requests are refused", refused, n)
	}
	t.Logf("%d requests, %d refused", n, refused)
}

// answers are what a client reads of one upstream answer: natively, and in another
// dialect both whole and as a stream.
func sameAnswers(t *testing.T, rec providertest.Recording) {
	t.Helper()
	up := providertest.Serve(t, rec.Script())
	p := apiAt(up.URL)
	body := openaitest.Hello + `}`
	if rec.Stream {
		body = openaitest.Hello + `,"stream":true,"stream_options":{"include_usage":true}}`
	}
	req, err := chat.Decode(nil, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	open := func(req *llm.Request) (llm.Stream, error) {
		x, err := p.Prepare(providers.Call{Request: req, Model: openaitest.Model(t, rec.ModelID())})
		if err != nil {
			t.Fatal(err)
		}
		return x.Open(t.Context(), openaitest.Key)
	}
	read := func(req *llm.Request, chunks bool) (*chat.Completion, error) {
		stream, err := open(req)
		if err != nil {
			return nil, err
		}
		if chunks {
			return providertest.Collect(providertest.Chunks(req, stream))
		}
		return providertest.Completion(req, stream)
	}
	want, wantErr := read(req, rec.Stream)
	for _, chunks := range []bool{false, true} {
		foreign := providertest.Foreign(req)
		foreign.Usage = true // so that the writer of streams writes it, of an answer as well
		got, err := read(foreign, chunks)
		if (wantErr == nil) != (err == nil) || err != nil && api.AsError(wantErr).Message != api.AsError(err).Message {
			t.Errorf("%s: error %v, want %v", rec.File, err, wantErr)
			continue
		}
		if err != nil {
			continue
		}
		if a, b := plainAnswer(want), plainAnswer(got); a != b {
			t.Errorf("%s: as chunks %t\nwant %s\ngot  %s", rec.File, chunks, a, b)
		}
	}
}

// plainAnswer is an answer without what the common form does not hold: members that
// only OpenAI has, and the format of thoughts that no provider of the gateway made.
// Ids that are made anew are compared for presence.
func plainAnswer(c *chat.Completion) string {
	out := *c
	out.Extra = nil
	if strings.HasPrefix(out.ID, "chatcmpl-") {
		out.ID = "chatcmpl-"
	}
	out.Usage = new(chat.Usage) // an answer without counts has zeros
	if u := c.Usage; u != nil {
		*out.Usage = *u
		out.Usage.Extra = nil
		if d := u.PromptTokensDetails; d != nil {
			out.Usage.PromptTokensDetails = &chat.PromptDetails{CachedTokens: d.CachedTokens, CacheWriteTokens: d.CacheWriteTokens}
		}
		if d := u.CompletionTokensDetails; d != nil {
			out.Usage.CompletionTokensDetails = &chat.CompletionDetails{ReasoningTokens: d.ReasoningTokens}
		}
	}
	out.Choices = nil
	for _, choice := range c.Choices {
		choice.Extra = nil
		if probable := canonical(choice.Logprobs); probable == "" || probable == "null" || probable == `{"content":null,"refusal":null}` {
			choice.Logprobs = nil
		}
		m := &choice.Message
		m.Extra = nil
		m.ToolCalls = slices.Clone(m.ToolCalls)
		if f := m.FunctionCall; f != nil { // the deprecated form is a tool call
			m.ToolCalls, m.FunctionCall = append(m.ToolCalls, chat.ToolCall{ID: "call_", Type: "function", Function: f}), nil
		}
		if choice.FinishReason == "function_call" {
			choice.FinishReason = "tool_calls"
		}
		for j := range m.ToolCalls {
			if strings.HasPrefix(m.ToolCalls[j].ID, "call_") {
				m.ToolCalls[j].ID = "call_"
			}
		}
		m.ReasoningDetails = slices.Clone(m.ReasoningDetails)
		for j := range m.ReasoningDetails {
			m.ReasoningDetails[j].Format = ""
		}
		out.Choices = append(out.Choices, choice)
	}
	text, err := json.Marshal(&out, json.Deterministic(true), api.Lenient)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Every recorded answer and stream means the same to a client of another dialect.
func TestAnswersMeanTheSameInAnotherDialect(t *testing.T) {
	n := 0
	for _, dir := range slices.Compact([]string{providertest.Own(), providertest.Dir()}) {
		for _, rec := range providertest.Load(t, dir) {
			if rec.Provider == catalog.OpenAI {
				sameAnswers(t, rec)
				n++
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d recordings", n)
	}
	t.Logf("%d recordings", n)
}

func FuzzRequestOfAnotherDialect(f *testing.F) {
	for _, tt := range append(slices.Clone(goldens), written...) {
		f.Add([]byte(tt.body), uint8(1))
	}
	models := []*catalog.Model{openaitest.Model(f, "gpt-4"), openaitest.Model(f, "gpt-5"), openaitest.Model(f, "gpt-7")}
	f.Fuzz(func(t *testing.T, body []byte, which uint8) {
		if _, err := chat.Decode(nil, body); err != nil {
			t.Skip()
		}
		compared(t, models[int(which)%len(models)], body)
	})
}

func FuzzAnswerOfAnotherDialect(f *testing.F) {
	f.Add(data(part(`{"role":"assistant","content":"a"}`, "null"), part(`{}`, "stop"), done))
	f.Add(data(part(`{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"arguments":""}}]}`, "null"),
		part(`{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{}"}}]}`, "tool_calls"), done))
	f.Add(data(part(`{"reasoning_details":[{"type":"reasoning.text","text":"a","index":-7}],"refusal":"no"}`, "null"), done))
	f.Add(`{"choices":[{"message":{"content":"x","tool_calls":[{"id":"c","type":"custom","custom":{"name":"sh","input":"ls"}}]}}]}`)
	var body string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }))
	f.Cleanup(server.Close)
	p := apiAt(server.URL)
	f.Fuzz(func(t *testing.T, in string) {
		body = in
		for _, end := range []string{`}`, `,"stream":true}`} {
			req, err := chat.Decode(nil, []byte(openaitest.Hello+end))
			if err != nil {
				t.Fatal(err)
			}
			req = providertest.Foreign(req)
			x, err := p.Prepare(providers.Call{Request: req, Model: openaitest.Model(t, "gpt-4")})
			if err != nil {
				t.Fatal(err)
			}
			stream, err := x.Open(t.Context(), openaitest.Key)
			if err != nil {
				wantProvider(t, err)
				continue
			}
			answer, err := llm.Collect(stream)
			if err != nil {
				wantProvider(t, err)
				continue
			}
			text, err := chat.AppendAnswer(nil, req, answer)
			if err != nil || answer.Raw != nil || !jsontext.Value(text).IsValid(jsontext.AllowDuplicateNames(true)) {
				t.Fatalf("%s, %v", text, err)
			}
		}
	})
}
