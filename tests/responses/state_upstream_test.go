package responses

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/servertest"
)

// organisations is OpenAI with an organisation for each key: a response is known, and
// encrypted content can be read, only with the key that made it. It is Anthropic as well,
// whose answers repeat the texts that it was sent.
type organisations struct {
	mu    sync.Mutex
	kept  map[string]string // id of a response: key
	asked []string          // METHOD path key
}

func (o *organisations) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	o.mu.Lock()
	defer o.mu.Unlock()
	if r.URL.Path == "/v1/messages" {
		anthropicEcho(w, body)
		return
	}
	key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	o.asked = append(o.asked, r.Method+" "+r.URL.RequestURI()+" "+key)
	w.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodPost && r.URL.Path == "/v1/responses" {
		o.create(w, body, key)
		return
	}
	id, part, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/responses/"), "/")
	switch {
	case o.kept[id] != key:
		problem(w, 404, "Response with id '"+id+"' not found.", "")
	case part == "cancel":
		problem(w, 400, "Response '"+id+"' is not of the background.", "")
	case part == "input_items":
		_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"msg_1","type":"message"}],"first_id":"msg_1","last_id":"msg_1","has_more":false}`)
	case r.Method == http.MethodDelete:
		delete(o.kept, id)
		_, _ = io.WriteString(w, `{"id":"`+id+`","object":"response","deleted":true}`)
	default:
		_, _ = io.WriteString(w, response(id, "null"))
	}
}

func (o *organisations) create(w http.ResponseWriter, body []byte, key string) {
	var in struct {
		Previous *string `json:"previous_response_id"`
		Stream   bool
	}
	_ = json.Unmarshal(body, &in)
	if _, encrypted, ok := strings.Cut(string(body), `"encrypted_content":"gAAAA-`); ok && !strings.HasPrefix(encrypted, key) {
		problem(w, 400, "The encrypted content could not be verified.", "invalid_encrypted_content")
		return
	}
	previous := "null"
	if in.Previous != nil {
		previous = gatewaytest.Quote(*in.Previous)
		if o.kept[*in.Previous] != key {
			problem(w, 400, "Previous response with id '"+*in.Previous+"' not found.", "previous_response_not_found")
			return
		}
	}
	id := fmt.Sprintf("resp_%032d", len(o.kept)+1)
	o.kept[id] = key
	whole := response(id, previous)
	if !in.Stream {
		_, _ = io.WriteString(w, whole)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for i, event := range []string{
		`"type":"response.created","response":` + strings.Replace(whole, `"completed"`, `"in_progress"`, 1), `"type":"response.of_tomorrow","responses":["` + id + `"]`,
		`"type":"response.output_item.added","output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress","role":"assistant","content":[]}`,
		`"type":"response.content_part.added","item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[],"logprobs":[]}`,
		`"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"fine","response_id":"` + id + `"`,
		`"type":"response.output_text.done","item_id":"msg_1","output_index":0,"content_index":0,"text":"fine","logprobs":[]`,
		`"type":"response.content_part.done","item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"fine","annotations":[],"logprobs":[]}`,
		`"type":"response.output_item.done","output_index":0,"item":` + finished,
		`"type":"response.completed","response":` + whole,
	} {
		name, _, _ := strings.Cut(strings.TrimPrefix(event, `"type":"`), `"`)
		_, _ = fmt.Fprintf(w, "event: %s\ndata: {%s,\"sequence_number\":%d}\n\n", name, event, i)
	}
}

const finished = `{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"fine"}]}`

// response is a whole answer of OpenAI.
func response(id, previous string) string {
	return `{"id":"` + id + `","object":"response","created_at":1,"status":"completed","background":false,"completed_at":2,"error":null,` +
		`"incomplete_details":null,"instructions":null,"max_output_tokens":null,"max_tool_calls":null,"metadata":{},"model":"gpt-6-sol",` +
		`"output":[` + finished + `],` +
		`"parallel_tool_calls":true,"previous_response_id":` + previous + `,"prompt_cache_key":null,"reasoning":{"effort":null,"summary":null},` +
		`"safety_identifier":null,"service_tier":"default","store":true,"temperature":1.0,"text":{"format":{"type":"text"},"verbosity":"medium"},` +
		`"tool_choice":"auto","tools":[],"top_logprobs":0,"top_p":1.0,"truncation":"disabled","usage":{"input_tokens":5,"input_tokens_details":` +
		`{"cached_tokens":0,"cache_write_tokens":0},"output_tokens":1,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":6},"user":null}`
}

func problem(w http.ResponseWriter, status int, message, code string) {
	w.WriteHeader(status)
	text := "null"
	if code != "" {
		text = gatewaytest.Quote(code)
	}
	_, _ = io.WriteString(w, `{"error":{"message":`+gatewaytest.Quote(message)+`,"type":"invalid_request_error","param":null,"code":`+text+`}}`)
}

// anthropicEcho answers with the roles and the texts of the messages.
func anthropicEcho(w http.ResponseWriter, body []byte) {
	var in struct {
		Stream   bool
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	_ = json.Unmarshal(body, &in)
	var said []string
	for _, m := range in.Messages {
		var blocks []struct{ Text string }
		var text string
		if json.Unmarshal(m.Content, &text) != nil {
			_ = json.Unmarshal(m.Content, &blocks)
			for _, b := range blocks {
				text += b.Text
			}
		}
		said = append(said, m.Role[:1]+"("+text+")")
	}
	text := gatewaytest.Quote(strings.Join(said, " "))
	const head = `"id":"msg_01","type":"message","role":"assistant","model":"claude-haiku-4-5-20251001"`
	if !in.Stream {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{`+head+`,"content":[{"type":"text","text":`+text+`}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":4}}`)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, event := range []string{
		`{"type":"message_start","message":{` + head + `,"content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":` + text + `}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":4}}`, `{"type":"message_stop"}`,
	} {
		name, _, _ := strings.Cut(strings.TrimPrefix(event, `{"type":"`), `"`)
		_, _ = io.WriteString(w, "event: "+name+"\ndata: "+event+"\n\n")
	}
}

// take returns the calls since the last take.
func (o *organisations) take() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	asked := o.asked
	o.asked = nil
	return asked
}

// shared is two replicas on one PostgreSQL, with two users.
type shared struct {
	t        *testing.T
	up       *organisations
	settings []string
	one, two *gatewaytest.Program
	ada, bob []string // headers
}

func startShared(t *testing.T, more ...string) *shared {
	t.Helper()
	s := &shared{t: t, up: &organisations{kept: map[string]string{}}}
	url := gatewaytest.ServeUpstream(t, s.up)
	s.settings = append([]string{
		"DATABASE_URL=" + servertest.Postgres(t), gatewaytest.JWTSecret, "OPENAI_API_KEY=org-a,org-b", "OPENAI_BASE_URL=" + url,
		"ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL=" + url, "MODEL_ALIASES=mine=gpt-6-sol", "FALLBACKS=gpt-6-sol=claude-haiku-4-5",
	}, more...)
	s.one, s.two = gatewaytest.Start(t, s.settings...), gatewaytest.Start(t, s.settings...)
	s.ada, s.bob = s.one.SignUp(t, "ada"), s.one.SignUp(t, "bob")
	return s
}

// ask sends a request with these members beside model.
func (s *shared) ask(at *gatewaytest.Program, as []string, model, members string) gatewaytest.Answer {
	s.t.Helper()
	return at.Call(s.t, "POST", "/v1/responses", `{"model":"`+model+`",`+members+`}`, as...)
}
