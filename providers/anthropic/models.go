package anthropic

import (
	"context"
	"net/url"
	"time"

	"github.com/go-json-experiment/json"

	"modelgateway/api"
	"modelgateway/providers"
)

// maxPages bounds how many pages of the list of models are read.
const maxPages = 20

// modelPage is an answer of GET /v1/models.
type modelPage struct {
	Data    []listedModel `json:"data"`
	HasMore bool          `json:"has_more"`
	LastID  string        `json:"last_id"`
}

type listedModel struct {
	ID        string `json:"id"`
	CreatedAt string `json:"created_at"` // RFC 3339; 1970 where it is not known
	Lifecycle string `json:"lifecycle"`  // active, deprecated or retired
	Context   count  `json:"max_input_tokens"`
	MaxOutput count  `json:"max_tokens"`
}

// listModels lists the models that the upstream still serves. All of its models are
// chat models.
func (p *Provider) listModels(ctx context.Context, key string) ([]providers.Listed, error) {
	var models []providers.Listed
	after := ""
	for range maxPages {
		page, err := p.modelPage(ctx, key, after)
		if err != nil {
			return nil, err
		}
		for _, m := range page.Data {
			if m.ID != "" && m.Lifecycle != "retired" {
				models = append(models, m.listed())
			}
		}
		if !page.HasMore || page.LastID == "" || page.LastID == after {
			break
		}
		after = page.LastID
	}
	return models, nil
}

func (p *Provider) modelPage(ctx context.Context, key, after string) (*modelPage, error) {
	path := "/v1/models?limit=1000"
	if after != "" {
		path += "&after_id=" + url.QueryEscape(after)
	}
	text, err := p.client.Get(ctx, key, path)
	if err != nil {
		return nil, err
	}
	var page modelPage
	if err := json.Unmarshal(text, &page, api.Lenient); err != nil {
		return nil, p.client.Malformed(err)
	}
	if page.Data == nil {
		return nil, p.client.Malformed(errNoModels)
	}
	return &page, nil
}

func (m listedModel) listed() providers.Listed {
	l := providers.Listed{ID: m.ID, Context: m.Context.n, MaxOutput: m.MaxOutput.n}
	if at, err := time.Parse(time.RFC3339, m.CreatedAt); err == nil {
		l.Created = max(at.Unix(), 0)
	}
	return l
}
