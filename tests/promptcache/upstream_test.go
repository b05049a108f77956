package promptcache

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
)

// caching is a provider with a prompt cache: it reads the parts that a prompt has in common with an
// earlier one, tools first, and counts a token for each byte.
type caching struct {
	URL string

	mu   sync.Mutex
	seen [][]string // the parts of earlier prompts
	down string     // the model that is overloaded

	wait time.Duration // before each answer
}

func startCaching(t *testing.T) *caching {
	t.Helper()
	u := &caching{}
	u.URL = gatewaytest.ServeUpstream(t, u)
	return u
}

// forget empties the cache.
func (u *caching) forget() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.seen = nil
}

func (u *caching) fail(model string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.down = model
}

func (u *caching) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	time.Sleep(u.wait)
	var body map[string]any
	_ = json.Unmarshal(text, &body)
	u.mu.Lock()
	defer u.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if body["model"] == u.down {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)
		return
	}
	parts := partsOf(body)
	read, all := u.read(parts), 0
	for _, part := range parts {
		all += len(part)
	}
	u.seen = append(u.seen, parts)
	if strings.HasSuffix(r.URL.Path, "/messages") {
		_, _ = fmt.Fprintf(w, `{"id":"msg_01","type":"message","role":"assistant","model":%q,"content":[{"type":"text","text":"Hi."}],
			"stop_reason":"end_turn","stop_sequence":null,"diagnostics":{"cache_miss_reason":{"type":"tools_changed"}},
			"usage":{"input_tokens":3,"cache_read_input_tokens":%d,"cache_creation_input_tokens":%d,"output_tokens":2}}`,
			body["model"], read, all-read)
		return
	}
	_, _ = fmt.Fprintf(w, `{"id":"resp_01","object":"response","created_at":1,"status":"completed","model":%q,"output":[{"type":"message",
		"id":"msg_01","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Hi.","annotations":[]}]}],
		"usage":{"input_tokens":%d,"input_tokens_details":{"cached_tokens":%d},"output_tokens":2,
		"output_tokens_details":{"reasoning_tokens":0},"total_tokens":%d}}`, body["model"], all, read/128*128, all+2)
}

// read is how many bytes of a prompt are those of an earlier one.
func (u *caching) read(parts []string) (most int) {
	for _, earlier := range u.seen {
		n := 0
		for i := range min(len(parts), len(earlier)) {
			if parts[i] != earlier[i] {
				break
			}
			n += len(parts[i])
		}
		most = max(most, n)
	}
	return most
}

// partsOf are the parts of a prompt, without cache marks and what Claude Code says for its bill.
func partsOf(body map[string]any) (parts []string) {
	add := func(value any) {
		text, _ := json.Marshal(plain(value))
		parts = append(parts, string(text))
	}
	add([]any{body["model"], body["tools"]})
	system := body["system"]
	if list, ok := system.([]any); ok && len(list) > 0 && strings.Contains(fmt.Sprint(list[0]), "x-anthropic-billing-header") {
		system = list[1:]
	}
	add([]any{system, body["instructions"]})
	for _, name := range []string{"messages", "input"} {
		list, _ := body[name].([]any)
		for _, message := range list {
			add(message)
		}
	}
	return parts
}

// plain is a value without cache marks, in which a message of one text is a list.
func plain(value any) any {
	switch v := value.(type) {
	case []any:
		all := make([]any, len(v))
		for i := range v {
			all[i] = plain(v[i])
		}
		return all
	case map[string]any:
		all := map[string]any{}
		for name, member := range v {
			if name != "cache_control" {
				all[name] = plain(member)
			}
		}
		if text, ok := all["content"].(string); ok && all["role"] != nil {
			all["content"] = []any{map[string]any{"type": "text", "text": text}}
		}
		return all
	}
	return value
}
