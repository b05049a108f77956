package openai

import (
	"modelgateway/providers/simulator/reply"
	"modelgateway/providers/simulator/wire"
)

type answer struct {
	ID                string   `json:"id"`
	Object            string   `json:"object"`
	Created           int64    `json:"created"`
	Model             string   `json:"model"`
	Choices           []choice `json:"choices"`
	Usage             usage    `json:"usage"`
	ServiceTier       string   `json:"service_tier"`
	SystemFingerprint string   `json:"system_fingerprint"`
}

type choice struct {
	Index        int       `json:"index"`
	Message      message   `json:"message"`
	Logprobs     *logprobs `json:"logprobs"`
	FinishReason string    `json:"finish_reason"`
}

type message struct {
	Role         string          `json:"role"`
	Content      *string         `json:"content"`
	Refusal      *string         `json:"refusal"`
	Annotations  []string        `json:"annotations"`
	ToolCalls    []ToolCall      `json:"tool_calls,omitempty"`
	FunctionCall *CalledFunction `json:"function_call,omitzero"`
}

type logprobs struct {
	Content []logprob  `json:"content"`
	Refusal *[]logprob `json:"refusal"`
}

type logprob struct {
	Token       string    `json:"token"`
	Logprob     float64   `json:"logprob"`
	Bytes       []int     `json:"bytes"`
	TopLogprobs []logprob `json:"top_logprobs,omitzero"`
}

type usage struct {
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

// OpenAI caches prompts of 1024 tokens or more by itself, in steps of 128.
// Source: https://platform.openai.com/docs/guides/prompt-caching
const (
	cacheLeast = 1024
	cacheStep  = 128
)

func (s *Service) answer(q *Request, m wire.Model, p *reply.Prompt) answer {
	a := answer{
		ID: wire.NewID("chatcmpl-"), Object: "chat.completion", Created: s.options.Now().Unix(), Model: m.AnswersAs(),
		ServiceTier: "default", SystemFingerprint: "simulated",
	}
	read, _ := s.cache.Use(p, cacheLeast)
	u := &a.Usage
	u.PromptTokens = p.Tokens()
	u.PromptDetails.Cached = read - read%cacheStep
	for i := range q.choices() {
		r := p.Reply(i)
		a.Choices = append(a.Choices, q.choice(i, r))
		u.CompletionDetails.Reasoning += r.ReasoningTokens()
		u.CompletionTokens += r.ReasoningTokens() + r.AnswerTokens()
	}
	u.TotalTokens = u.PromptTokens + u.CompletionTokens
	return a
}

var finishReasons = map[reply.End]string{
	reply.EndTurn: "stop", reply.EndStop: "stop", reply.EndLength: "length", reply.EndCalls: "tool_calls",
}

// choice turns a reply into a choice. OpenAI never shows its reasoning.
func (q *Request) choice(index int, r reply.Reply) choice {
	c := choice{Index: index, Message: message{Role: "assistant", Annotations: []string{}}, FinishReason: finishReasons[r.End]}
	if len(r.Calls) == 0 || r.Text != "" {
		c.Message.Content = &r.Text
		c.Logprobs = q.logprobs(r.Text)
	}
	if len(r.Calls) == 0 {
		return c
	}
	if len(q.Functions) > 0 {
		c.Message.FunctionCall = &CalledFunction{r.Calls[0].Name, r.Calls[0].Arguments}
		if r.End == reply.EndCalls {
			c.FinishReason = "function_call"
		}
		return c
	}
	for _, called := range r.Calls {
		call := ToolCall{ID: wire.NewID("call_"), Type: "function", Function: &CalledFunction{called.Name, called.Arguments}}
		if called.Custom {
			call = ToolCall{ID: call.ID, Type: "custom", Custom: &CalledCustom{called.Name, called.Arguments}}
		}
		c.Message.ToolCalls = append(c.Message.ToolCalls, call)
	}
	return c
}

func (q *Request) logprobs(text string) *logprobs {
	if !q.Logprobs {
		return nil
	}
	all := &logprobs{Content: []logprob{}}
	for _, token := range reply.Split(text) {
		all.Content = append(all.Content, q.logprob(token))
	}
	return all
}

// logprob is 0, a probability of 1: no other token could have come.
func (q *Request) logprob(token string) logprob {
	one := logprob{Token: token, Bytes: []int{}}
	for _, b := range []byte(token) {
		one.Bytes = append(one.Bytes, int(b))
	}
	all := one
	all.TopLogprobs = []logprob{}
	if q.TopLogprobs != nil && *q.TopLogprobs > 0 {
		all.TopLogprobs = append(all.TopLogprobs, one)
	}
	return all
}
