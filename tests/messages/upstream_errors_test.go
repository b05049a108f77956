package messages

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

// refused checks an error of the SDK: its status, its type, and a part of its message.
func refused(t testing.TB, err error, status int, kind, says string) {
	t.Helper()
	e, ok := errors.AsType[*anthropic.Error](err)
	if !ok {
		t.Errorf("%v is no error of the API", err)
		return
	}
	var body struct {
		Type  string
		Error struct{ Type, Message string }
	}
	if err := json.Unmarshal([]byte(e.RawJSON()), &body); err != nil || e.StatusCode != status || body.Type != "error" ||
		body.Error.Type != kind || !strings.Contains(body.Error.Message, says) {
		t.Errorf("%d %s, want %d %s with %q", e.StatusCode, e.RawJSON(), status, kind, says)
	}
	if e.Response.Header.Get("Request-Id") == "" || e.Response.Header.Get("X-Should-Retry") == "" {
		t.Errorf("headers %v", e.Response.Header)
	}
}

// TestPromptThatIsTooLongIsSaidInAnthropicsWords: agents compact at these words, and read
// both numbers.
func TestPromptThatIsTooLongIsSaidInAnthropicsWords(t *testing.T) {
	t.Parallel()
	gatewaytest.EachProvider(t, func(t *testing.T, f gatewaytest.Provider, u *providertest.Upstream, p *gatewaytest.Program) {
		body, want := "", ""
		switch f.Name {
		case "openai":
			body = `{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",` +
				`"type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`
			want = "prompt is too long: 9000 tokens > 8192 maximum"
		case "gemini":
			body = `{"error":{"code":400,"message":"The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).",` +
				`"status":"INVALID_ARGUMENT"}}`
			want = "prompt is too long: 1100000 tokens > 1048576 maximum"
		default:
			body = `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`
			want = "prompt is too long: 210000 tokens > 200000 maximum"
		}
		u.Play(gatewaytest.JSON(400, body))
		for _, streamed := range []bool{false, true} {
			x := call(t, p, `{"model":"`+f.Model+`",`+hi+`}`, streamed)
			refused(t, x.err, 400, "invalid_request_error", want)
		}
	}, "MAX_RETRIES=0")
}
