package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"modelgateway/catalog/lists"
)

// devModel is a file of models.dev, as far as it is read.
type devModel struct {
	Base        string  `toml:"base_model"` // a file with the members that this one does not set
	Released    string  `toml:"release_date"`
	Status      string  `toml:"status"`
	Tools       *bool   `toml:"tool_call"`
	Structured  *bool   `toml:"structured_output"`
	Reasoning   *bool   `toml:"reasoning"`
	Temperature *bool   `toml:"temperature"`
	Cost        devCost `toml:"cost"`
	Limit       struct {
		Context int64 `toml:"context"`
		Output  int64 `toml:"output"`
	} `toml:"limit"`
	Modalities struct {
		Input  []string `toml:"input"`
		Output []string `toml:"output"`
	} `toml:"modalities"`
	Experimental struct {
		Modes map[string]struct {
			Cost     devCost `toml:"cost"`
			Provider struct {
				Body map[string]any `toml:"body"`
			} `toml:"provider"`
		} `toml:"modes"`
	} `toml:"experimental"`
}

type devCost struct {
	Input       float64 `toml:"input"`
	Output      float64 `toml:"output"`
	CacheRead   float64 `toml:"cache_read"`
	CacheWrite  float64 `toml:"cache_write"`
	InputAudio  float64 `toml:"input_audio"`
	OutputAudio float64 `toml:"output_audio"`
	Tiers       []struct {
		Tier struct {
			Size int64 `toml:"size"`
		} `toml:"tier"`
		devCost
	} `toml:"tiers"`
}

// modelsDev reads a checkout of models.dev.
func modelsDev(dir string) ([]lists.Fact, error) {
	var all []lists.Fact
	for folder, provider := range map[string]string{"openai": "openai", "anthropic": "anthropic", "google": "gemini"} {
		files, err := filepath.Glob(filepath.Join(dir, "providers", folder, "models", "*.toml"))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			id := strings.TrimSuffix(filepath.Base(file), ".toml")
			if !wanted(provider, id) {
				continue
			}
			fact, err := devFact(dir, file)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", id, err)
			}
			fact.Provider, fact.ID = provider, id
			if slices.Contains(fact.Output, "text") || strings.Contains(id, "embedding") {
				all = append(all, fact)
			}
		}
	}
	return all, nil
}

func devFact(dir, file string) (lists.Fact, error) {
	var m devModel
	if err := readTOML(file, &m); err != nil {
		return lists.Fact{}, err
	}
	if m.Base != "" {
		merged := devModel{}
		if err := readTOML(filepath.Join(dir, "models", m.Base+".toml"), &merged); err != nil {
			return lists.Fact{}, err
		}
		if err := readTOML(file, &merged); err != nil { // what it sets replaces that of the base
			return lists.Fact{}, err
		}
		m = merged
	}
	released, err := day(m.Released)
	if err != nil {
		return lists.Fact{}, err
	}
	f := lists.Fact{
		Released: released, State: m.Status, Context: m.Limit.Context, MaxOutput: m.Limit.Output,
		Input: m.Modalities.Input, Output: m.Modalities.Output,
		Tools: m.Tools, Structured: m.Structured, Reasoning: m.Reasoning, Sampling: m.Temperature,
	}
	if m.Cost.Input > 0 || m.Cost.Output > 0 {
		price := m.Cost.price()
		for _, mode := range m.Experimental.Modes {
			if mode.Provider.Body["service_tier"] == "priority" && m.Cost.Input > 0 {
				price.Priority = dollars(mode.Cost.Input / m.Cost.Input)
			}
		}
		f.Prices = []lists.Price{price}
	}
	return f, nil
}

func (c devCost) price() lists.Price {
	p := lists.Price{
		Input: dollars(c.Input), Output: dollars(c.Output), CacheRead: dollars(c.CacheRead), CacheWrite: dollars(c.CacheWrite),
		Audio: dollars(c.InputAudio), AudioOutput: dollars(c.OutputAudio),
	}
	if len(c.Tiers) > 0 {
		above := c.Tiers[0].price()
		p.Over, p.Above = c.Tiers[0].Tier.Size, &above
	}
	return p
}

func dollars(n float64) json.Number {
	if n == 0 {
		return ""
	}
	return json.Number(strconv.FormatFloat(n, 'f', -1, 64))
}

func readTOML(file string, into any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return toml.Unmarshal(text, into)
}
