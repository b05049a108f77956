// Package lists has public lists of models and their prices, reduced to what the
// catalogue takes from them. tools/lists makes them, and merges them into the facts of the catalogue.
package lists

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// List is a public list of models, reduced to the providers of the gateway.
type List struct {
	Name    string `json:"name"`
	Source  string `json:"source"` // address of the repository
	Commit  string `json:"commit"`
	Date    string `json:"date"` // of the commit
	Licence string `json:"licence"`
	Models  []Fact `json:"models"`
}

// Fact is what is known of a model. A member that is zero is not known.
type Fact struct {
	Provider   string   `json:"provider"`
	ID         string   `json:"id"`
	Aliases    []string `json:"aliases,omitempty"`
	Kind       string   `json:"kind,omitempty"`     // embedding; empty = chat
	Released   string   `json:"released,omitempty"` // day
	State      string   `json:"state,omitempty"`    // deprecated or retired; empty = active
	Ends       string   `json:"ends,omitempty"`     // the first day on which it is not served
	Successor  string   `json:"successor,omitempty"`
	Context    int64    `json:"context,omitempty"`    // tokens
	MaxOutput  int64    `json:"max_output,omitempty"` // tokens
	Input      []string `json:"input,omitempty"`      // modalities, such as text
	Output     []string `json:"output,omitempty"`
	Tools      *bool    `json:"tools,omitempty"`
	Structured *bool    `json:"structured,omitempty"` // takes a schema for its answer
	Reasoning  *bool    `json:"reasoning,omitempty"`
	Sampling   *bool    `json:"sampling,omitempty"` // takes a temperature
	Prices     []Price  `json:"prices,omitempty"`   // by their first days; one without a day is the first
}

// Price is in dollars per million tokens. Prices are numbers as their lists write
// them, so that no digit is lost.
type Price struct {
	From           string      `json:"from,omitempty"` // first day, UTC
	Input          json.Number `json:"input,omitempty"`
	Output         json.Number `json:"output,omitempty"`
	CacheRead      json.Number `json:"cache_read,omitempty"`
	CacheWrite     json.Number `json:"cache_write,omitempty"`
	CacheWriteHour json.Number `json:"cache_write_1h,omitempty"`
	Audio          json.Number `json:"audio,omitempty"` // of sounds in the prompt
	AudioCacheRead json.Number `json:"audio_cache_read,omitempty"`
	AudioOutput    json.Number `json:"audio_output,omitempty"`
	ImageOutput    json.Number `json:"image_output,omitempty"`
	WebSearch      json.Number `json:"web_search,omitempty"`        // dollars for a thousand searches
	SearchPrompt   json.Number `json:"web_search_prompt,omitempty"` // dollars for a thousand prompts with any number of searches
	FileSearch     json.Number `json:"file_search,omitempty"`       // dollars for a thousand searches of OpenAI's file search
	Priority       json.Number `json:"priority,omitempty"`          // factor of service_tier priority
	Flex           json.Number `json:"flex,omitempty"`              // factor of service_tier flex
	Batch          json.Number `json:"batch,omitempty"`             // factor of the provider's batch API
	Fast           json.Number `json:"fast,omitempty"`              // factor of Anthropic's speed fast
	US             json.Number `json:"us,omitempty"`                // factor of Anthropic's inference_geo us
	Over           int64       `json:"over,omitempty"`              // calls with more tokens in their prompt cost Above
	Above          *Price      `json:"above,omitempty"`
}

// Member is a number of a price, and its name.
type Member struct {
	Name  string
	Value *json.Number
}

// Members lists the numbers of a price.
func (p *Price) Members() []Member {
	return []Member{
		{"input", &p.Input}, {"output", &p.Output}, {"cache_read", &p.CacheRead}, {"cache_write", &p.CacheWrite},
		{"cache_write_1h", &p.CacheWriteHour}, {"audio", &p.Audio}, {"audio_cache_read", &p.AudioCacheRead},
		{"audio_output", &p.AudioOutput}, {"image_output", &p.ImageOutput}, {"web_search", &p.WebSearch},
		{"web_search_prompt", &p.SearchPrompt}, {"file_search", &p.FileSearch},
		{"priority", &p.Priority}, {"flex", &p.Flex}, {"batch", &p.Batch}, {"fast", &p.Fast}, {"us", &p.US},
	}
}

// Fill sets the numbers that are not known to those of another price.
func (p *Price) Fill(from *Price) {
	theirs := from.Members()
	for i, x := range p.Members() {
		*x.Value = cmp.Or(*x.Value, *theirs[i].Value)
	}
}

// variant is the end of a name that tells a version of the same model.
var variant = regexp.MustCompile(`-(\d{8}|\d{4}-\d\d-\d\d|\d{3}|preview-\d\d-\d{2,4}|latest|0)$`)

// Family is the name without the end that tells a version of the same model, such as
// a day; the name itself where there is none.
func Family(id string) string { return variant.ReplaceAllString(id, "") }

// Read reads a list, or the facts.
func Read(text []byte) (*List, error) {
	var l List
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l); err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	return &l, nil
}

// Write writes a list with a line for each model, so that changes are read as lines.
func (l *List) Write() ([]byte, error) {
	slices.SortFunc(l.Models, func(a, b Fact) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.ID, b.ID))
	})
	head := *l
	head.Models = nil
	text, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	out.WriteString(strings.TrimSuffix(string(text), "null}"))
	for i := range l.Models {
		line, err := json.Marshal(&l.Models[i])
		if err != nil {
			return nil, err
		}
		out.WriteString(map[bool]string{true: "[\n", false: ",\n"}[i == 0])
		out.Write(line)
	}
	out.WriteString("\n]}\n")
	return out.Bytes(), nil
}
