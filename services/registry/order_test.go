package registry

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"modelgateway/catalog"
	"modelgateway/llm"
	"modelgateway/providers"
)

// cloud is a preset that sells Anthropic's models under their own names.
func cloud(name string) catalog.Preset {
	return catalog.Preset{
		Name: name, Type: catalog.Anthropic, On: true,
		Owner: func(id string) (string, string) { return catalog.Anthropic, id },
	}
}

func TestAPlainNameIsServedInTheOrderOfProviders(t *testing.T) {
	file := filepath.Join(t.TempDir(), "models.yaml")
	text := "models: [{id: claude-mine, upstreams: [{provider: vertex, upstream: claude-opus-5}, {provider: anthropic, upstream: claude-opus-5}]}]"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := catalog.Load(file, cloud("bedrock"), cloud("vertex"))
	if err != nil {
		t.Fatal(err)
	}
	const listed = "claude-of-bedrock"
	for _, tt := range []struct {
		name, order string
		configured  []string
		want        []string // its providers
	}{
		{"claude-opus-5", "anthropic bedrock vertex", []string{"anthropic", "bedrock", "vertex"}, []string{"anthropic", "bedrock", "vertex"}},
		{"claude-opus-5", "vertex anthropic", []string{"anthropic", "bedrock", "vertex"}, []string{"vertex", "anthropic"}},
		{"claude-opus-5", "anthropic bedrock vertex", []string{"bedrock", "vertex"}, []string{"bedrock", "vertex"}},
		{"claude-opus-5", "", []string{"anthropic", "bedrock"}, []string{"anthropic"}},
		{"claude-opus-5", "", []string{"bedrock"}, []string{"bedrock"}}, // its maker is not configured
		{"bedrock/claude-opus-5", "anthropic bedrock", []string{"anthropic", "bedrock"}, []string{"bedrock"}},
		{"bedrock/claude-opus-5", "", []string{"bedrock"}, []string{"bedrock"}},
		{"claude-mine", "anthropic bedrock vertex", []string{"anthropic", "vertex"}, []string{"vertex", "anthropic"}},
		{"gpt-5.2", "anthropic bedrock", []string{"openai", "anthropic", "bedrock"}, []string{"openai"}},
		{listed, "anthropic bedrock", []string{"anthropic", "bedrock"}, []string{"anthropic", "bedrock"}},
	} {
		m := New(list, func(provider string, kind llm.Kind) bool {
			return kind == llm.KindChat && slices.Contains(tt.configured, provider)
		}, func() time.Time { return november })
		m.Order = strings.Fields(tt.order)
		m.Found("bedrock", []providers.Listed{{ID: listed}})
		model, err := m.Resolve(tt.name)
		var got []string
		if err == nil && m.usable(model) {
			got = append(got, model.Provider)
			for _, other := range model.Others {
				got = append(got, other.Provider)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s with %v in the order %q: %v, want %v (%v)", tt.name, tt.configured, tt.order, got, tt.want, err)
		}
	}
}
