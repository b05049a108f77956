// Package embeddings is the dialect of OpenAI's embeddings API: vectors for texts.
package embeddings

import (
	"strconv"

	"modelgateway/api"
	"modelgateway/dialects/chat"
	"modelgateway/llm"
)

// Dialect is the embeddings API as one of the dialects.
func Dialect() *api.Dialect {
	return &api.Dialect{Decode: api.Decoder(Decode, nil), AppendAnswer: appendAnswer, AppendError: chat.AppendError}
}

// appendAnswer adds the JSON of an answer. One that a provider has translated is in Raw as
// llm.Vectors wrote it, whose memory it takes over: without the usage, which may be an estimate.
func appendAnswer(dst []byte, _ *llm.Request, a *llm.Answer) ([]byte, error) {
	if len(dst) == 0 {
		dst = a.Raw
	} else {
		dst = append(dst, a.Raw...)
	}
	var tokens int64
	if a.Usage != nil {
		tokens = a.Usage.Input
	}
	dst = strconv.AppendInt(append(dst, `,"usage":{"prompt_tokens":`...), tokens, 10)
	dst = strconv.AppendInt(append(dst, `,"total_tokens":`...), tokens, 10)
	return append(dst, `}}`...), nil
}
