package messages

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/servertest"
)

// workspaces is Anthropic with a workspace for each key: a message is known only with the key
// that made it.
type workspaces struct {
	mu    sync.Mutex
	made  map[string]string // id of a message: key
	asked []string          // key and body
	down  bool
}

func (w *workspaces) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	w.mu.Lock()
	defer w.mu.Unlock()
	key := r.Header.Get("X-Api-Key")
	w.asked = append(w.asked, key+" "+string(text))
	var in struct {
		Stream bool
		Thread struct {
			Previous string `json:"previous_message_id"`
		}
		Diagnostics struct {
			Previous string `json:"previous_message_id"`
		}
	}
	_ = json.Unmarshal(text, &in)
	out.Header().Set("Content-Type", "application/json")
	switch {
	case w.down:
		out.WriteHeader(529)
		_, _ = io.WriteString(out, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)
		return
	case in.Thread.Previous != "" && w.made[in.Thread.Previous] != key:
		out.WriteHeader(404)
		_, _ = io.WriteString(out, `{"type":"error","error":{"type":"not_found_error","message":"gone","details":{"error_code":"thread_not_found"}}}`)
		return
	}
	id := fmt.Sprintf("msg_01%022d", len(w.made)+1)
	w.made[id] = key
	diagnostics := "null"
	if in.Diagnostics.Previous != "" && w.made[in.Diagnostics.Previous] != key {
		diagnostics = `{"cache_miss_reason":{"type":"previous_message_not_found"}}`
	}
	message := `{"id":"` + id + `","type":"message","role":"assistant","model":"claude-haiku-4-5","content":[%s],"stop_reason":%s,` +
		`"stop_sequence":null,"diagnostics":` + diagnostics + `,"usage":{"input_tokens":5,"output_tokens":2}}`
	if !in.Stream {
		_, _ = fmt.Fprintf(out, message, `{"type":"text","text":"Hi."}`, `"end_turn"`)
		return
	}
	out.Header().Set("Content-Type", "text/event-stream")
	_, _ = fmt.Fprintf(out, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":"+message+"}\n\n", "", "null")
	_, _ = io.WriteString(out, `event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi."}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":2}}

event: message_stop
data: {"type":"message_stop"}

`)
}

// take returns what was asked since the last time.
func (w *workspaces) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	asked := w.asked
	w.asked = nil
	return asked
}

// threads is a gateway on two replicas before two workspaces, with two users.
type threads struct {
	up       *workspaces
	one, two *gatewaytest.Program
	ada, bob []string
}

func startThreads(t *testing.T, settings ...string) *threads {
	t.Helper()
	s := &threads{up: &workspaces{made: map[string]string{}}}
	url := gatewaytest.ServeUpstream(t, s.up)
	settings = append([]string{
		"DATABASE_URL=" + servertest.Postgres(t), gatewaytest.JWTSecret, "ANTHROPIC_API_KEY=space-a,space-b", "ANTHROPIC_BASE_URL=" + url,
		"OPENAI_API_KEY=k", "OPENAI_BASE_URL=" + url, "GEMINI_API_KEY=k", "GEMINI_BASE_URL=" + url, "FALLBACKS=claude-haiku-4-5=gpt-6-sol", "MODEL_ALIASES=mine=claude-haiku-4-5", "MAX_RETRIES=0",
	}, settings...)
	s.one, s.two = gatewaytest.Start(t, settings...), gatewaytest.Start(t, settings...)
	s.ada, s.bob = s.one.SignUp(t, "ada"), s.one.SignUp(t, "bob")
	return s
}

// detailed is an error of the Messages API with details.
type detailed struct {
	Error struct {
		Type    string
		Message string
		Details struct {
			ErrorCode   string `json:"error_code"`
			Unsupported []string
		}
	}
}

func detailsOf(t *testing.T, a gatewaytest.Answer) (d detailed) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.Body), &d); err != nil {
		t.Errorf("%v: %s", err, a.Body)
	}
	return d
}

const create = `,"thread":{"type":"create"}`

func going(on string) string {
	return `,"thread":{"type":"continue","previous_message_id":"` + on + `"}`
}

