package gemini

import "modelgateway/providers/simulator/reply"

// countTokens is the method that counts the tokens of a prompt: of contents, or of a whole
// request in the member generateContentRequest.
// Source: https://ai.google.dev/api/tokens
const countTokens = "countTokens"

type counted struct {
	Total   int       `json:"totalTokens"`
	Details []details `json:"promptTokensDetails"`
}

func count(p *reply.Prompt) counted { return counted{p.Tokens(), modalities(p)} }

// modalities are the tokens of a prompt by what they count.
func modalities(p *reply.Prompt) []details {
	media := p.MediaTokens()
	all := []details{{"TEXT", p.Tokens() - media}}
	if media > 0 {
		all = append(all, details{"IMAGE", media})
	}
	return all
}
