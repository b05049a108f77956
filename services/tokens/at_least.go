package tokens

import "modelgateway/llm"

// What a prompt has of tokens for Anthropic's models besides those of Prompt. The numbers are
// from recorded calls (docs/adr/0098-tokens-counted-or-estimated.md).
const (
	claudePercent  = 140  // of the tokens
	claudeTools    = 530  // the instructions about tools
	claudeThinking = 40   // the instructions about thinking
	claudeOpaque   = 2500 // a tool that runs at Anthropic, or a file
	claudeMedia    = 600  // each picture, sound or file
)

// AtLeast estimates the tokens of a request whose provider has not counted them. claude:
// its model has Anthropic's vocabulary, which makes more tokens of a text than OpenAI's;
// then the estimate is rather too large than too small, since agents shorten their prompts
// by it. It is never 0, also with an error.
func (e *Estimator) AtLeast(r *llm.Request, claude bool) (int64, error) {
	size := r.Source.Size()
	n, err := e.Prompt(r)
	if err != nil {
		const bytesPerToken = 3
		n = size.Bytes/bytesPerToken + 1
	}
	if claude {
		n = ofClaude(n, &size, r.Thinking)
	}
	return n, err
}

// ofClaude are the tokens of a prompt for Anthropic's models that has n of OpenAI's vocabulary.
func ofClaude(n int64, size *llm.Size, thinking *llm.Thinking) int64 {
	n = n*claudePercent/100 + claudeMedia*int64(size.Media)
	if size.Tools > 0 {
		n += claudeTools
	}
	if size.Opaque || size.Hosted {
		n += claudeOpaque
	}
	if thinking != nil && thinking.Type != "" && thinking.Type != "disabled" {
		n += claudeThinking
	}
	return n
}
