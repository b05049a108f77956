package gemini

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/reply"
	"modelgateway/providers/simulator/wire"
)

type answer struct {
	Candidates   []candidate `json:"candidates"`
	Usage        usage       `json:"usageMetadata"`
	ModelVersion string      `json:"modelVersion"`
	ResponseID   string      `json:"responseId"`
}

type candidate struct {
	Content       parts     `json:"content"`
	FinishReason  string    `json:"finishReason,omitzero"`
	Index         int       `json:"index"`
	FinishMessage string    `json:"finishMessage,omitzero"`
	AvgLogprobs   *float64  `json:"avgLogprobs,omitzero"`
	Logprobs      *logprobs `json:"logprobsResult,omitzero"`
}

type parts struct {
	Parts []rawjson.Object `json:"parts,omitempty"`
	Role  string           `json:"role"`
}

type logprobs struct {
	Chosen []token    `json:"chosenCandidates"`
	Top    []topToken `json:"topCandidates"`
}

type token struct {
	Token       string  `json:"token"`
	Probability float64 `json:"logProbability"`
}

type topToken struct {
	Candidates []token `json:"candidates"`
}

type usage struct {
	Prompt        int       `json:"promptTokenCount"`
	Candidates    int       `json:"candidatesTokenCount,omitzero"`
	Total         int       `json:"totalTokenCount"`
	Cached        int       `json:"cachedContentTokenCount,omitzero"`
	PromptDetails []details `json:"promptTokensDetails"`
	Thoughts      int       `json:"thoughtsTokenCount,omitzero"`
	ServiceTier   string    `json:"serviceTier"`
}

type details struct {
	Modality string `json:"modality"`
	Count    int    `json:"tokenCount"`
}

// Google caches prompts of 1024 tokens or more by itself.
// Source: https://ai.google.dev/gemini-api/docs/caching
const cacheLeast = 1024

// usage counts the prompt; what is cached is part of it.
func (s *Service) usage(p *reply.Prompt) usage {
	read, _ := s.cache.Use(p, cacheLeast)
	return usage{
		Prompt: p.Tokens(), Total: p.Tokens(), Cached: read, ServiceTier: "standard", PromptDetails: modalities(p),
	}
}

// add counts thoughts apart from what is answered.
func (u *usage) add(thoughts, answered int) {
	u.Thoughts += thoughts
	u.Candidates += answered
	u.Total += thoughts + answered
}

// complete puts the candidates into the answer, each in one piece.
func (q *Request) complete(a answer, p *reply.Prompt) answer {
	for i := range q.candidates() {
		r := p.Reply(i)
		c := candidate{Index: i, Content: parts{Role: "model"}}
		c.FinishReason, c.FinishMessage = finish(r.End)
		if q.showsThoughts() && r.Reasoning != "" {
			c.Content.Parts = append(c.Content.Parts, rawjson.Object{"text", r.Reasoning, "thought", true})
		}
		if r.Text != "" {
			part := rawjson.Object{"text", r.Text}
			if q.signs() && len(r.Calls) == 0 {
				part = append(part, "thoughtSignature", q.sign(r.Text))
			}
			c.Content.Parts = append(c.Content.Parts, part)
			c.addLogprobs(q, r.Text)
		}
		imageTokens := 0
		if q.draws(r) {
			imageTokens = reply.MediaTokens
			c.Content.Parts = append(c.Content.Parts, image())
		}
		c.Content.Parts = append(c.Content.Parts, q.callParts(r)...)
		a.Candidates = append(a.Candidates, c)
		a.Usage.add(r.ReasoningTokens(), r.AnswerTokens()+imageTokens)
	}
	return a
}

// finish is STOP for calls too.
func finish(end reply.End) (reason, message string) {
	switch end {
	case reply.EndLength:
		return "MAX_TOKENS", ""
	case reply.EndCalls:
		return "STOP", "Model generated function call(s)."
	}
	return "STOP", ""
}

// callParts gives parallel calls one signature, on the first, and ids to models
// after Gemini 3. A call that was cut short is not sent.
func (q *Request) callParts(r reply.Reply) []rawjson.Object {
	var all []rawjson.Object
	for _, c := range r.Calls {
		if !c.Complete {
			break
		}
		call := rawjson.Object{"name", c.Name, "args", jsontext.Value(c.Arguments)}
		if Generation(q.Model) > 3 {
			call = append(call, "id", strings.ToLower(wire.NewID("")[:8]))
		}
		part := rawjson.Object{"functionCall", call}
		if len(all) == 0 && q.signs() {
			part = append(part, "thoughtSignature", q.sign(c.Name+c.Arguments))
		}
		all = append(all, part)
	}
	return all
}

func (q *Request) draws(r reply.Reply) bool {
	return q.MakesImages() && q.Config.MIMEType != "application/json" && len(r.Calls) == 0 && r.End == reply.EndTurn
}

// image is a PNG of one pixel.
func image() rawjson.Object {
	const data = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
	return rawjson.Object{"inlineData", rawjson.Object{"mimeType", "image/png", "data", data}}
}

// addLogprobs gives every token the probability 1: no other could have come.
func (c *candidate) addLogprobs(q *Request, text string) {
	if !q.Config.WantsLogprobs {
		return
	}
	certain := 0.0
	c.AvgLogprobs, c.Logprobs = &certain, &logprobs{}
	for _, t := range reply.Split(text) {
		one := token{Token: t}
		c.Logprobs.Chosen = append(c.Logprobs.Chosen, one)
		c.Logprobs.Top = append(c.Logprobs.Top, topToken{[]token{one}})
	}
}
