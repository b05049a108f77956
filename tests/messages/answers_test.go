package messages

import (
	"fmt"
	"strings"
	"testing"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

// ending is an answer of an upstream, and what the client reads.
type ending struct {
	name    string
	content string // of OpenAI's message, or Gemini's parts
	finish  string // the upstream's own word, and more members
	reason  string
	blocks  string // the types of the content
}

const (
	openAICall = `"content":null,"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"look",` +
		`"arguments":"{\"z\":\"a\"}"}}]`
	geminiCall = `{"functionCall":{"name":"look","args":{"z":"a"}}}`
)

func openAIEndings() []ending {
	return []ending{
		{"text", `"content":"a"`, "stop", "end_turn", "text"},
		{"calls", openAICall, "tool_calls", "tool_use", "tool_use"},
		{"a forced call", openAICall, "stop", "tool_use", "tool_use"},
		{"too long", `"content":"a"`, "length", "max_tokens", "text"},
		{"too long with a call", openAICall, "length", "max_tokens", "tool_use"},
		{"filtered", `"content":"a"`, "content_filter", "refusal", "text"},
		{"refused", `"content":null,"refusal":"no"`, "stop", "refusal", "text"},
		{"nothing", `"content":""`, "stop", "end_turn", ""},
	}
}

func geminiEndings() []ending {
	return []ending{
		{"text", `{"text":"a"}`, `"STOP"`, "end_turn", "text"},
		{"calls", geminiCall, `"STOP"`, "tool_use", "tool_use"},
		{"text and calls", `{"text":"a"},` + geminiCall + `,` + geminiCall, `"STOP"`, "tool_use", "text tool_use tool_use"},
		{"too long", `{"text":"a"}`, `"MAX_TOKENS"`, "max_tokens", "text"},
		{"filtered", `{"text":"a"}`, `"SAFETY"`, "refusal", "text"},
		{"recited", `{"text":"a"}`, `"RECITATION","finishMessage":"m"`, "refusal", "text"},
		{"visible text with a signature", `{"text":"a","thoughtSignature":"c2ln"}`, `"STOP"`, "end_turn", "text"},
	}
}

// openAIAnswer and geminiAnswer are an answer with usage, whole or streamed.
func openAIAnswer(e ending, streamed bool) providertest.Script {
	const usage = `"usage":{"prompt_tokens":30,"completion_tokens":9,"total_tokens":39,"prompt_tokens_details":{"cached_tokens":20},` +
		`"completion_tokens_details":{"reasoning_tokens":4}}`
	const head = `"id":"x","created":5,"model":"gpt-4.1-2025-04-14"`
	if !streamed {
		message := strings.Replace(e.content, `"index":0,`, "", 1)
		return gatewaytest.JSON(200, `{`+head+`,"object":"chat.completion","choices":[{"index":0,`+
			`"message":{"role":"assistant",`+message+`},"finish_reason":"`+e.finish+`"}],`+usage+`}`)
	}
	chunk := func(delta, finish string) string {
		return `data: {` + head + `,"object":"chat.completion.chunk","choices":[{"index":0,"delta":{` + delta + `},"finish_reason":` +
			finish + `}]}` + "\n\n"
	}
	return gatewaytest.Events(providertest.Proper, chunk(`"role":"assistant","content":""`, "null"), chunk(e.content, "null"), chunk("",
		`"`+e.finish+`"`),
		`data: {`+head+`,"object":"chat.completion.chunk","choices":[],`+usage+`}`+"\n\n", "data: [DONE]\n\n")
}

func geminiAnswer(e ending, streamed bool) providertest.Script {
	answer := func(parts, more string) string {
		return `{"candidates":[{"content":{"parts":[` + parts + `],"role":"model"}` + more + `,"index":0}],` +
			`"usageMetadata":{"promptTokenCount":30,` +
			`"cachedContentTokenCount":20,"candidatesTokenCount":5,"thoughtsTokenCount":4,"totalTokenCount":39},` +
			`"modelVersion":"gemini-2.5-flash","responseId":"x"}`
	}
	if !streamed {
		return gatewaytest.JSON(200, answer(e.content, `,"finishReason":`+e.finish))
	}
	return gatewaytest.Events(providertest.Proper, "data: "+answer(e.content, "")+"\r\n\r\n", "data: "+answer("",
		`,"finishReason":`+e.finish)+"\r\n\r\n")
}

// TestAnswersOfOtherProvidersEndAsClaudesDo has a case for each way an answer ends.
func TestAnswersOfOtherProvidersEndAsClaudesDo(t *testing.T) {
	t.Parallel()
	gatewaytest.EachProvider(t, func(t *testing.T, f gatewaytest.Provider, u *providertest.Upstream, p *gatewaytest.Program) {
		endings, answer, model := openAIEndings(), openAIAnswer, gpt4
		switch f.Name {
		case "anthropic":
			return // its answers go back as they are
		case "gemini":
			endings, answer, model = geminiEndings(), geminiAnswer, flash2
		}
		for _, tt := range endings {
			each(t, func(t *testing.T, streamed bool) {
				u.Play(answer(tt, streamed))
				ends(t, p, model, tt.name, tt.blocks, tt.reason, streamed)
			})
		}
	})
}

// ends checks the blocks and the end of a scripted answer that has read 30 tokens, 20 of them from a cache, and
// written 9.
func ends(t *testing.T, p *gatewaytest.Program, model, name, blocks, reason string, streamed bool) {
	t.Helper()
	x := call(t, p, `{"model":"`+model+`",`+hi+tools+`}`, streamed)
	if x.err != nil {
		t.Fatalf("%s: %v", name, x.err)
	}
	var types []string
	for _, b := range x.message.Content {
		types = append(types, b.Type)
	}
	if got := strings.Join(types, " "); got != blocks || string(x.message.StopReason) != reason {
		t.Errorf("%s: %q, stopped by %s, want %q, %s", name, got, x.message.StopReason, blocks, reason)
	}
	if reason == "refusal" != (x.message.StopDetails.Type == "refusal") {
		t.Errorf("%s: %+v", name, x.message.StopDetails)
	}
	s := x.message.Usage
	if s.InputTokens != 10 || s.CacheReadInputTokens != 20 || s.OutputTokens != 9 || s.CacheCreationInputTokens != 0 {
		t.Errorf("%s: usage %s", name, s.RawJSON())
	}
	if !strings.HasPrefix(x.message.ID, "msg_") || x.message.Model == "" || x.message.Role != "assistant" || x.message.Type != "message" {
		t.Errorf("%s: %+v", name, x.message)
	}
}

// TestBlockedPromptIsARefusal has Gemini answer without any candidate.
func TestBlockedPromptIsARefusal(t *testing.T) {
	t.Parallel()
	u := providertest.Serve(t)
	p := gatewaytest.Start(t, "GEMINI_API_KEY=sk-g", "GEMINI_BASE_URL="+u.URL)
	each(t, func(t *testing.T, streamed bool) {
		blocked := `{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":3,"totalTokenCount":3},` +
			`"modelVersion":"gemini-2.5-flash"}`
		u.Play(gatewaytest.JSON(200, blocked))
		if streamed {
			u.Play(gatewaytest.Events(providertest.Proper, "data: "+blocked+"\r\n\r\n"))
		}
		x := call(t, p, `{"model":"`+flash2+`",`+hi+`}`, streamed)
		if x.err != nil || x.message.StopReason != "refusal" || len(x.message.Content) != 0 {
			t.Errorf("%v, %+v", x.err, x.message)
		}
	})
}

// TestLongNamesOfToolsComeBackAsTheyWere has an upstream call the tool by the name that
// it was sent.
func TestLongNamesOfToolsComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	p, r := gatewaytest.StartRecorded(t)
	long := strings.Repeat("n", 128)
	for _, model := range []string{gpt4, flash3} {
		each(t, func(t *testing.T, streamed bool) {
			x := call(t, p, `{"model":"`+model+`",`+hi+`,"tools":[{"name":"`+long+`","input_schema":{"type":"object",`+
				`"properties":{"a":{"type":"string"}}}}]}`, streamed)
			sent := r.Take()
			if x.err != nil || len(x.message.Content) != 1 || x.message.Content[0].Name != long {
				t.Errorf("%s: %v, %+v", model, x.err, x.message)
			}
			if len(sent) != 1 || model == gpt4 && strings.Contains(string(sent[0].Body), strings.Repeat("n", 65)) {
				t.Errorf("%s was sent %s", model, sent[0].Body)
			}
		})
	}
}

