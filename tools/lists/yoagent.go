package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"modelgateway/catalog/lists"
)

// yoagentPrice is an entry of yologdev/yoagent, as far as it is read.
type yoagentPrice struct {
	Input      json.Number `json:"input"`
	Output     json.Number `json:"output"`
	CacheRead  json.Number `json:"cache_read"`
	CacheWrite json.Number `json:"cache_write"`
	AtInput    bool        `json:"cache_write_at_input"` // it is not a price of its own
	Tiers      []struct {
		Over int64 `json:"above_prompt_tokens"`
		yoagentPrice
	} `json:"tiers"`
}

// yoagent reads a checkout of yologdev/yoagent.
func yoagent(dir string) ([]lists.Fact, error) {
	text, err := os.ReadFile(filepath.Join(dir, "src/provider/prices.json"))
	if err != nil {
		return nil, err
	}
	var file struct {
		Providers map[string]map[string]yoagentPrice `json:"providers"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	var all []lists.Fact
	for from, provider := range map[string]string{"openai": "openai", "anthropic": "anthropic", "google": "gemini"} {
		for id, p := range file.Providers[from] {
			if !wanted(provider, id) {
				continue
			}
			price := p.price()
			if len(p.Tiers) > 1 {
				return nil, fmt.Errorf("%s: more than one tier", id)
			}
			for _, tier := range p.Tiers {
				above := tier.price()
				if p.AtInput {
					above.CacheWrite = ""
				}
				price.Over, price.Above = tier.Over, &above
			}
			all = append(all, lists.Fact{Provider: provider, ID: id, Prices: []lists.Price{price}})
		}
	}
	return all, nil
}

func (p yoagentPrice) price() lists.Price {
	price := lists.Price{
		Input: number(p.Input.String()), Output: number(p.Output.String()), CacheRead: number(p.CacheRead.String()),
		CacheWrite: number(p.CacheWrite.String()),
	}
	if p.AtInput {
		price.CacheWrite = ""
	}
	return price
}
