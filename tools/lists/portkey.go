package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"modelgateway/catalog/lists"
)

// portkeyModel is an entry of Portkey-AI/models, as far as it is read: what a batch and
// hosted tools cost. Prices are in cents, for one token or one use.
type portkeyModel struct {
	Config struct {
		Usual portkeyPrice `json:"pay_as_you_go"`
		Batch portkeyPrice `json:"batch_config"`
	} `json:"pricing_config"`
}

type portkeyPrice struct {
	Input  cents `json:"request_token"`
	Output cents `json:"response_token"`
	Units  struct {
		WebSearch  cents `json:"web_search"`
		FileSearch cents `json:"file_search"`
	} `json:"additional_units"`
}

type cents struct {
	Price json.Number `json:"price"`
}

// shortPrompt is the end of the names of Gemini models: the list has each twice, for short
// and for long prompts.
const shortPrompt = "-lte-128k"

// portkey reads a checkout of Portkey-AI/models. A family has what one of its versions has.
func portkey(dir string) ([]lists.Fact, error) {
	var all []lists.Fact
	for file, provider := range map[string]string{"openai": "openai", "anthropic": "anthropic", "google": "gemini"} {
		text, err := os.ReadFile(filepath.Join(dir, "pricing", file+".json"))
		if err != nil {
			return nil, err
		}
		var models map[string]portkeyModel
		if err := json.Unmarshal(text, &models); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		families := map[string]lists.Price{}
		for _, name := range slices.Sorted(maps.Keys(models)) { // the family itself is the first of its versions
			id, short := strings.CutSuffix(name, shortPrompt)
			if provider == "gemini" && !short || !wanted(provider, id) {
				continue
			}
			model := models[name]
			known, price := families[lists.Family(id)], model.price(provider, id)
			known.Fill(&price)
			families[lists.Family(id)] = known
		}
		for id, p := range families {
			if p != (lists.Price{}) {
				all = append(all, lists.Fact{Provider: provider, ID: id, Prices: []lists.Price{p}})
			}
		}
	}
	return all, nil
}

// price has the factor and the fees. The list does not say that Google charges for each
// prompt with searches up to Gemini 2.5, and for each search since Gemini 3.
func (m *portkeyModel) price(provider, id string) lists.Price {
	usual, batch := &m.Config.Usual, &m.Config.Batch
	p := lists.Price{
		Batch:      factor(usual.Input.Price, usual.Output.Price, batch.Input.Price, batch.Output.Price),
		FileSearch: thousand(usual.Units.FileSearch),
	}
	if fee := thousand(usual.Units.WebSearch); provider == "gemini" && beforeGemini3.MatchString(id) {
		p.SearchPrompt = fee
	} else {
		p.WebSearch = fee
	}
	return p
}

var beforeGemini3 = regexp.MustCompile(`^gemini-[12]\.`)

// thousand is what a thousand uses cost, in dollars.
func thousand(one cents) json.Number { return times(one.Price, 1000/100) }
