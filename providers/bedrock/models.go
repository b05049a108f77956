package bedrock

import (
	"context"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"modelgateway/api"
	"modelgateway/internal/cloudnames"
	"modelgateway/llm"
	"modelgateway/providers"
)

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

// profile is one of GET /inference-profiles: a model in several regions.
type profile struct {
	ID     string `json:"inferenceProfileId"`
	ARN    string `json:"inferenceProfileArn"`
	Type   string `json:"type"`
	Status string `json:"status"`
	Models []struct {
		ARN string `json:"modelArn"`
	} `json:"models"`
}

// listModels lists the models that can be called by their id, and the profiles of models.
func (p *Provider) listModels(ctx context.Context, key string) ([]providers.Listed, error) {
	var list struct {
		Models   []model   `json:"modelSummaries"`
		Profiles []profile `json:"inferenceProfileSummaries"`
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
	if err := p.get(ctx, key, "/inference-profiles?maxResults=1000", &list); err != nil { // all of them
		return nil, err
	}
	for _, of := range list.Profiles {
		if of.Status != active || len(of.Models) == 0 {
			continue
		}
		id := of.ID
		if of.Type == "APPLICATION" { // which is called by its ARN
			id = of.ARN
		}
		if kind := kinds[cloudnames.Base(of.Models[0].ARN)]; kind != "" && id != "" {
			all = append(all, providers.Listed{ID: id, Kind: kind})
		}
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
