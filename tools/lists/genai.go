package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"modelgateway/catalog/lists"
)

// genaiFile is a file of pydantic/genai-prices, as far as it is read.
type genaiFile struct {
	Models []struct {
		ID      string    `yaml:"id"`
		Match   yaml.Node `yaml:"match"`
		Context int64     `yaml:"context_window"`
		Prices  yaml.Node `yaml:"prices"`
	} `yaml:"models"`
}

type genaiPrices struct {
	Constraint struct {
		Start string `yaml:"start_date"`
	} `yaml:"constraint"`
	Prices map[string]yaml.Node `yaml:"prices"`
}

// genaiPrice is a number, or a number and its tiers.
type genaiPrice struct {
	Base  json.Number `yaml:"base"`
	Tiers []struct {
		Start int64       `yaml:"start"`
		Price json.Number `yaml:"price"`
	} `yaml:"tiers"`
}

// genai reads a checkout of pydantic/genai-prices.
func genai(dir string) ([]lists.Fact, error) {
	var all []lists.Fact
	for file, provider := range map[string]string{"openai": "openai", "anthropic": "anthropic", "google": "gemini"} {
		text, err := os.ReadFile(filepath.Join(dir, "prices/providers", file+".yml"))
		if err != nil {
			return nil, err
		}
		var f genaiFile
		if err := yaml.Unmarshal(text, &f); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for _, m := range f.Models {
			if !wanted(provider, m.ID) {
				continue
			}
			fact := lists.Fact{Provider: provider, ID: m.ID, Context: m.Context, Aliases: genaiNames(&m.Match, provider, m.ID)}
			if fact.Prices, err = genaiPriceList(&m.Prices); err != nil {
				return nil, fmt.Errorf("%s: %w", m.ID, err)
			}
			all = append(all, fact)
		}
	}
	return all, nil
}

// otherSpelling is a name with a hyphen for the point of its version, which no
// provider takes.
var otherSpelling = regexp.MustCompile(`^gpt-\d-\d`)

// genaiNames are the other names that are listed literally.
func genaiNames(match *yaml.Node, provider, id string) []string {
	var names []string
	if match.Kind == yaml.MappingNode && match.Content[0].Value == "or" {
		for _, clause := range match.Content[1].Content {
			name := clause.Content[1].Value
			known := clause.Content[0].Value == "equals" && name != id && wanted(provider, name)
			if known && !otherSpelling.MatchString(name) && !strings.HasPrefix(name, "gpt-35") {
				names = append(names, name)
			}
		}
	}
	return names
}

func genaiPriceList(n *yaml.Node) ([]lists.Price, error) {
	dated := []genaiPrices{{}}
	var err error
	if n.Kind == yaml.SequenceNode {
		err = n.Decode(&dated)
	} else {
		err = n.Decode(&dated[0].Prices)
	}
	if err != nil {
		return nil, err
	}
	var all []lists.Price
	for _, d := range dated {
		p, err := genaiOne(d.Prices)
		if err != nil {
			return nil, err
		}
		p.From = d.Constraint.Start
		all = append(all, p)
	}
	return all, nil
}

func genaiOne(prices map[string]yaml.Node) (lists.Price, error) {
	var p, above lists.Price
	for member, at := range map[string]func(*lists.Price) *json.Number{
		"input_mtok":            func(p *lists.Price) *json.Number { return &p.Input },
		"output_mtok":           func(p *lists.Price) *json.Number { return &p.Output },
		"cache_read_mtok":       func(p *lists.Price) *json.Number { return &p.CacheRead },
		"cache_write_mtok":      func(p *lists.Price) *json.Number { return &p.CacheWrite },
		"cache_write_1h_mtok":   func(p *lists.Price) *json.Number { return &p.CacheWriteHour },
		"input_audio_mtok":      func(p *lists.Price) *json.Number { return &p.Audio },
		"cache_audio_read_mtok": func(p *lists.Price) *json.Number { return &p.AudioCacheRead },
		"output_audio_mtok":     func(p *lists.Price) *json.Number { return &p.AudioOutput },
		"output_image_mtok":     func(p *lists.Price) *json.Number { return &p.ImageOutput },
		"web_searches_kcount":   func(p *lists.Price) *json.Number { return &p.WebSearch },
	} {
		n, ok := prices[member]
		if !ok {
			continue
		}
		if n.Kind == yaml.ScalarNode {
			*at(&p), *at(&above) = number(n.Value), number(n.Value)
			continue
		}
		var tiered genaiPrice
		if err := n.Decode(&tiered); err != nil {
			return p, fmt.Errorf("%s: %w", member, err)
		}
		if len(tiered.Tiers) != 1 || p.Over != 0 && p.Over != tiered.Tiers[0].Start {
			return p, fmt.Errorf("%s: the tiers are not one for all members", member)
		}
		p.Over = tiered.Tiers[0].Start
		*at(&p), *at(&above) = number(tiered.Base.String()), number(tiered.Tiers[0].Price.String())
	}
	if p.Over > 0 {
		p.Above = &above
	}
	return p, nil
}

// number is a number without zeros at its end, so that two lists are compared as
// text.
func number(text string) json.Number {
	text = strings.ReplaceAll(text, "_", "")
	if strings.Contains(text, ".") {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	return json.Number(text)
}

func day(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	_, err := time.Parse(time.DateOnly, text)
	return text, err
}
