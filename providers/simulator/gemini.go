package simulator

import (
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

type geminiAnswer struct {
	Candidates   []geminiCandidate `json:"candidates"`
	Usage        geminiUsage       `json:"usageMetadata"`
	ModelVersion string            `json:"modelVersion"`
	ResponseID   string            `json:"responseId"`
}

type geminiCandidate struct {
	Content       geminiSaid      `json:"content"`
	FinishReason  string          `json:"finishReason,omitzero"`
	Index         int             `json:"index"`
	FinishMessage string          `json:"finishMessage,omitzero"`
	AvgLogprobs   *float64        `json:"avgLogprobs,omitzero"`
	Logprobs      *geminiLogprobs `json:"logprobsResult,omitzero"`
}

type geminiSaid struct {
	Parts []object `json:"parts,omitempty"`
	Role  string   `json:"role"`
}

type geminiLogprobs struct {
	Chosen []geminiToken    `json:"chosenCandidates"`
	Top    []geminiTopToken `json:"topCandidates"`
}

type geminiToken struct {
	Token       string  `json:"token"`
	Probability float64 `json:"logProbability"`
}

type geminiTopToken struct {
	Candidates []geminiToken `json:"candidates"`
}

type geminiUsage struct {
	Prompt        int             `json:"promptTokenCount"`
	Candidates    int             `json:"candidatesTokenCount,omitzero"`
	Total         int             `json:"totalTokenCount"`
	Cached        int             `json:"cachedContentTokenCount,omitzero"`
	PromptDetails []geminiDetails `json:"promptTokensDetails"`
	Thoughts      int             `json:"thoughtsTokenCount,omitzero"`
	ServiceTier   string          `json:"serviceTier"`
}

type geminiDetails struct {
	Modality string `json:"modality"`
	Count    int    `json:"tokenCount"`
}

// geminiCacheMin: Google caches prompts of 1024 tokens or more by itself.
const geminiCacheMin = 1024

func (s *simulator) geminiGenerate(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Server-Timing", "gfet4t7; dur=1")
	id, method, _ := strings.Cut(r.PathValue("call"), ":")
	streams := method == "streamGenerateContent"
	inArray := streams && r.URL.Query().Get("alt") != "sse"
	q, p, f := s.geminiRead(w, r, id, method)
	if f != nil {
		if inArray {
			f.body = []any{f.body}
		}
		f.write(w)
		return
	}
	answer := geminiAnswer{ModelVersion: id, ResponseID: newID("")[:22], Usage: s.geminiUsage(p)}
	if !streams {
		w.Header().Set("Content-Type", geminiJSON)
		writeJSON(w, http.StatusOK, q.complete(answer, p))
		return
	}
	told, fault := q.stream(answer, p), geminiStatus(http.StatusServiceUnavailable).body
	if inArray {
		w.Header().Set("Content-Type", geminiJSON)
		s.play(w, r, asArray(told).spoil(p.cue(), append(append([]byte(",\r\n"), encode(fault)...), "]\r\n"...)))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	s.play(w, r, asEvents(told).spoil(p.cue(), geminiEvent(encode(fault))))
}

// geminiRead is everything that can refuse a request.
func (s *simulator) geminiRead(w http.ResponseWriter, r *http.Request, id, method string) (*geminiRequest, *prompt, *failure) {
	if f := geminiAuth(r); f != nil {
		return nil, nil, f
	}
	if method != "generateContent" && method != "streamGenerateContent" {
		return nil, nil, geminiFailure(http.StatusNotFound, "Not found")
	}
	q, _, f := readGemini(w, r, id, method)
	if f != nil {
		return nil, nil, f
	}
	p := q.prompt()
	if c := p.cue(); c.kind == cueError {
		return nil, nil, geminiStatus(c.status)
	}
	return q, p, nil
}

func geminiAuth(r *http.Request) *failure {
	if r.Header.Get("X-Goog-Api-Key") != "" {
		return nil
	}
	return geminiFailure(http.StatusForbidden, "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.")
}

// geminiUsage begins the count: what is cached is part of the prompt.
func (s *simulator) geminiUsage(p *prompt) geminiUsage {
	read, _ := s.cache.use(p.prefixes, geminiCacheMin)
	media := p.media
	u := geminiUsage{Prompt: p.tokens, Total: p.tokens, Cached: read, ServiceTier: "standard"}
	u.PromptDetails = []geminiDetails{{"TEXT", p.tokens - media}}
	if media > 0 {
		u.PromptDetails = append(u.PromptDetails, geminiDetails{"IMAGE", media})
	}
	return u
}

// add counts thoughts apart from what is said.
func (u *geminiUsage) add(thoughts, said int) {
	u.Thoughts += thoughts
	u.Candidates += said
	u.Total += thoughts + said
}

func (q *geminiRequest) candidates() int { return max(1, q.Config.CandidateCount) }

// complete is the answer in one piece: the chunks of the stream put together.
func (q *geminiRequest) complete(answer geminiAnswer, p *prompt) geminiAnswer {
	for i := range q.candidates() {
		said := p.reply(i)
		c := geminiCandidate{Index: i, Content: geminiSaid{Role: "model"}}
		c.FinishReason, c.FinishMessage = said.geminiEnd()
		if q.showsThoughts() && said.reasoning != "" {
			c.Content.Parts = append(c.Content.Parts, object{"text", said.reasoning, "thought", true})
		}
		if said.text != "" {
			part := object{"text", said.text}
			if q.signs() {
				part = append(part, "thoughtSignature", q.signature(said.text))
			}
			c.Content.Parts = append(c.Content.Parts, part)
			c.logprobs(q, said.text)
		}
		drawn := 0
		if q.draws(said) {
			drawn = mediaTokens
			c.Content.Parts = append(c.Content.Parts, picture())
		}
		c.Content.Parts = append(c.Content.Parts, q.callParts(said)...)
		answer.Candidates = append(answer.Candidates, c)
		answer.Usage.add(said.reasoningTokens(), said.spokenTokens()+drawn)
	}
	return answer
}

// geminiEnd is STOP for calls too. A call that was cut short is not sent.
func (r reply) geminiEnd() (reason, message string) {
	switch r.end {
	case endLength:
		return "MAX_TOKENS", ""
	case endCalls:
		return "STOP", "Model generated function call(s)."
	}
	return "STOP", ""
}

// signs says whether parts carry thought signatures: from Gemini 3 on always.
func (q *geminiRequest) signs() bool { return q.thinks() || geminiGeneration(q.model) >= 3 }

func (q *geminiRequest) showsThoughts() bool {
	return q.Config.Thinking != nil && q.Config.Thinking.IncludeThoughts
}

// callParts gives parallel calls one signature, on the first, and ids from
// Gemini 3.1 on.
func (q *geminiRequest) callParts(said reply) []object {
	var parts []object
	for _, c := range said.calls {
		if !c.whole {
			break
		}
		called := object{"name", c.name, "args", jsontext.Value(c.args)}
		if geminiGeneration(q.model) > 3 {
			called = append(called, "id", strings.ToLower(newID("")[:8]))
		}
		part := object{"functionCall", called}
		if len(parts) == 0 && q.signs() {
			part = append(part, "thoughtSignature", q.signature(c.name+c.args))
		}
		parts = append(parts, part)
	}
	return parts
}

func (q *geminiRequest) draws(said reply) bool {
	return q.makesImages() && q.Config.MimeType != "application/json" && len(said.calls) == 0 && said.end == endTurn
}

// picture is a PNG of one pixel.
func picture() object {
	data := "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
	return object{"inlineData", object{"mimeType", "image/png", "data", data}}
}

func (c *geminiCandidate) logprobs(q *geminiRequest, said string) {
	if !q.Config.WantsLogprobs {
		return
	}
	sure := 0.0
	c.AvgLogprobs, c.Logprobs = &sure, &geminiLogprobs{}
	for _, token := range split(said) {
		one := geminiToken{Token: token}
		c.Logprobs.Chosen = append(c.Logprobs.Chosen, one)
		c.Logprobs.Top = append(c.Logprobs.Top, geminiTopToken{[]geminiToken{one}})
	}
}
