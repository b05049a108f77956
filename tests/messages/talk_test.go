package messages

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

// talk is a conversation that the SDK keeps: what it reads of an answer is what it brings
// back in the next request.
type talk struct {
	program  *gatewaytest.Program
	streamed bool
	thinking string // member of each request, or empty
	messages []string
}

// paris is a tool that the simulator calls, twice for a question about both of two things.
const paris = `,"tools":[{"name":"get_weather","description":"d","input_schema":{"type":"object",` +
	`"properties":{"city":{"type":"string"}},"required":["city"]}}]`

func (c *talk) say(messages ...string) { c.messages = append(c.messages, messages...) }

// next asks a model, adds its answer to the conversation and then the results of its
// calls. It returns the number of calls.
func (c *talk) next(t testing.TB, model string) (calls int) {
	t.Helper()
	x := call(t, c.program, `{"model":"`+model+`","max_tokens":3000,"messages":[`+strings.Join(c.messages,
		",")+`]`+paris+c.thinking+`}`, c.streamed)
	if x.err != nil {
		t.Fatalf("%s: %v", model, x.err)
	}
	if x.message.Role != "assistant" || !strings.HasPrefix(x.message.ID,
		"msg_") || x.message.Usage.InputTokens == 0 || x.message.Usage.OutputTokens == 0 {
		t.Errorf("%s: %+v", model, x.message)
	}
	answer, err := json.Marshal(x.message.ToParam())
	if err != nil {
		t.Fatal(err)
	}
	c.say(string(answer))
	var results []string
	for _, b := range x.message.Content {
		if b.Type == "tool_use" {
			results = append(results, result(b.ID, `,"content":"the sky is blue"`))
		}
	}
	if want := map[bool]string{true: "tool_use", false: "end_turn"}[len(results) > 0]; string(x.message.StopReason) != want {
		t.Errorf("%s: stopped by %s, want %s", model, x.message.StopReason, want)
	}
	if len(results) > 0 {
		c.say(user(results...))
	}
	return len(results)
}

// each runs a test whole and streamed.
func each(t *testing.T, test func(t *testing.T, streamed bool)) {
	for name, streamed := range map[string]bool{"whole": false, "streamed": true} {
		t.Run(name, func(t *testing.T) { test(t, streamed) })
	}
}

// What the simulator's signatures begin with: that of Anthropic, and that of Gemini.
const (
	claudeSigned = "c2ltdWxhdGVkIHNpZ25hdHVyZS"
	geminiSigned = "c2ltdWxhdGVkIHRob3VnaHQgb2Yg"
)

// TestSessionsChangeBetweenProviders has one conversation whose turns are answered by
// models of all three providers (Claude, OpenAI, Claude again, and Gemini between them).
// No provider is shown what only another one can read.
func TestSessionsChangeBetweenProviders(t *testing.T) {
	t.Parallel()
	p, r := gatewaytest.StartRecorded(t)
	each(t, func(t *testing.T, streamed bool) {
		r.Take()
		c := &talk{program: p, streamed: streamed, thinking: `,"thinking":{"type":"adaptive","display":"summarized"}`}
		const claude = "claude-opus-4-8"
		made := false
		for _, model := range []string{claude, gpt5, claude, flash3, gpt5, flash3, claude} {
			c.say(user(text("What is the weather in both Paris and Rome?")))
			if n := c.next(t, model); n != 2 {
				t.Errorf("%s made %d calls", model, n)
			}
			made = made || strings.Contains(strings.Join(c.messages, ""), claudeSigned)
			other := map[string]string{claude: gpt5, gpt5: flash3, flash3: claude}[model]
			if n := c.next(t, other); n != 0 {
				t.Errorf("%s made %d calls after the results", other, n)
			}
		}
		if !made || !strings.Contains(strings.Join(c.messages, ""), "mgw1.") {
			t.Error("the conversation has no signatures: nothing was tested")
		}
		cameBack := false
		for _, sent := range r.Take() {
			body := string(sent.Body)
			isOpenAI := strings.HasSuffix(sent.Path, "/responses")
			isClaude, isGemini := strings.Contains(sent.Path, "/messages"), strings.Contains(sent.Path, "v1beta")
			if strings.Contains(body, "mgw1") || !isClaude && strings.Contains(body,
				claudeSigned) || !isGemini && strings.Contains(body, geminiSigned) {
				t.Errorf("%s is shown what another provider wants back: %s", sent.Path, body)
			}
			own := isOpenAI && strings.Contains(body, `"type":"reasoning"`)
			if cameBack = cameBack || own; own {
				body = withoutReasoning(t, sent.Body) // OpenAI has decrypted it: the simulator refuses what is not its own
			}
			if !isClaude && strings.Contains(body, "simulated reasoning") {
				t.Errorf("%s is shown the thoughts of another: %s", sent.Path, body)
			}
		}
		if !cameBack {
			t.Error("OpenAI has not got its own reasoning back")
		}
	})
}

