package bedrock

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"modelgateway/api"
	"modelgateway/internal/cloudnames"
	"modelgateway/llm"
	"modelgateway/providers"
)

// maxPages bounds how many pages of the list of profiles are read.
const maxPages = 20

const active = "ACTIVE"

// model is one of GET /foundation-models.
type model struct {
	ID     string   `json:"modelId"`
	Output []string `json:"outputModalities"`
	Called []string `json:"inferenceTypesSupported"`
	State  struct {
		Status string `json:"status"`
	} `json:"modelLifecycle"`
}

// profilePage is an answer of GET /inference-profiles. A profile is a model in several regions.
type profilePage struct {
	Profiles []struct {
		ID     string `json:"inferenceProfileId"`
		ARN    string `json:"inferenceProfileArn"`
		Type   string `json:"type"`
		Status string `json:"status"`
		Models []struct {
			ARN string `json:"modelArn"`
		} `json:"models"`
	} `json:"inferenceProfileSummaries"`
	Next string `json:"nextToken"`
}

// listModels lists the models that can be called by their id, and the profiles of models.
func (p *Provider) listModels(ctx context.Context, key string) ([]providers.Listed, error) {
	var list struct {
		Models []model `json:"modelSummaries"`
	}
	if err := p.get(ctx, key, "/foundation-models", &list); err != nil {
		return nil, err
	}
	var all []providers.Listed
	kinds := map[string]llm.Kind{}
	for _, m := range list.Models {
		if kind := m.kind(); kind != "" && m.State.Status == active {
			kinds[m.ID] = kind
			if slices.Contains(m.Called, "ON_DEMAND") {
				all = append(all, providers.Listed{ID: m.ID, Kind: kind})
			}
		}
	}
	query := "/inference-profiles?maxResults=1000"
	for range maxPages {
		var page profilePage
		if err := p.get(ctx, key, query, &page); err != nil {
			return nil, err
		}
		for _, profile := range page.Profiles {
			if profile.Status != active || len(profile.Models) == 0 {
				continue
			}
			id := profile.ID
			if profile.Type == "APPLICATION" {
				id = profile.ARN
			}
			if kind := kinds[cloudnames.Base(profile.Models[0].ARN)]; kind != "" && id != "" {
				all = append(all, providers.Listed{ID: id, Kind: kind})
			}
		}
		if page.Next == "" {
			break
		}
		query = "/inference-profiles?maxResults=1000&nextToken=" + url.QueryEscape(page.Next)
	}
	return all, nil
}

func (p *Provider) get(ctx context.Context, key, path string, into any) error {
	text, err := p.control.Get(ctx, key, path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into, api.Lenient); err != nil {
		return p.control.Malformed(err)
	}
	return nil
}

// kind is what a model is for; empty where it is none of the gateway's. The models for speech and
// for the order of texts say that they write texts.
func (m *model) kind() llm.Kind {
	switch {
	case strings.Contains(m.ID, "rerank"), strings.Contains(m.ID, "sonic"):
		return ""
	case slices.Contains(m.Output, "TEXT"):
		return llm.KindChat
	case slices.Contains(m.Output, "EMBEDDING"):
		return llm.KindEmbedding
	}
	return ""
}
