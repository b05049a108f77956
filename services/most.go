package services

import (
	"cmp"
	"encoding/base64"

	"modelgateway/models/api"
	"modelgateway/models/catalog"
	"modelgateway/providers"
)

// Bounds of what a request can come to. A token is at least one byte of text,
// in every vocabulary there is; the rest are the most that the providers charge.
const (
	mostPerMessage = 16
	mostOfTools    = 1024 // what a provider tells its model about tools
	mostOfRequest  = 256
	mostOfAnything = 1_000_000 // where not even the model's context is known
	mostAnswer     = 131_072   // where the model's longest answer is not known
)

// mostPerImage is what one picture costs at most, in tokens, by provider: with
// OpenAI a small model's tiles count for 33 times as many.
var mostPerImage = map[string]int64{catalog.OpenAI: 49_000, catalog.Anthropic: 5_000, catalog.Gemini: 5_000}

// mostTokens is at least what the request and its answers can come to with a
// route's model, in tokens.
func mostTokens(r *api.ChatRequest, to *route) (input, output int64) {
	bytes, images, bounded := weigh(r)
	input = bytes + images*mostPerImage[to.model.Provider] + mostOfRequest + mostPerMessage*int64(len(r.Messages))
	if len(r.Tools)+len(r.Functions) > 0 {
		input += mostOfTools
	}
	if context := cmp.Or(to.model.Context, mostOfAnything); !bounded || to.model.Context > 0 && input > context {
		input = context
	}
	return input, choices(r) * mostOutput(r, to)
}

// mostOutput is how long one answer can get.
func mostOutput(r *api.ChatRequest, to *route) int64 {
	if bounded, ok := to.exchange.(providers.Bounded); ok {
		if most := bounded.MostOutput(); most > 0 {
			return most
		}
	}
	most := cmp.Or(to.model.MaxOutput, mostAnswer)
	if limit := askedOutput(r); limit > 0 {
		return min(limit, max(most, to.model.MaxOutput))
	}
	return most
}

// askedOutput is the client's own bound of an answer; 0 is none.
func askedOutput(r *api.ChatRequest) int64 {
	switch {
	case r.MaxCompletionTokens != nil:
		return *r.MaxCompletionTokens
	case r.MaxTokens != nil:
		return *r.MaxTokens
	}
	return 0
}

func choices(r *api.ChatRequest) int64 {
	if r.N == nil {
		return 1
	}
	return max(*r.N, 1)
}

// usualTokens is about what a call comes to: four bytes a token, and an answer
// as long as the client allows, or as most are not.
func usualTokens(r *api.ChatRequest, model catalog.Model) int64 {
	const bytesPerToken, longAnswer = 4, 4096
	bytes, images, _ := weigh(r)
	output := askedOutput(r)
	if output == 0 {
		output = min(longAnswer, cmp.Or(model.MaxOutput, longAnswer))
	}
	return bytes/bytesPerToken + images*tokensPerMedia + choices(r)*output
}

// weigh counts the bytes of a request's texts, which its JSON has no fewer of,
// and its pictures. It is not bounded by its bytes when a file is among it: a
// few of them can be many pages.
func weigh(r *api.ChatRequest) (bytes, images int64, bounded bool) {
	bytes, bounded = int64(len(r.Raw)), true
	for i := range r.Messages {
		for j := range r.Messages[i].Content.Parts {
			p := &r.Messages[i].Content.Parts[j]
			switch {
			case p.ImageURL != nil:
				images++
				bytes -= int64(len(p.ImageURL.URL))
			case p.InputAudio != nil: // some 32 tokens a second, of at least so many bytes
				bytes -= int64(len(p.InputAudio.Data) - base64.StdEncoding.DecodedLen(len(p.InputAudio.Data))/8)
			case p.File != nil:
				bounded = false
			}
		}
		images += int64(len(r.Messages[i].Images))
	}
	return max(bytes, 0), images, bounded
}