// withoutReasoning is a body for the Responses API without its items of reasoning.
func withoutReasoning(t testing.TB, body []byte) string {
	t.Helper()
	var request map[string]any
	if err := json.Unmarshal(body, &request); err != nil {
		t.Fatal(err)
	}
	items, _ := request["input"].([]any)
	request["input"] = slices.DeleteFunc(items, func(item any) bool {
		members, _ := item.(map[string]any)
		return members["type"] == "reasoning"
	})
	rest, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	return string(rest)
}

// TestGeminiSignaturesComeBackThroughTheSDK has four turns of a model that refuses calls
// without their signatures. The client thinks, sees no text of the thoughts, or has not
// asked for any.
func TestGeminiSignaturesComeBackThroughTheSDK(t *testing.T) {
	t.Parallel()
	p, r := gatewaytest.StartRecorded(t)
	for name, thinking := range map[string]string{
		"thinking": `,"thinking":{"type":"adaptive"}`, "omitted": `,"thinking":{"type":"adaptive","display":"omitted"}`, "not asked " +
			"for": "",
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, streamed bool) {
				r.Take()
				c := &talk{program: p, streamed: streamed, thinking: thinking + `,"tool_choice":{"type":"any"}`}
				c.say(user(text("What is the weather in both Paris and Rome?")))
				for range 4 {
					if n := c.next(t, flash3); n != 2 {
						t.Fatalf("%d calls", n)
					}
				}
				all := r.Take()
				last := string(all[len(all)-1].Body)
				if n := strings.Count(last, geminiSigned); n < 3 || strings.Contains(last, "skip_thought_signature_validator") {
					t.Errorf("%d signatures in %s", n, last)
				}
				shown := strings.Contains(strings.Join(c.messages, ""), `"thinking"`)
				if shown != (thinking != "") {
					t.Errorf("thoughts shown: %v in %s", shown, c.messages)
				}
			})
		})
	}
}

// TestThoughtsBeginAnAnswerOnlyWhereTheyWereAskedFor: clients that did not ask for
// thoughts read the first block.
func TestThoughtsBeginAnAnswerOnlyWhereTheyWereAskedFor(t *testing.T) {
	t.Parallel()
	p, r := gatewaytest.StartRecorded(t)
	for _, tt := range []struct{ model, members, first string }{
		{flash2, `,"thinking":{"type":"enabled","budget_tokens":1024}`, "thinking"},
		{flash2, `,"thinking":{"type":"disabled"}`, "text"},
		{flash2, ``, "text"},
		{flash3, `,"output_config":{"effort":"high"}`, "text"},
		{gpt5, `,"output_config":{"effort":"high"}`, "text"},
	} {
		each(t, func(t *testing.T, streamed bool) {
			x := call(t, p, `{"model":"`+tt.model+`","max_tokens":3000,"messages":[{"role":"user","content":"hi"}]`+tt.members+`}`,
				streamed)
			r.Take()
			if x.err != nil || len(x.message.Content) == 0 || x.message.Content[0].Type != tt.first {
				t.Errorf("%s %s: %v, %+v", tt.model, tt.members, x.err, x.message)
				return
			}
			if tt.first == "thinking" && (x.message.Content[0].Signature == "" || x.message.Content[0].Thinking == "" ||
				x.message.Content[1].Type != "text") {
				t.Errorf("%+v", x.message.Content)
			}
		})
	}
}

// TestReasoningOfAServerComesBackToItAlone has a server that copies OpenAI's API and wants
// its reasoning back, and another one that is asked to go on.
func TestReasoningOfAServerComesBackToItAlone(t *testing.T) {
	t.Parallel()
	u := providertest.Serve(t)
	p := gatewaytest.Start(t, "DEEPSEEK_API_KEY=sk-d", "DEEPSEEK_BASE_URL="+u.URL, "OPENAI_API_KEY=sk-o", "OPENAI_BASE_URL="+u.URL)
	const said = `"content":null,"reasoning_content":"I look it up.","tool_calls":[{"index":0,"id":"call_1","type":"function",` +
		`"function":{"name":"get_weather","arguments":"{}"}}]`
	each(t, func(t *testing.T, streamed bool) {
		u.Play(openAIAnswer(ending{content: said, finish: "tool_calls"}, streamed),
			openAIAnswer(ending{content: `"content":"a"`, finish: "stop"}, streamed))
		c := &talk{program: p, streamed: streamed, thinking: `,"thinking":{"type":"adaptive"}`}
		c.say(user(text("q")))
		if n := c.next(t, "deepseek/deepseek-chat"); n != 1 {
			t.Errorf("%d calls", n)
		}
		if !strings.Contains(c.messages[1], `"thinking":"I look it up."`) {
			t.Errorf("the client is told %s", c.messages[1])
		}
		c.next(t, "deepseek/deepseek-chat")
		c.say(user(text("and now?")))
		c.next(t, gpt4)
		sent := u.Requests()
		if !strings.Contains(string(sent[1].Body), `"reasoning_content":"I look it up."`) {
			t.Errorf("the server gets back %s", sent[1].Body)
		}
		if strings.Contains(string(sent[2].Body), "I look it up") {
			t.Errorf("another provider is shown it: %s", sent[2].Body)
		}
	})
}