func compared(with string) string { return `,"diagnostics":{"previous_message_id":"` + with + `"}` }

var messageName = regexp.MustCompile(`msg_01\d{22}_mgw[\w-]{38}`)

func TestThreadOntoAModelOfAnotherProviderIsRefusedAsSDKsExpect(t *testing.T) {
	s := startThreads(t)
	for _, model := range []string{"gpt-6-sol", "gemini-3.5-flash-lite"} {
		for _, stream := range []string{"", `,"stream":true`} {
			a := s.one.Call(t, "POST", path, body(model, create+stream), s.ada...)
			if d := detailsOf(t, a); a.Status != 400 || d.Error.Type != "invalid_request_error" || d.Error.Details.ErrorCode != "thread_unsupported_request" ||
				strings.Join(d.Error.Details.Unsupported, ",") != "thread" {
				t.Errorf("%s: %d %s", model, a.Status, a.Body)
			}
			a = s.one.Call(t, "POST", path, body(model, going("msg_1")+stream), s.ada...)
			if d := detailsOf(t, a); a.Status != 404 || d.Error.Type != "not_found_error" || d.Error.Details.ErrorCode != "thread_not_found" {
				t.Errorf("%s: %d %s", model, a.Status, a.Body)
			}
		}
	}
	if asked := s.up.take(); len(asked) > 0 {
		t.Errorf("asked %q", asked)
	}
	if a := s.one.Call(t, "POST", path, body("claude-haiku-4-5", `,"thread":null`), s.ada...); a.Status != 200 || strings.Contains(a.Body, "_mgw") {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

func TestThreadDoesNotFallBackToAnotherProvider(t *testing.T) {
	s := startThreads(t)
	s.up.down = true
	for _, thread := range []string{create, ""} {
		s.up.take()
		a := s.one.Call(t, "POST", path, body("claude-haiku-4-5", thread), s.ada...)
		asked := strings.Join(s.up.take(), "\n")
		if thread == "" && !strings.Contains(asked, "gpt-6-sol") {
			t.Fatalf("without a thread it does not fall back either: %s", asked)
		}
		if thread != "" && (strings.Contains(asked, "gpt-6-sol") || a.Status != 529) {
			t.Errorf("%d %s, asked %s", a.Status, a.Body, asked)
		}
	}
}

func TestThreadBelongsToItsCaller(t *testing.T) {
	s := startThreads(t)
	whole := s.one.Call(t, "POST", path, body("claude-haiku-4-5", create), s.ada...)
	stream := s.two.Call(t, "POST", path, body("mine", create+`,"stream":true`), s.ada...)
	names := []string{messageName.FindString(whole.Body), messageName.FindString(stream.Body)}
	if names[0] == "" || names[1] == "" || gatewaytest.Field(t, whole, "id") != names[0] {
		t.Fatalf("%d %s\n%d %s", whole.Status, whole.Body, stream.Status, stream.Body)
	}
	s.up.take()
	t.Run("who goes on in it, with the key that made it", func(t *testing.T) {
		for _, name := range names {
			raw, _, _ := strings.Cut(name, "_mgw")
			for range 3 {
				a := s.two.Call(t, "POST", path, body("claude-haiku-4-5", going(name)), s.ada...)
				asked := s.up.take()
				if a.Status != 200 || len(asked) != 1 || !strings.HasPrefix(asked[0], s.up.made[raw]+" ") || !strings.Contains(asked[0], going(raw)) {
					t.Errorf("%d %s, asked %q", a.Status, a.Body, asked)
				}
			}
		}
	})
	t.Run("others get what unknown ids get", func(t *testing.T) {
		raw, _, _ := strings.Cut(names[0], "_mgw")
		unknown := detailsOf(t, s.one.Call(t, "POST", path, body("claude-haiku-4-5", going("msg_1")), s.bob...))
		for _, as := range [][]string{s.bob, nil, s.ada} {
			for _, name := range []string{names[0], raw, names[0] + "x"} {
				if len(as) > 0 && as[1] == s.ada[1] && name == names[0] {
					continue
				}
				for _, p := range []string{path, countPath} {
					a := s.two.Call(t, "POST", p, body("claude-haiku-4-5", going(name)), as...)
					if d := detailsOf(t, a); p == path && (a.Status != 404 || d.Error.Details.ErrorCode != "thread_not_found" || d.Error.Message != unknown.Error.Message) {
						t.Errorf("%s: %d %s", name, a.Status, a.Body)
					}
				}
			}
		}
		if asked := s.up.take(); len(asked) > 0 {
			t.Errorf("asked %q", asked)
		}
	})
	t.Run("an id that the provider has lost", func(t *testing.T) {
		raw, _, _ := strings.Cut(names[0], "_mgw")
		delete(s.up.made, raw)
		a := s.one.Call(t, "POST", path, body("claude-haiku-4-5", going(names[0])), s.ada...)
		if d := detailsOf(t, a); a.Status != 404 || d.Error.Details.ErrorCode != "thread_not_found" {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	})
}

func TestDiagnosticsNameOnlyAnswersOfTheCaller(t *testing.T) {
	s := startThreads(t)
	first := s.one.Call(t, "POST", path, body("claude-haiku-4-5", `,"diagnostics":{"previous_message_id":null}`), s.ada...)
	name := messageName.FindString(first.Body)
	raw, _, _ := strings.Cut(name, "_mgw")
	s.up.take()
	for range 4 { // by turns the keys would be others
		a := s.one.Call(t, "POST", path, body("claude-haiku-4-5", compared(name)), s.ada...)
		if asked := s.up.take(); a.Status != 200 || !strings.Contains(a.Body, `"diagnostics":null`) || len(asked) != 1 || !strings.Contains(asked[0], compared(raw)) {
			t.Errorf("%d %s, asked %q", a.Status, a.Body, asked)
		}
	}
	for _, id := range []string{name, raw} {
		a := s.one.Call(t, "POST", path, body("claude-haiku-4-5", compared(id)), s.bob...)
		if asked := s.up.take(); a.Status != 200 || !strings.Contains(a.Body, "previous_message_not_found") || len(asked) != 1 || strings.Contains(asked[0], raw) {
			t.Errorf("%d %s, asked %q", a.Status, a.Body, asked)
		}
	}
	s.up.down = true // another model may answer
	_ = s.one.Call(t, "POST", path, body("claude-haiku-4-5", compared(name)), s.ada...)
	if asked := strings.Join(s.up.take(), "\n"); !strings.Contains(asked, "gpt-6-sol") {
		t.Errorf("it does not fall back: %s", asked)
	}
}

func TestProviderObjectsDecideOnThreads(t *testing.T) {
	t.Run("none", func(t *testing.T) {
		s := startThreads(t, "PROVIDER_OBJECTS=none")
		for members, code := range map[string]string{create: "thread_unsupported_request", going("msg_1"): "thread_unsupported_request", compared("msg_1"): ""} {
			a := s.one.Call(t, "POST", path, body("claude-haiku-4-5", members), s.ada...)
			if d := detailsOf(t, a); a.Status != 400 || d.Error.Details.ErrorCode != code || !strings.Contains(a.Body, "PROVIDER_OBJECTS") {
				t.Errorf("%s: %d %s", members, a.Status, a.Body)
			}
		}
		if asked := s.up.take(); len(asked) > 0 {
			t.Errorf("asked %q", asked)
		}
	})
	t.Run("allow", func(t *testing.T) {
		s := startThreads(t, "PROVIDER_OBJECTS=allow", "ANTHROPIC_API_KEY=space-a")
		first := s.one.Call(t, "POST", path, body("claude-haiku-4-5", create), s.ada...)
		id := gatewaytest.Field(t, first, "id")
		a := s.one.Call(t, "POST", path, body("claude-haiku-4-5", going(id)+compared(id)), s.bob...)
		if a.Status != 200 || strings.Contains(first.Body+a.Body, "_mgw") {
			t.Errorf("%s\n%d %s", first.Body, a.Status, a.Body)
		}
	})
}