// TestOneCallAtMostIsKeptWhereTheClientWantsOne: Gemini cannot be told so.
func TestOneCallAtMostIsKeptWhereTheClientWantsOne(t *testing.T) {
	t.Parallel()
	u := providertest.Serve(t)
	p := gatewaytest.Start(t, "GEMINI_API_KEY=sk-g", "GEMINI_BASE_URL="+u.URL)
	each(t, func(t *testing.T, streamed bool) {
		u.Play(geminiAnswer(ending{content: geminiCall + `,` + geminiCall, finish: `"STOP"`}, streamed))
		x := call(t, p, `{"model":"`+flash2+`",`+hi+tools+`,"tool_choice":{"type":"auto","disable_parallel_tool_use":true}}`, streamed)
		if x.err != nil || len(x.message.Content) != 1 || x.message.StopReason != "tool_use" ||
			x.header.Get("X-Gateway-Ignored-Params") != "" {
			t.Errorf("%v, %+v, %v", x.err, x.message, x.header)
		}
	})
}

func TestIDsOfCallsInAnAnswerAreUniqueAndLegal(t *testing.T) {
	t.Parallel()
	u := providertest.Serve(t)
	p := gatewaytest.Start(t, "OPENAI_API_KEY=sk-o", "OPENAI_BASE_URL="+u.URL)
	calls := func(ids ...string) string {
		var all []string
		for i, id := range ids {
			all = append(all, fmt.Sprintf(`{"index":%d,"id":%q,"type":"function","function":{"name":"look","arguments":""}}`, i, id))
		}
		return strings.Join(all, ",")
	}
	const head = `"id":"x","created":5,"model":"gpt-4.1"`
	each(t, func(t *testing.T, streamed bool) {
		if all := calls("functions.Bash:0", "a", "a", ""); streamed {
			u.Play(gatewaytest.Events(providertest.Proper, `data: {`+head+`,"object":"chat.completion.chunk","choices":[{"index":0,`+
				`"delta":{"role":"assistant","tool_calls":[`+all+
				`]},"finish_reason":null}]}`+"\n\n", `data: {`+head+`,"choices":[{"index":0,"delta":{},`+
				`"finish_reason":"tool_calls"}]}`+"\n\ndata: [DONE]\n\n"))
		} else {
			u.Play(gatewaytest.JSON(200, `{`+head+`,"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant",`+
				`"content":null,"tool_calls":[`+all+`]},"finish_reason":"stop"}]}`))
		}
		x := call(t, p, `{"model":"`+gpt4+`",`+hi+tools+`}`, streamed)
		if x.err != nil || len(x.message.Content) != 4 || x.message.StopReason != "tool_use" {
			t.Fatalf("%v, %+v", x.err, x.message)
		}
		seen := map[string]bool{}
		for _, b := range x.message.Content {
			if b.ID == "" || seen[b.ID] || strings.ContainsAny(b.ID, ".:") || string(b.Input) != "{}" {
				t.Errorf("%q with %s", b.ID, b.Input)
			}
			seen[b.ID] = true
		}
	})
}
