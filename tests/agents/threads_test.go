package agents

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// The SDK's tool runner asks the server to keep the conversation, and sends it whole where it
// is told that this is not possible.
func TestAnthropicSDKWithThreadsDoesATaskWithModelsOfOtherProviders(t *testing.T) {
	folder := needClients(t)
	for _, f := range providers()[1:] {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			for _, way := range []string{"runner", "thread"} {
				s := f.start(t, folder, nil)
				s.runScript(t, "threads.mjs", f.model, way)
			}
		})
	}
}

func TestThreadThatAnotherModelGoesOnInIsSentWhole(t *testing.T) {
	folder := needClients(t)
	keeps := func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"msg_01","type":"message","role":"assistant","model":"claude-opus-5-5","content":[{"type":"text","text":"Noted."}],`+
			`"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":5,"output_tokens":2}}`)
	}
	openai, anthropic := providers()[1], startUpstream(t, keeps)
	s := openai.start(t, folder, nil, "ANTHROPIC_API_KEY=sk-a", "ANTHROPIC_BASE_URL="+anthropic.url, "MODEL_ALIASES=")
	o := s.run(t, nil, "node", filepath.Join(folder, scripts, "threads.mjs"), s.front.url, openai.model, "moved", "What is the code word?")
	if o.exit != 0 {
		t.Fatalf("exit code %d: %s%s", o.exit, o.out, o.faults)
	}
	if first := anthropic.exchanges(); len(first) != 1 || !strings.Contains(first[0].body, `"thread":{"type":"create"}`) {
		t.Errorf("Anthropic got %+v", first)
	}
	if got := s.upstream.exchanges(); len(got) != 1 || !strings.Contains(got[0].body, "zebra") || !strings.Contains(got[0].body, "What is the code word?") {
		t.Errorf("OpenAI got %+v", got)
	}
}
