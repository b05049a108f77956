package litellm

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// modelsFile is the file of MODELS_FILE, as package catalog reads it.
type modelsFile struct {
	Providers []*provider       `yaml:"providers,omitempty"`
	Models    []entry           `yaml:"models,omitempty"`
	Aliases   map[string]string `yaml:"aliases,omitempty"`
}

// provider is a server with a name.
type provider struct {
	Name      string `yaml:"name"`
	server    `yaml:",inline"`
	Discovery bool    `yaml:"discovery"` // its list of models is read, and all of them may be called
	Models    []entry `yaml:"models,omitempty"`
}

// server says where and how a provider is called.
type server struct {
	Preset   string            `yaml:"preset,omitempty"`
	Type     string            `yaml:"type,omitempty"`
	BaseURL  string            `yaml:"base_url,omitempty"`
	Facts    string            `yaml:"facts,omitempty"`
	Keys     map[string]string `yaml:"keys,omitempty,flow"`
	Region   string            `yaml:"region,omitempty"`
	Project  string            `yaml:"project,omitempty"`
	Auth     any               `yaml:"auth,omitempty,flow"`
	Headers  map[string]string `yaml:"headers,omitempty,flow"`
	Timeouts map[string]string `yaml:"timeouts,omitempty,flow"`
}

// entry is a model, or one of its upstreams.
type entry struct {
	ID        string             `yaml:"id,omitempty"`
	Kind      string             `yaml:"kind,omitempty"`
	Context   int64              `yaml:"context,omitempty"`
	MaxOutput int64              `yaml:"max_output,omitempty"`
	State     string             `yaml:"state,omitempty"`
	Provider  string             `yaml:"provider,omitempty"`
	Upstream  string             `yaml:"upstream,omitempty"`
	Weight    int64              `yaml:"weight,omitempty"`
	Price     map[string]float64 `yaml:"price,omitempty"`
	Like      string             `yaml:"like,omitempty"`
	Upstreams []entry            `yaml:"upstreams,omitempty"`

	original string // the model in LiteLLM's configuration
}

// MarshalYAML writes an entry in one line, and its original as a comment.
func (e entry) MarshalYAML() (any, error) {
	type plain entry
	var node yaml.Node
	err := node.Encode(plain(e))
	if e.Upstreams == nil {
		node.Style, node.LineComment = yaml.FlowStyle, oneLine(e.original)
	}
	return &node, err
}

// text is the file, with comments at its beginning.
func (f *modelsFile) text(comments string) (string, error) {
	var text strings.Builder
	text.WriteString("# The models of LiteLLM. The comment behind an entry is its model there.\n" + comments)
	encoder := yaml.NewEncoder(&text)
	const spaces = 2
	encoder.SetIndent(spaces)
	err := encoder.Encode(f)
	return text.String(), err
}
