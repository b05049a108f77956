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
	Content       parts    `json:"content"`
	FinishReason  string   `json:"finishReason,omitzero"`
	Index         int      `json:"index"`
	FinishMessage string   `json:"finishMessage,omitzero"`
	AvgLogprobs   *float64 `json:"avgLogprobs,omitzero"`
	Logprobs      any      `json:"logprobsResult,omitzero"`
}

type parts struct {
	Parts []rawjson.Object `json:"parts,omitempty"`
	Role  string           `json:"role"`
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

// A piece is a part of a candidate with the tokens that it counts. One that is not shown has
// no part.
type piece struct {
	part               rawjson.Object
	thoughts, answered int
	tokens             []string // of a text
	called             bool
}

// pieces are a reply with its text in these pieces.
func (q *Request) pieces(r reply.Reply, texts []string) []piece {
	var all []piece
	if r.Reasoning != "" {
		thought := piece{thoughts: r.ReasoningTokens()}
		if q.showsThoughts() {
			thought.part = rawjson.Object{"text", r.Reasoning, "thought", true}
		}
		all = append(all, thought)
	}
	for _, text := range texts {
		tokens := reply.Split(text)
		all = append(all, piece{part: rawjson.Object{"text", text}, answered: len(tokens), tokens: tokens})
	}
	if q.draws(r) {
		all = append(all, piece{part: image(), answered: reply.MediaTokens})
	}
	for i, c := range r.Calls {
		call := piece{called: c.Complete, answered: 1 + reply.CountTokens(c.Arguments)}
		if c.Complete {
			call.part = q.call(c, i == 0)
		}
		all = append(all, call)
	}
	return all
}

// add adds a piece to the last candidate, and counts it.
func (a *answer) add(q *Request, p piece) {
	c := &a.Candidates[len(a.Candidates)-1]
	if p.part != nil {
		c.Content.Parts = append(c.Content.Parts, p.part)
	}
	a.Usage.Thoughts += p.thoughts
	a.Usage.Candidates += p.answered
	a.Usage.Total += p.thoughts + p.answered
	if !q.Config.WantsLogprobs || p.tokens == nil {
		return
	}
	certain := 0.0 // the probability 1: no other token could have come
	chosen, top := []rawjson.Object{}, []rawjson.Object{}
	for _, t := range p.tokens {
		one := rawjson.Object{"token", t, "logProbability", certain}
		chosen, top = append(chosen, one), append(top, rawjson.Object{"candidates", []rawjson.Object{one}})
	}
	c.AvgLogprobs, c.Logprobs = &certain, rawjson.Object{"chosenCandidates", chosen, "topCandidates", top}
}

// complete puts the candidates into the answer, each in one piece.
func (q *Request) complete(a answer, p *reply.Prompt) answer {
	for i := range q.candidates() {
		r := p.Reply(i)
		c := candidate{Index: i, Content: parts{Role: "model"}}
		c.FinishReason, c.FinishMessage = finish(r.End)
		a.Candidates = append(a.Candidates, c)
		var texts []string
		if r.Text != "" {
			texts = []string{r.Text}
		}
		for _, piece := range q.pieces(r, texts) {
			if piece.tokens != nil && q.signs() && len(r.Calls) == 0 {
				piece.part = append(piece.part, "thoughtSignature", q.sign(r.Text))
			}
			a.add(q, piece)
		}
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

// call gives the first of parallel calls a signature, and ids to models after Gemini 3.
func (q *Request) call(c reply.Call, first bool) rawjson.Object {
	call := rawjson.Object{"name", c.Name, "args", jsontext.Value(c.Arguments)}
	if Generation(q.Model) > 3 {
		call = append(call, "id", strings.ToLower(wire.NewID("")[:8]))
	}
	part := rawjson.Object{"functionCall", call}
	if first && q.signs() {
		part = append(part, "thoughtSignature", q.sign(c.Name+c.Arguments))
	}
	return part
}

func (q *Request) draws(r reply.Reply) bool {
	return q.MakesImages() && q.Config.MIMEType != "application/json" && len(r.Calls) == 0 && r.End == reply.EndTurn
}

// image is a PNG of one pixel.
func image() rawjson.Object {
	const data = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
	return rawjson.Object{"inlineData", rawjson.Object{"mimeType", "image/png", "data", data}}
}
