package simulator

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

type anthropicAnswer struct {
	ID           string           `json:"id"`
	Type         string           `json:"type"`
	Role         string           `json:"role"`
	Model        string           `json:"model"`
	Content      []jsontext.Value `json:"content"`
	StopReason   *string          `json:"stop_reason"`
	StopSequence *string          `json:"stop_sequence"`
	StopDetails  *string          `json:"stop_details"`
	Usage        anthropicUsage   `json:"usage"`
}

type anthropicUsage struct {
	InputTokens   int `json:"input_tokens"`
	CacheCreation int `json:"cache_creation_input_tokens"`
	CacheRead     int `json:"cache_read_input_tokens"`
	CacheWrites   struct {
		Short int `json:"ephemeral_5m_input_tokens"`
		Long  int `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
	OutputTokens  int `json:"output_tokens"`
	OutputDetails struct {
		Thinking int `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
	ServiceTier  string `json:"service_tier"`
	InferenceGeo string `json:"inference_geo"`
}

func (s *simulator) anthropicMessages(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Request-Id", newID("req_01"))
	w.Header().Set("Anthropic-Organization-Id", "00000000-0000-4000-8000-000000000000")
	w.Header().Set("Anthropic-Ratelimit-Requests-Limit", "50")
	w.Header().Set("Anthropic-Ratelimit-Requests-Remaining", "49")
	w.Header().Set("Anthropic-Ratelimit-Requests-Reset", s.inTwoSeconds())
	if f := anthropicAuth(r); f != nil {
		f.write(w)
		return
	}
	q, m, f := readAnthropic(w, r)
	if f != nil {
		f.write(w)
		return
	}
	p := q.prompt()
	c := p.cue()
	if c.kind == cueError {
		s.anthropicStatus(c.status).write(w)
		return
	}
	said := p.reply(0)
	answer := s.anthropicAnswer(m, p, said)
	if !q.Stream {
		answer.Content = q.blocks(said)
		writeJSON(w, http.StatusOK, answer)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	s.play(w, r, q.stream(answer, said).spoil(c, anthropicEvent("error", s.anthropicStatus(529).body)))
}

func (s *simulator) inTwoSeconds() string {
	return s.now().Add(2 * time.Second).UTC().Format(time.RFC3339)
}

func anthropicAuth(r *http.Request) *failure {
	key, bearer := r.Header.Get("X-Api-Key"), r.Header.Get("Authorization")
	switch {
	case key != "" && bearer != "":
		return anthropicFailure(http.StatusUnauthorized, "x-api-key and Authorization may not both be sent")
	case key == "" && !strings.HasPrefix(bearer, "Bearer "):
		return anthropicFailure(http.StatusUnauthorized, "x-api-key header is required")
	case r.Header.Get("Anthropic-Version") == "":
		return anthropicRefusal("anthropic-version: header is required")
	}
	return nil
}

// anthropicAnswer is everything but the content. Cached tokens are not among
// the input tokens; thinking is among the output tokens. There is no smallest
// prompt that is cached, so that caching can be shown with a short one.
func (s *simulator) anthropicAnswer(m model, p *prompt, said reply) anthropicAnswer {
	a := anthropicAnswer{ID: newID("msg_01"), Type: "message", Role: "assistant", Model: m.answersAs(), Content: []jsontext.Value{}}
	reason := map[ending]string{endTurn: "end_turn", endStop: "stop_sequence", endLength: "max_tokens", endCalls: "tool_use"}[said.end]
	a.StopReason = &reason
	if said.end == endStop {
		a.StopSequence = &said.stop
	}
	read, written := s.cache.use(p.prefixes, 0)
	a.Usage = anthropicUsage{ServiceTier: "standard", InferenceGeo: "not_available"}
	a.Usage.InputTokens = p.tokens - read - written
	a.Usage.CacheRead, a.Usage.CacheCreation, a.Usage.CacheWrites.Short = read, written, written
	a.Usage.OutputDetails.Thinking = said.reasoningTokens()
	a.Usage.OutputTokens = said.reasoningTokens() + said.spokenTokens()
	return a
}

// blocks is the content of an answer. A call that was cut short has no input,
// because half a JSON text is none.
func (q *anthropicRequest) blocks(said reply) []jsontext.Value {
	blocks := []jsontext.Value{}
	if said.reasoning != "" {
		shown := q.shown(said.reasoning)
		blocks = append(blocks, encode(object{"type", "thinking", "thinking", shown, "signature", sign(shown)}))
	}
	if said.text != "" {
		blocks = append(blocks, encode(object{"type", "text", "text", said.text, "citations", nil}))
	}
	for _, c := range said.calls {
		input := jsontext.Value("{}")
		if c.whole {
			input = jsontext.Value(c.args)
		}
		blocks = append(blocks, encode(object{
			"type", "tool_use", "id", newID("toolu_01"), "name", c.name, "input", input, "caller", object{"type", "direct"},
		}))
	}
	return blocks
}

func (q *anthropicRequest) shown(thinking string) string {
	if q.showsThinking() {
		return thinking
	}
	return ""
}

type anthropicListed struct {
	Type        string `json:"type"`
	ID          string `json:"id"`
	DisplayName string `json:"display_name"`
	CreatedAt   string `json:"created_at"`
}

func (m model) anthropic() anthropicListed {
	return anthropicListed{"model", m.id, m.name, time.Unix(m.created, 0).UTC().Format(time.RFC3339)}
}

// anthropicModels lists 20 models a page unless limit asks for more, as the
// service does; after_id asks for the next page.
func (s *simulator) anthropicModels(w http.ResponseWriter, r *http.Request) {
	if f := anthropicAuth(r); f != nil {
		f.write(w)
		return
	}
	cut, more := page(anthropicCatalogue, r.URL.Query().Get("after_id"), min(number(r, "limit", 20), 1000))
	list := struct {
		Data    []anthropicListed `json:"data"`
		HasMore bool              `json:"has_more"`
		FirstID *string           `json:"first_id"`
		LastID  *string           `json:"last_id"`
	}{Data: []anthropicListed{}, HasMore: more}
	for _, m := range cut {
		list.Data = append(list.Data, m.anthropic())
	}
	if len(cut) > 0 {
		list.FirstID, list.LastID = &cut[0].id, &cut[len(cut)-1].id
	}
	writeJSON(w, http.StatusOK, list)
}

func (s *simulator) anthropicModel(w http.ResponseWriter, r *http.Request) {
	if f := anthropicAuth(r); f != nil {
		f.write(w)
		return
	}
	m, known := find(anthropicCatalogue, r.PathValue("id"), anthropicFamilies)
	if !known {
		anthropicFailure(http.StatusNotFound, "model: "+r.PathValue("id")).write(w)
		return
	}
	writeJSON(w, http.StatusOK, m.anthropic())
}

// anthropicEvent pads the JSON with spaces before its last brace, as the
// service does to hide how long the text is.
func anthropicEvent(name string, payload any) []byte {
	data := encode(payload)
	last := len(data) - 1
	return slices.Concat([]byte("event: "+name+"\ndata: "), data[:last], []byte(strings.Repeat(" ", last%9)), data[last:], []byte("\n\n"))
}
