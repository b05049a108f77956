package anthropic

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/dialects/chat"
	"modelgateway/providers"
	"modelgateway/providers/providertest"
)

func FuzzTranslate(f *testing.F) {
	for _, g := range goldens {
		f.Add([]byte(g.body))
	}
	f.Add([]byte(`{"model":"m","messages":[{"role":"user","content":"q"}],"thinking":{"type":"enabled","budget_tokens":9e9},` +
		`"max_tokens":1,"tools":[],"stop":[" "],"zeta":{}}`))
	var models []*catalog.Model
	for _, id := range []string{noThinking, budgetOld, budgetNew, budgetHard, bothWays, byItself, byDefault, always} {
		models = append(models, model(f, id))
	}
	p := provider("http://127.0.0.1:1")
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := chat.Decode(nil, body)
		if err != nil {
			return
		}
		for _, m := range models {
			x, err := p.Prepare(providers.Call{Request: req, Model: m})
			if err != nil {
				if e, ok := errors.AsType[*api.Error](err); !ok || e.Status != http.StatusBadRequest || e.Param == "" {
					t.Fatalf("%s: not a 400 that names its field: %v", m.ID, err)
				}
				continue
			}
			checkTranslation(t, m, x.(*exchange))
		}
	})
}

// checkTranslation looks for what Anthropic refuses in every request.
func checkTranslation(t *testing.T, m *catalog.Model, x *exchange) {
	if !jsontext.Value(x.body).IsValid() {
		t.Fatalf("%s: not JSON: %s", m.ID, x.body)
	}
	if n := len(x.ignored); n != len(slices.Compact(slices.Sorted(slices.Values(x.ignored)))) {
		t.Fatalf("%s: ignored twice: %q", m.ID, x.ignored)
	}
	var r struct {
		MaxTokens int64 `json:"max_tokens"`
		Messages  []struct {
			Role    string           `json:"role"`
			Content []jsontext.Value `json:"content"`
		} `json:"messages"`
		Thinking struct {
			Budget int64 `json:"budget_tokens"`
		} `json:"thinking"`
	}
	if err := json.Unmarshal(x.body, &r); err != nil {
		t.Fatalf("%s: %v", m.ID, err)
	}
	if r.MaxTokens < 1 || r.MaxTokens > m.MaxOutput || r.Thinking.Budget >= r.MaxTokens {
		t.Fatalf("%s: max_tokens %d, budget %d", m.ID, r.MaxTokens, r.Thinking.Budget)
	}
	role := roleAssistant
	for i, msg := range r.Messages {
		if msg.Role == role || len(msg.Content) == 0 {
			t.Fatalf("%s: message %d of %s is empty or does not take turns", m.ID, i, x.body)
		}
		role = msg.Role
	}
	if len(r.Messages) == 0 {
		t.Fatalf("%s: no messages", m.ID)
	}
}

// said puts the chunks of a stream together by itself.
type said struct{ text, reasoning, arguments, finish, ending string }

func (s *said) add(c *chat.Chunk) {
	for _, choice := range c.Choices {
		if choice.Delta.Content != nil {
			s.text += *choice.Delta.Content
		}
		s.reasoning += choice.Delta.ReasoningContent
		for _, call := range choice.Delta.ToolCalls {
			s.arguments += fmt.Sprintf("%d%s", call.Index, call.Function.Arguments)
		}
		if choice.FinishReason != nil {
			s.finish += *choice.FinishReason
			s.ending += string(choice.Extra)
		}
	}
}

