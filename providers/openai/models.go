package openai

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/openai/wire"
)

// listed is a model of GET /v1/models. OpenAI has only the first two members; the
// others are those of compatible servers.
type listed struct {
	ID      string `json:"id"`
	Created int64  `json:"created"`

	Type         string         `json:"type"`         // Together: chat, embedding, image and others; Mistral: base
	Active       *bool          `json:"active"`       // Groq
	Can          jsontext.Value `json:"capabilities"` // Mistral
	Architecture struct {
		Output []string `json:"output_modalities"` // OpenRouter
	} `json:"architecture"`

	Window     int64 `json:"context_window"`     // Groq, in tokens
	Length     int64 `json:"context_length"`     // Together, Fireworks, OpenRouter
	MaxLength  int64 `json:"max_context_length"` // Mistral, LM Studio
	MaxModel   int64 `json:"max_model_len"`      // vLLM
	Completion int64 `json:"max_completion_tokens"`
	Top        struct {
		Completion int64 `json:"max_completion_tokens"`
	} `json:"top_provider"` // OpenRouter
}

// listModels calls GET /v1/models.
func (p *Provider) listModels(ctx context.Context, key string) ([]providers.Listed, error) {
	text, err := p.client.Get(ctx, key, "/v1/models")
	if err != nil {
		return nil, err
	}
	var list struct {
		Data []listed `json:"data"`
	}
	into := any(&list)
	if jsontext.Value(text).Kind() == jsontext.KindBeginArray { // Together
		into = &list.Data
	}
	if err := json.Unmarshal(text, into, wire.Lenient); err != nil {
		return nil, p.client.Malformed(err)
	}
	var models []providers.Listed
	for i := range list.Data {
		m := &list.Data[i]
		kind := kindOf(m.ID, otherKinds)
		if p.server.ListsAll {
			kind = m.kind()
		}
		if kind != "" {
			models = append(models, providers.Listed{
				ID: m.ID, Kind: kind, Created: m.Created, Context: max(cmp.Or(m.Window, m.Length, m.MaxLength, m.MaxModel), 0),
				MaxOutput: max(cmp.Or(m.Completion, m.Top.Completion), 0),
			})
		}
	}
	return models, nil
}

// otherKinds are parts of the ids of OpenAI's models that answer neither chat
// completions nor embeddings.
var otherKinds = []string{
	"whisper", "tts", "dall-e", "image", "moderation", "realtime", "transcribe",
	"davinci", "babbage", "instruct", "sora", "computer-use", "deep-research", "codex", "-pro", "audio",
}

// otherVendorsKinds are such parts in lists of models of many vendors.
var otherVendorsKinds = []string{
	"whisper", "tts", "dall-e", "moderation", "transcribe", "ocr", "stable-diffusion", "flux", "rerank", "imagine",
}

// kindOf is what the id of a model says of its kind; empty where it is none of the
// gateway's.
func kindOf(id string, others []string) llm.Kind {
	id = strings.ToLower(id)
	if id == "" || slices.ContainsFunc(others, func(part string) bool { return strings.Contains(id, part) }) {
		return ""
	}
	if strings.Contains(id, "embed") {
		return llm.KindEmbedding
	}
	return llm.KindChat
}

// kind is what a model of a list of many vendors is for: by the members that say it,
// else by its id.
func (m *listed) kind() llm.Kind {
	var can struct {
		Chat *bool `json:"completion_chat"`
	}
	_ = json.Unmarshal(m.Can, &can, wire.Lenient) // of another form it says nothing
	kind := kindOf(m.ID, otherVendorsKinds)
	chat := kind == llm.KindChat
	switch {
	case m.Active != nil && !*m.Active, chat && can.Chat != nil && !*can.Chat:
		return ""
	case m.Type == "chat" || m.Type == "language" || m.Type == "code":
		return llm.KindChat
	case m.Type == "embedding":
		return llm.KindEmbedding
	case m.Type != "" && m.Type != "base" && m.Type != "model":
		return ""
	case chat && len(m.Architecture.Output) > 0 && !slices.Contains(m.Architecture.Output, "text"):
		return ""
	}
	return kind
}
