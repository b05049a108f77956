package simulator

import (
	"net/http"
	"strings"
)

type openaiAnswer struct {
	ID                string             `json:"id"`
	Object            string             `json:"object"`
	Created           int64              `json:"created"`
	Model             string             `json:"model"`
	Choices           []openaiSaidChoice `json:"choices"`
	Usage             openaiUsage        `json:"usage"`
	ServiceTier       string             `json:"service_tier"`
	SystemFingerprint string             `json:"system_fingerprint"`
}

type openaiSaidChoice struct {
	Index        int             `json:"index"`
	Message      openaiSaid      `json:"message"`
	Logprobs     *openaiLogprobs `json:"logprobs"`
	FinishReason string          `json:"finish_reason"`
}

type openaiSaid struct {
	Role         string           `json:"role"`
	Content      *string          `json:"content"`
	Refusal      *string          `json:"refusal"`
	Annotations  []string         `json:"annotations"`
	ToolCalls    []openaiToolCall `json:"tool_calls,omitempty"`
	FunctionCall *openaiCalled    `json:"function_call,omitzero"`
}

type openaiLogprobs struct {
	Content []openaiLogprob  `json:"content"`
	Refusal *[]openaiLogprob `json:"refusal"`
}

type openaiLogprob struct {
	Token       string          `json:"token"`
	Logprob     float64         `json:"logprob"`
	Bytes       []int           `json:"bytes"`
	TopLogprobs []openaiLogprob `json:"top_logprobs,omitzero"`
}

type openaiUsage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
	PromptDetails    struct {
		Cached     int `json:"cached_tokens"`
		Audio      int `json:"audio_tokens"`
		CacheWrite int `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning int `json:"reasoning_tokens"`
		Audio     int `json:"audio_tokens"`
		Accepted  int `json:"accepted_prediction_tokens"`
		Rejected  int `json:"rejected_prediction_tokens"`
	} `json:"completion_tokens_details"`
}

// openaiCacheMin and openaiCacheStep: OpenAI caches prompts of 1024 tokens or
// more by itself, in steps of 128.
const (
	openaiCacheMin  = 1024
	openaiCacheStep = 128
)

func (s *simulator) openaiChat(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Request-Id", newID("req_"))
	w.Header().Set("Openai-Version", "2020-10-01")
	w.Header().Set("Openai-Organization", "simulated")
	w.Header().Set("Openai-Processing-Ms", "1")
	if f := openaiAuth(r); f != nil {
		f.write(w)
		return
	}
	q, m, f := readOpenAI(w, r)
	if f != nil {
		f.write(w)
		return
	}
	p := q.prompt(m)
	c := p.cue()
	if c.kind == cueError {
		openaiStatus(c.status).write(w)
		return
	}
	answer := s.openaiAnswer(q, m, p)
	if !q.Stream {
		writeJSON(w, http.StatusOK, answer)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	s.play(w, r, q.stream(answer).spoil(c, openaiEvent(openaiStatus(http.StatusInternalServerError).body)))
}

func openaiAuth(r *http.Request) *failure {
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "Bearer") && strings.TrimSpace(key) != "" {
		return nil
	}
	text := "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY)."
	return openaiFailure(http.StatusUnauthorized, openaiFault{Message: text, Type: openaiBadRequest})
}

func (s *simulator) openaiAnswer(q *openaiRequest, m model, p *prompt) openaiAnswer {
	answer := openaiAnswer{
		ID: newID("chatcmpl-"), Object: "chat.completion", Created: s.now().Unix(), Model: m.answersAs(),
		ServiceTier: "default", SystemFingerprint: "simulated",
	}
	count := 1
	if q.N != nil {
		count = *q.N
	}
	read, _ := s.cache.use(p.prefixes, openaiCacheMin)
	u := &answer.Usage
	u.PromptTokens = p.tokens
	u.PromptDetails.Cached = read - read%openaiCacheStep
	for i := range count {
		said := p.reply(i)
		answer.Choices = append(answer.Choices, q.choiceOf(i, said))
		u.CompletionDetails.Reasoning += said.reasoningTokens()
		u.CompletionTokens += said.reasoningTokens() + said.spokenTokens()
	}
	u.TotalTokens = u.PromptTokens + u.CompletionTokens
	return answer
}

// choiceOf turns a reply into a choice. OpenAI never shows its reasoning.
func (q *openaiRequest) choiceOf(index int, said reply) openaiSaidChoice {
	c := openaiSaidChoice{Index: index, Message: openaiSaid{Role: "assistant", Annotations: []string{}}}
	c.FinishReason = map[ending]string{endTurn: "stop", endStop: "stop", endLength: "length", endCalls: "tool_calls"}[said.end]
	if len(said.calls) == 0 {
		c.Message.Content = &said.text
		c.Logprobs = q.logprobs(said.text)
		return c
	}
	if len(q.Functions) > 0 {
		c.Message.FunctionCall = &openaiCalled{said.calls[0].name, said.calls[0].args}
		if said.end == endCalls {
			c.FinishReason = "function_call"
		}
		return c
	}
	for _, made := range said.calls {
		call := openaiToolCall{ID: newID("call_"), Type: "function", Function: &openaiCalled{made.name, made.args}}
		if made.custom {
			call = openaiToolCall{ID: call.ID, Type: "custom", Custom: &openaiWritten{made.name, made.args}}
		}
		c.Message.ToolCalls = append(c.Message.ToolCalls, call)
	}
	return c
}

func (q *openaiRequest) logprobs(said string) *openaiLogprobs {
	if !q.Logprobs {
		return nil
	}
	found := &openaiLogprobs{Content: []openaiLogprob{}}
	for _, token := range split(said) {
		found.Content = append(found.Content, q.logprob(token))
	}
	return found
}

// logprob is sure of every token: it is the only one that could have come.
func (q *openaiRequest) logprob(token string) openaiLogprob {
	one := openaiLogprob{Token: token, Bytes: []int{}}
	for _, b := range []byte(token) {
		one.Bytes = append(one.Bytes, int(b))
	}
	all := one
	all.TopLogprobs = []openaiLogprob{}
	if q.TopLogprobs != nil && *q.TopLogprobs > 0 {
		all.TopLogprobs = append(all.TopLogprobs, one)
	}
	return all
}
