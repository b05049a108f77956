// Package tokens bounds and estimates how many tokens a call comes to.
package tokens

import (
	"cmp"
	"net/url"
	"path"
	"slices"
	"strings"

	"modelgateway/models/catalog"
	"modelgateway/models/llm"
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
func Most(r *llm.Request, model catalog.Model, bound int64) (input, output int64) {
	size := r.Source.Size()
	bounded := isBounded(&size, model.Provider)
	input = size.Bytes + int64(len(size.Images))*mostPerImage[model.Provider] + mostOfRequest + mostPerMessage*int64(size.Messages)
	if size.Tools > 0 || size.Shaped { // a format can become a tool
		input += mostOfTools
	}
	if !bounded {
		input = max(input, mostOfAnything)
	}
	if context := model.Context; context > 0 && (input > context || !bounded) {
		input = context
	}
	return input, max(r.Choices, 1) * mostOutput(r, model, bound)
}

// mostOutput is how long one answer can get.
func mostOutput(r *llm.Request, model catalog.Model, bound int64) int64 {
	if bound > 0 {
		return bound
	}
	limit, most := r.OutputLimit, model.MaxOutput
	if limit > 0 && most > 0 {
		return min(limit, most)
	}
	return cmp.Or(limit, most, mostAnswer)
}

// Usual is about what a call comes to: four bytes a token, and an answer
// as long as the client allows, or as most are not.
func Usual(r *llm.Request, model catalog.Model) int64 {
	const bytesPerToken, longAnswer = 4, 4096
	size := r.Source.Size()
	output := r.OutputLimit
	if output == 0 {
		output = min(longAnswer, cmp.Or(model.MaxOutput, longAnswer))
	}
	return size.Bytes/bytesPerToken + int64(len(size.Images))*tokensPerMedia + max(r.Choices, 1)*output
}

// isBounded says whether the bytes of a prompt bound its tokens. A file does not
// count by its bytes: a few of them can be many pages.
func isBounded(size *llm.Size, provider string) bool {
	return !size.Opaque && !slices.ContainsFunc(size.Images, func(address string) bool { return !isPicture(address, provider) })
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
