// Package catalog knows the models: the embedded catalogue, what an operator
// lays over it, and the rules that say which parameters a model takes.
package catalog

import (
	"slices"
	"time"
)

// The names of the providers, the same everywhere: health, owned_by, headers,
// folders.
const (
	Anthropic = "anthropic"
	OpenAI    = "openai"
	Gemini    = "gemini"
)

// Providers lists the names in the order they are shown.
func Providers() []string { return []string{Anthropic, OpenAI, Gemini} }

// The states of a model.
const (
	Active     = "active"
	Deprecated = "deprecated" // works today, has an end or a successor
	Retired    = "retired"    // its provider no longer serves it
)

// Model is one entry of the catalogue. It is a value that is passed by copy
// and never changed.
type Model struct {
	ID        string // what clients say
	Provider  string
	Upstream  string // what the provider calls it
	Created   int64  // Unix seconds
	Context   int64  // tokens, 0 when unknown
	MaxOutput int64  // tokens, 0 when unknown
	Price     Price
	Ends      time.Time // first day without it, UTC; zero when none is known
	Successor string    // id of the model that takes its place, or empty
	Fallbacks []string  // ids of the models that stand in when it cannot answer, in their order
	Traits    Traits

	state string // where the day of the end is not known
}

// State says how the model stands at a moment.
func (m Model) State(now time.Time) string {
	switch {
	case !m.Ends.IsZero() && !now.Before(m.Ends):
		return Retired
	case !m.Ends.IsZero():
		return Deprecated
	case m.state != "":
		return m.state
	default:
		return Active
	}
}

// The values of Traits.Sampling.
const (
	SamplingBoth = "both" // temperature and top_p
	SamplingOne  = "one"  // temperature or top_p, not both
	SamplingNone = "none" // any value but the default is refused
)

// The ways of Traits.Thinking.
const (
	ThinkBudget   = "budget"   // so many tokens
	ThinkAdaptive = "adaptive" // the model decides, an effort guides it
	ThinkLevel    = "level"    // Gemini's thinkingLevel
)

// The values of Traits.ThinkingDefault.
const (
	ThinkOff    = "off"
	ThinkOn     = "on"     // unless it is switched off
	ThinkAlways = "always" // cannot be switched off
)

// Traits say which parameters a model takes, so that no code has to look at
// names.
type Traits struct {
	MaxOutput      int64    `yaml:"max_output"` // tokens; where the entry has none
	Sampling       string   `yaml:"sampling"`
	MaxTemperature float64  `yaml:"max_temperature"` // 0 = the provider's usual bound
	Thinking       []string `yaml:"thinking"`        // the ways it can be asked to think, the best first
	ThinkingBy     string   `yaml:"thinking_default"`
	BudgetMin      int64    `yaml:"budget_min"` // tokens
	BudgetMax      int64    `yaml:"budget_max"` // tokens, 0 = no bound but the output's
	Efforts        []string `yaml:"efforts"`    // accepted effort words, in rising order
	Structured     bool     `yaml:"structured"` // takes a JSON schema for its answer
	Prefill        bool     `yaml:"prefill"`    // the conversation may end with the assistant
	ForcedTools    bool     `yaml:"forced_tools"`

	LimitField       string `yaml:"limit_field"`       // OpenAI: the one name its token limit has; empty = as the client wrote it
	SamplingThinking string `yaml:"sampling_thinking"` // OpenAI: Sampling while it reasons, where that differs

	OpenAPISchemas bool `yaml:"openapi_schemas"` // Gemini: knows only the OpenAPI subset
	CallIDs        bool `yaml:"call_ids"`        // Gemini: function calls have ids
	Signatures     bool `yaml:"signatures"`      // Gemini: refuses calls without their thought signature
	Images         bool `yaml:"images"`          // Gemini: makes pictures
	NoSystem       bool `yaml:"no_system"`       // Gemini: has no system instruction
}

// Thinks says whether the model can be asked to think in this way.
func (t Traits) Thinks(way string) bool { return slices.Contains(t.Thinking, way) }
