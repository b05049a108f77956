// Package tokens bounds and estimates how many tokens a call comes to.
package tokens

import (
	"cmp"
	"encoding/base64"
	"net/url"
	"path"
	"slices"
	"strings"

	"modelgateway/models/api"
	"modelgateway/models/catalog"
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

// Most is at least what the request and its answers can come to with a
// model, in tokens. bound is that of one answer, where its provider was told
// one; 0 = it was not.
func Most(r *api.ChatRequest, model catalog.Model, bound int64) (input, output int64) {
	bytes, images, bounded := weigh(r, model.Provider)
	input = bytes + images*mostPerImage[model.Provider] + mostOfRequest + mostPerMessage*int64(len(r.Messages))
	if len(r.Tools)+len(r.Functions) > 0 || r.ResponseFormat != nil { // which can become a tool
		input += mostOfTools
	}
	if !bounded {
		input = max(input, mostOfAnything)
	}
	if context := model.Context; context > 0 && (input > context || !bounded) {
		input = context
	}
	return input, choices(r) * mostOutput(r, model, bound)
}

// mostOutput is how long one answer can get.
func mostOutput(r *api.ChatRequest, model catalog.Model, bound int64) int64 {
	if bound > 0 {
		return bound
	}
	limit, most := askedOutput(r), model.MaxOutput
	if limit > 0 && most > 0 {
		return min(limit, most)
	}
	return cmp.Or(limit, most, mostAnswer)
}

// askedOutput is the client's own bound of an answer; 0 is none. Where it gives
// two, it is the one that holds less: a compatible server may know only that.
func askedOutput(r *api.ChatRequest) (most int64) {
	for _, limit := range []*int64{r.MaxCompletionTokens, r.MaxTokens} {
		if limit != nil {
			most = max(most, *limit)
		}
	}
	return most
}

func choices(r *api.ChatRequest) int64 {
	if r.N == nil {
		return 1
	}
	return max(*r.N, 1)
}

// Usual is about what a call comes to: four bytes a token, and an answer
// as long as the client allows, or as most are not.
func Usual(r *api.ChatRequest, model catalog.Model) int64 {
	const bytesPerToken, longAnswer = 4, 4096
	bytes, images, _ := weigh(r, model.Provider)
	output := askedOutput(r)
	if output == 0 {
		output = min(longAnswer, cmp.Or(model.MaxOutput, longAnswer))
	}
	return bytes/bytesPerToken + images*tokensPerMedia + choices(r)*output
}

// weigh counts the bytes of a request's texts, which its JSON has no fewer of,
// and its pictures. It is not bounded by its bytes when a file is among it: a
// few of them can be many pages.
func weigh(r *api.ChatRequest, provider string) (bytes, images int64, bounded bool) {
	bytes, bounded = int64(len(r.Raw)), true
	for i := range r.Messages {
		m := &r.Messages[i]
		for j := range m.Content.Parts {
			p := &m.Content.Parts[j]
			switch {
			case p.ImageURL != nil:
				images++
				bytes -= int64(len(p.ImageURL.URL))
				bounded = bounded && isPicture(p.ImageURL.URL, provider)
			case p.InputAudio != nil: // some 32 tokens a second, of at least so many bytes
				bytes -= int64(len(p.InputAudio.Data) - base64.StdEncoding.DecodedLen(len(p.InputAudio.Data))/8)
			case p.File != nil:
				bounded = false
			}
		}
		if api.Given(m.Audio) { // only the id of a sound, that OpenAI has kept
			bounded = false
		}
		images += int64(len(m.Images))
		for j := range m.Images {
			bounded = bounded && isPicture(m.Images[j].ImageURL.URL, provider)
		}
	}
	return max(bytes, 0), images, bounded
}

// isPicture says whether a provider can take the address of a picture for
// nothing else. Gemini takes films, sounds and documents by the same way, and of
// a link that does not say it looks what is there.
func isPicture(address, provider string) bool {
	if provider != catalog.Gemini {
		return true
	}
	if kind, ok := strings.CutPrefix(address, "data:"); ok {
		return len(kind) > len("image/") && strings.EqualFold(kind[:len("image/")], "image/")
	}
	u, err := url.Parse(address)
	return err == nil && slices.Contains(pictures, strings.ToLower(path.Ext(u.Path)))
}

// pictures are how the names of pictures end.
var pictures = []string{".png", ".jpg", ".jpeg", ".webp", ".gif", ".heic", ".heif", ".bmp"}
