package gemini

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"modelgateway/llm"
	"modelgateway/providers"
)

// maxPages bounds how many pages of the list of models are read.
const maxPages = 20

// listModels asks for the list, all of its pages.
func (p *Provider) listModels(ctx context.Context, key string) ([]providers.Listed, error) {
	var all []providers.Listed
	query := "pageSize=1000"
	for range maxPages {
		page, err := p.models(ctx, key, query)
		if err != nil {
			return nil, err
		}
		for _, m := range page.Models {
			if kind := m.kind(); kind != "" {
				all = append(all, providers.Listed{
					ID: modelName(m.Name), Kind: kind, Context: m.InputTokenLimit, MaxOutput: m.OutputTokenLimit,
				})
			}
		}
		if page.NextPageToken == "" {
			return all, nil
		}
		query = "pageSize=1000&pageToken=" + url.QueryEscape(page.NextPageToken)
	}
	return all, nil
}

type modelPage struct {
	Models        []listedModel `json:"models"`
	NextPageToken string        `json:"nextPageToken"`
}

type listedModel struct {
	Name             string   `json:"name"`
	InputTokenLimit  int64    `json:"inputTokenLimit"`
	OutputTokenLimit int64    `json:"outputTokenLimit"`
	Methods          []string `json:"supportedGenerationMethods"`
}

func (p *Provider) models(ctx context.Context, key, query string) (*modelPage, error) {
	text, err := p.client.Get(ctx, key, "/v1beta/models?"+query)
	if err != nil {
		return nil, err
	}
	page := new(modelPage)
	if err := json.Unmarshal(text, page, lenient); err != nil {
		return nil, p.client.Malformed(err)
	}
	return page, nil
}

// otherKinds are parts of the ids of models that have the method but answer
// with sound only, or require tools of Google's in every request. The list
// itself does not tell them apart (seen 2026-08).
var otherKinds = []string{"-tts", "lyria-", "computer-use", "deep-research", "antigravity"}

// kind is what the model's methods say; empty where it is none of the gateway's.
func (m *listedModel) kind() llm.Kind {
	other := func(kind string) bool { return strings.Contains(m.Name, kind) }
	switch {
	case modelName(m.Name) == "" || slices.ContainsFunc(otherKinds, other):
		return ""
	case slices.Contains(m.Methods, "generateContent"):
		return llm.KindChat
	case slices.Contains(m.Methods, "embedContent"):
		return llm.KindEmbedding
	default:
		return ""
	}
}