// FuzzStream reads any bytes as a stream: it must end in one finish or in one
// error, and hold the same as the whole answer that is made of it.
func FuzzStream(f *testing.F) {
	f.Add([]byte(everything))
	f.Add([]byte(everything[:len(everything)/2]))
	f.Add([]byte(events(start, text0, text0, end, start)))
	f.Add([]byte(events(start, began(0, toolBlock), `{"type":"error","error":{}}`)))
	f.Add([]byte(events(start, `{"type":"content_block_delta","index":-1,"delta":{"type":"future","text":1}}`, stopped("refusal"))))
	cited := `{"type":"citations_delta","citation":` + pageOf + `}`
	f.Add([]byte(events(start, text0, piece(0, cited), piece(0, words("é")), over(0), began(1, `{"type":"text","citations":[`+webCitation+`]}`),
		`{"type":"message_delta","delta":{"stop_reason":"refusal","stop_sequence":"x","stop_details":{"explanation":"No."}}}`, end)))
	f.Add([]byte(events(`{"type":"message_start","message":{"id":"a","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn"}}`, start,
		`{"type":"message_start","message":{"id":"b","usage":{"service_tier":"standard"}}}`, end)))
	req := streamRequest(f, "")
	f.Fuzz(func(t *testing.T, body []byte) {
		s, other := newStream(body), newStream(body)
		err := s.readStart()
		if otherErr := other.readStart(); (err == nil) != (otherErr == nil) {
			t.Fatalf("once %v, once %v", err, otherErr)
		}
		if err != nil {
			return
		}
		var got said
		ends := 0
		for c, err := range providertest.Chunks(req, s.run) {
			if ends > 0 && (err != nil || len(c.Choices) > 0) {
				t.Fatalf("the stream goes on after its end")
			}
			if err != nil {
				ends++
				break
			}
			got.add(c)
			if len(c.Choices) > 0 && c.Choices[0].FinishReason != nil {
				ends++
			}
		}
		if ends != 1 {
			t.Fatalf("%d ends", ends)
		}
		answer, err := providertest.Completion(req, other.run)
		if (err == nil) != (got.finish != "") {
			t.Fatalf("the stream finished with %q, the answer with %v", got.finish, err)
		}
		if err == nil && (text(answer) != got.text || string(answer.Choices[0].Extra) != got.ending || answer.Choices[0].Message.ReasoningContent != got.reasoning) {
			t.Fatalf("the stream says %+v, the answer %+v", got, answer.Choices[0].Message)
		}
	})
}

func text(c *chat.Completion) string {
	if c.Choices[0].Message.Content == nil {
		return ""
	}
	return *c.Choices[0].Message.Content
}

// FuzzStreamAndAnswer compares a message streamed in pieces with the same message
// whole.
func FuzzStreamAndAnswer(f *testing.F) {
	f.Add("Hello 🎉", "hm", "sig", `{"a": [1, 2.50]}`, uint8(3))
	f.Add("", "", "", "", uint8(0))
	f.Add("<&>\u2028", "", "s", `{"x":{}}`, uint8(1))
	req := streamRequest(f, "")
	f.Fuzz(func(t *testing.T, words, thinking, signature, input string, size uint8) {
		words, thinking, signature = strings.ToValidUTF8(words, "?"), strings.ToValidUTF8(
			thinking, "?",
		), strings.ToValidUTF8(signature, "?")
		value := jsontext.Value(strings.TrimSpace(input))
		if value.Kind() != jsontext.KindBeginObject || value.Compact() != nil {
			value = jsontext.Value("{}")
		}
		whole := fmt.Sprintf(`{"type":"message","id":"msg_1","model":"claude-x","content":[{"type":"thinking","thinking":%s,`+
			`"signature":%s},{"type":"text","text":%s},{"type":"tool_use","id":"toolu_1","name":"f","input":%s}],`+
			`"stop_reason":"tool_use","usage":{"input_tokens":43,"output_tokens":62}}`,
			quote(thinking), quote(signature), quote(words), value)
		m, err := readMessage([]byte(whole))
		if err != nil {
			t.Fatalf("%v: %s", err, whole)
		}
		s := newStream([]byte(pieces(words, thinking, signature, string(value), int(size)+1)))
		want, err := providertest.Completion(req, s.answer.exchange.replay(m))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.readStart(); err != nil {
			t.Fatal(err)
		}
		got, err := providertest.Collect(providertest.Chunks(req, s.run))
		if err != nil {
			t.Fatal(err)
		}
		a, _ := json.Marshal(want)
		b, _ := json.Marshal(got)
		if string(a) != string(b) {
			t.Fatalf("whole    %s\nstreamed %s", a, b)
		}
	})
}

// pieces is the stream of a message, in fragments of so many runes.
func pieces(words, thinking, signature, input string, size int) string {
	all := []string{start, began(0, `{"type":"thinking","thinking":"","signature":""}`)}
	cut := func(s string, make func(string) string) {
		for c := range slices.Chunk([]rune(s), size) {
			all = append(all, make(string(c)))
		}
	}
	cut(thinking, func(s string) string { return piece(0, thought(s)) })
	all = append(all, piece(0, `{"type":"signature_delta","signature":`+string(quote(signature))+`}`), over(0), text0)
	cut(words, func(s string) string { return piece(0, `{"type":"text_delta","text":`+string(quote(s))+`}`) })
	all = append(all, over(0), began(2, toolBlock))
	cut(input, func(s string) string { return piece(2, arguments(s)) })
	return events(append(all, over(2), stopped("tool_use"), end)...)
}
