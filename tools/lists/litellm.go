package main

import (
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"

	"modelgateway/catalog/lists"
)

// litellmModel is an entry of LiteLLM's price map, as far as it is read: what a service
// tier, a batch, a speed and a search cost, for which most other lists have no member.
type litellmModel struct {
	Provider       string      `json:"litellm_provider"`
	Input          json.Number `json:"input_cost_per_token"`
	Output         json.Number `json:"output_cost_per_token"`
	InputPriority  json.Number `json:"input_cost_per_token_priority"`
	OutputPriority json.Number `json:"output_cost_per_token_priority"`
	InputFlex      json.Number `json:"input_cost_per_token_flex"`
	OutputFlex     json.Number `json:"output_cost_per_token_flex"`
	InputBatch     json.Number `json:"input_cost_per_token_batches"`
	OutputBatch    json.Number `json:"output_cost_per_token_batches"`
	Search         struct {
		Medium json.Number `json:"search_context_size_medium"` // dollars; the size is OpenAI's, and medium where none is asked for
	} `json:"search_context_cost_per_query"`
	SearchUnit string `json:"web_search_billing_unit"`
	Specific   struct {
		Fast json.Number `json:"fast"`
		US   json.Number `json:"us"`
	} `json:"provider_specific_entry"`
}

// litellm reads a checkout of a repository with LiteLLM's price map.
func litellm(dir string) ([]lists.Fact, error) {
	text, err := os.ReadFile(filepath.Join(dir, "model_prices_and_context_window.json"))
	if err != nil {
		return nil, err
	}
	var models map[string]json.RawMessage
	if err := json.Unmarshal(text, &models); err != nil {
		return nil, err
	}
	delete(models, "last_updated") // a day, which the copy has added
	var all []lists.Fact
	for id, entry := range models {
		var m litellmModel
		if err := json.Unmarshal(entry, &m); err != nil {
			return nil, fmt.Errorf("%s: %w", id, err)
		}
		id = strings.TrimPrefix(id, m.Provider+"/")
		if !wanted(m.Provider, id) || lists.Family(id) != id { // a version costs what its family costs
			continue
		}
		p := lists.Price{
			Priority: factor(m.Input, m.Output, m.InputPriority, m.OutputPriority),
			Flex:     factor(m.Input, m.Output, m.InputFlex, m.OutputFlex),
			Batch:    factor(m.Input, m.Output, m.InputBatch, m.OutputBatch),
			Fast:     number(m.Specific.Fast.String()), US: number(m.Specific.US.String()),
		}
		if fee := times(m.Search.Medium, 1000); m.Provider == "gemini" && m.SearchUnit != "per_query" {
			p.SearchPrompt = fee
		} else {
			p.WebSearch = fee
		}
		if p != (lists.Price{}) {
			all = append(all, lists.Fact{Provider: m.Provider, ID: id, Prices: []lists.Price{p}})
		}
	}
	return all, nil
}

// factor is how many times a tier costs the usual price; empty where input and output
// differ in that, since then one of the numbers is wrong, and where the tier has no price
// of its own. Embeddings have no output.
func factor(input, output, tierInput, tierOutput json.Number) json.Number {
	x, y := quotient(tierInput, input), quotient(tierOutput, output)
	if quotient(output, "1") == "" {
		y = x
	}
	if x == "" || x == "1" || x != y {
		return ""
	}
	return x
}

// quotient is empty where a number is missing or 0. Six digits are exact enough: some
// numbers of the lists have been rounded by a computer.
func quotient(a, b json.Number) json.Number {
	x, ok := new(big.Rat).SetString(a.String())
	y, also := new(big.Rat).SetString(b.String())
	if !ok || !also || x.Sign() == 0 || y.Sign() == 0 {
		return ""
	}
	const digits = 6
	return number(x.Quo(x, y).FloatString(digits))
}

// times is a number so many times; empty where it is missing or 0.
func times(n json.Number, factor int64) json.Number {
	return quotient(n, json.Number(big.NewRat(1, factor).RatString()))
}
