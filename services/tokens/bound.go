// Package tokens computes upper bounds and estimates of the tokens of a call.
package tokens

import (
	"cmp"
	"slices"

	"modelgateway/catalog"
	"modelgateway/llm"
	"modelgateway/providers"
)

// Upper bounds, in tokens. A token is at least one byte of text in every
// vocabulary; the following are what providers add to that at most.
const (
	maxPerMessage = 16
	maxForTools   = 1024 // the provider's own instructions about tools
	maxPerRequest = 256
	maxContext    = 1_000_000 // of a model whose context window is not known
	maxAnswer     = 131_072   // of a model whose longest answer is not known
)

// Bounds are what a provider makes of a request.
type Bounds struct {
	Images providers.Images
	Hosts  bool  // it speaks the client's dialect: it runs the tools that are its own
	Output int64 // the limit of one answer in its request; 0 = none
}

// Max is an upper bound of the tokens that the request and its answers take with
// a model.
func Max(r *llm.Request, model *catalog.Model, of Bounds) (input, output int64) {
	size, images := r.Source.Size(), of.Images
	bytesBound := bounded(&size, of)
	input = size.Bytes + int64(len(size.Images))*images.MaxTokens + maxPerRequest + maxPerMessage*int64(size.Messages)
	if size.Tools > 0 || size.Shaped { // a response format is sent as a tool to some providers
		input += maxForTools
	}
	if !bytesBound {
		input = max(input, maxContext)
	}
	if context := contextOf(r, model, &size); context > 0 && (input > context || !bytesBound) {
		input = context
	}
	return input, max(r.Choices, 1) * (maxOutput(r, model, of.Output) + size.Predicted)
}

// contextOf is the most tokens that a model reads of a request; 0 when unknown. One for
// vectors reads each text by itself.
func contextOf(r *llm.Request, model *catalog.Model, size *llm.Size) int64 {
	if r.Kind.Writes() {
		return model.Context
	}
	return model.Context * int64(max(size.Messages, 1))
}

// maxOutput is an upper bound of one answer's tokens.
func maxOutput(r *llm.Request, model *catalog.Model, limit int64) int64 {
	if !r.Kind.Writes() {
		return 0
	}
	if limit > 0 {
		return limit
	}
	asked, longest := r.OutputLimit, model.MaxOutput
	if asked > 0 && longest > 0 {
		return min(asked, longest)
	}
	return cmp.Or(asked, longest, maxAnswer)
}

// Expected is a rough estimate of a call's tokens for the rate limit, which
// reserves them before the call: four bytes a token, and an answer as long as the
// client allows, or of 4096 tokens. A wish for more than that is not what an agent
// expects: it asks for all that a model can write. Answers that are not written have none.
func Expected(r *llm.Request, model *catalog.Model) int64 {
	const bytesPerToken, longAnswer = 4, 4096
	size := r.Source.Size()
	var output int64
	if r.Kind.Writes() {
		usual := min(longAnswer, cmp.Or(model.MaxOutput, longAnswer))
		if output = cmp.Or(r.OutputLimit, usual); r.OutputWish {
			output = min(output, usual)
		}
	}
	return size.Bytes/bytesPerToken + int64(len(size.Images))*tokensPerMedia + max(r.Choices, 1)*output
}

// bounded says whether the bytes of a prompt bound its tokens. Those of a file
// do not: a few bytes can be many pages.
func bounded(size *llm.Size, of Bounds) bool {
	hosted := size.Hosted && of.Hosts
	return !size.Opaque && !hosted && !hasFilms(size, of.Images.IsImage)
}

// Unseen is how many tokens are expected of what is not in the bytes of a request: pages of files, films,
// and what tools of the provider find, or it has kept. estimated are the tokens of its texts.
func Unseen(r *llm.Request, estimated int64, of Bounds) (n int64) {
	const (
		shortFile    = 8_000 // a few pages, or a file of which only the id is known
		bytesOfToken = 3     // of a file in base64; pages of text are packed, and pictures have more
		textOfToken  = 4
		found        = 10_000
	)
	size := r.Source.Size()
	if size.Opaque || hasFilms(&size, of.Images.IsImage) {
		n = max(shortFile, (size.Bytes-estimated*textOfToken)/bytesOfToken)
	}
	if size.Hosted && of.Hosts {
		n += found
	}
	return n
}

// hasFilms says whether the address of an image may be that of a film.
func hasFilms(size *llm.Size, isImage func(address string) bool) bool {
	return isImage != nil && slices.ContainsFunc(size.Images, func(address string) bool { return !isImage(address) })
}

// MaySound says whether a prompt may have tokens of sounds for a provider whose bounds
// of pictures are images.
func MaySound(size *llm.Size, images providers.Images) bool {
	return size.Sounds > 0 || hasFilms(size, images.IsImage)
}
