package messages

import (
	"strings"
	"testing"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

// TestStreamBeginsWithTheSizeOfThePrompt: Gemini reports it with its first event, OpenAI
// with its last one.
func TestStreamBeginsWithTheSizeOfThePrompt(t *testing.T) {
	t.Parallel()
	gatewaytest.EachProvider(t, func(t *testing.T, f gatewaytest.Provider, u *providertest.Upstream, p *gatewaytest.Program) {
		model, how, early := gpt4, "estimate", `"usage":{"input_tokens":8,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,`
		script := openAIAnswer(ending{content: `"content":"Hi"`, finish: "stop"}, true)
		switch f.Name {
		case "anthropic":
			return // its answers go back as they are
		case "gemini":
			model, how, early = flash2, "", `"usage":{"input_tokens":10,"cache_creation_input_tokens":0,"cache_read_input_tokens":20,`
			script = geminiAnswer(ending{content: `{"text":"Hi"}`, finish: `"STOP"`}, true)
		}
		u.Play(script)
		a := p.Call(t, "POST", path, `{"model":"`+model+`",`+hi+`,"stream":true}`)
		start, rest, _ := strings.Cut(a.Body, "\n\n")
		if a.Status != 200 || a.Header.Get("X-Gateway-Token-Count") != how || !strings.Contains(start, early) {
			t.Errorf("%d %v %s", a.Status, a.Header, start)
		}
		if !strings.Contains(rest, `"usage":{"input_tokens":10,"cache_creation_input_tokens":0,"cache_read_input_tokens":20,`) {
			t.Errorf("%s", rest)
		}
	})
}

// TestPromptThatIsTooLongIsToldWithItsSize: the upstream says no number.
func TestPromptThatIsTooLongIsToldWithItsSize(t *testing.T) {
	t.Parallel()
	u := providertest.Serve(t)
	p := gatewaytest.Start(t, "OPENAI_API_KEY=sk-o", "OPENAI_BASE_URL="+u.URL)
	u.Play(gatewaytest.JSON(400, `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.",`+
		`"type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`))
	for _, stream := range []string{"true", "false"} {
		a := p.Call(t, "POST", path, `{"model":"gpt-4",`+hi+`,"stream":`+stream+`}`)
		if a.Status != 400 || !strings.HasPrefix(a.Body, `{"type":"error","error":{"type":"invalid_request_error","message":`+
			`"prompt is too long: 8193 tokens > 8192 maximum"},"request_id":"`+a.Header.Get("Request-Id")) {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	}
}
