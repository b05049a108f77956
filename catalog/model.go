// Package catalog has the list of models: the embedded catalogue, merged with a file
// of the operator, and the rules that say which parameters a model takes.
package catalog

import (
	"slices"
	"strings"
	"time"

	"modelgateway/llm"
)

// The names of providers. They are the same everywhere: in the health report, in
// owned_by, in headers and in the names of folders.
const (
	Anthropic = "anthropic"
	OpenAI    = "openai"
	Gemini    = "gemini"
)

// The states of a model.
const (
	Active     = "active"
	Deprecated = "deprecated" // still served, and has an end or a successor
	Retired    = "retired"    // no longer served by its provider
)

// Model is one entry of the catalogue. It is passed by value and never changed.
type Model struct {
	ID        string // the name that clients request
	Provider  string
	Upstream  string // the provider's name of the model
	Guardrail string // ID:VERSION of the guardrail of Bedrock that checks its calls; empty: none
	Kind      llm.Kind
	Created   int64 // Unix seconds
	Released  int64 // Unix seconds, of the day; 0 when unknown: a provider's Created may be that of its list
	Context   int64 // tokens, 0 when unknown
	MaxOutput int64 // tokens, 0 when unknown
	Price     Price
	PriceOf   string   // the model whose price this is, where only its family has one; else empty
	Input     []string // modalities, such as text or image; nil when unknown
	Output    []string
	// Features are what a call can ask of it.
	Features Features
	// Embedded says that it is one of the catalogue that is part of the program, whose models are listed
	// whether or not they can be called.
	Embedded bool
	// Unlisted says that the list of models has it only where its provider lists it, or where
	// all models are listed.
	Unlisted bool
	// Dimensions are those of a model for embeddings; the zero value when unknown.
	Dimensions Dimensions
	Ends       time.Time // first day on which it is not served, UTC; zero when unknown
	Successor  string    // id of the model that replaces it, or empty
	Fallbacks  []string  // ids of the models that are tried, in this order, when it cannot answer
	Traits     Traits
	// Others are this model at further upstreams, in the order in which they are called
	// after this one, or by their weights; nil where there is one upstream.
	Others []Model
	Weight int64 // share of the calls among the upstreams; 0 = they are called in their order

	like  string // the model whose traits and facts it has; empty: Upstream
	state string // set where the day of the end is unknown
	later []datedPrice
}

// Features are what a model has; nil is what is not known.
type Features struct {
	Tools      *bool
	Structured *bool // takes a schema for its answer
	Reasoning  *bool
}

// withTraits adds what the rules say a model has. They do not say what one lacks: a rule may be for
// models that are not known.
func (f Features) withTraits(t Traits) Features {
	for _, trait := range []struct {
		feature **bool
		has     bool
	}{{&f.Tools, t.ForcedTools}, {&f.Structured, t.Structured}, {&f.Reasoning, len(t.Efforts) > 0 || t.Thinks(ThinkBudget)}} {
		if *trait.feature == nil && trait.has {
			*trait.feature = new(true)
		}
	}
	return f
}

// Dimensions are how many numbers the vectors of a model have.
type Dimensions struct {
	Default int64 `yaml:"default"`
	Min     int64 `yaml:"min"` // that a request can ask for
	Max     int64 `yaml:"max"`
}

func (d Dimensions) sound() bool {
	return d == Dimensions{} || d.Min > 0 && d.Min <= d.Default && d.Default <= d.Max
}

// datedPrice replaces the prices before it from a time on.
type datedPrice struct {
	from time.Time
	Price
}

// PriceAt is the price at a time.
func (m *Model) PriceAt(now time.Time) Price {
	price := m.Price
	for _, l := range m.later {
		if !now.Before(l.from) {
			price = l.Price
		}
	}
	return price
}

// NextPrice is the next price after that of a time, and from when on it holds.
func (m *Model) NextPrice(now time.Time) (from time.Time, price Price, ok bool) {
	for _, l := range m.later {
		if now.Before(l.from) {
			return l.from, l.Price, true
		}
	}
	return from, price, false
}

// GuardrailParts are the id and the version of Guardrail. An id may be an ARN, with colons of its own.
func (m *Model) GuardrailParts() (id, version string) {
	at := strings.LastIndexByte(m.Guardrail, ':')
	if at < 0 {
		return "", ""
	}
	return m.Guardrail[:at], m.Guardrail[at+1:]
}

// FullName is the name with the provider: provider/id.
func (m *Model) FullName() string { return m.Provider + "/" + m.ID }

// State is the state of the model at a time.
func (m *Model) State(now time.Time) string {
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
	SamplingNone = "none" // only the default values
)

// The values of Traits.Thinking.
const (
	ThinkBudget   = "budget"   // a number of tokens
	ThinkAdaptive = "adaptive" // the model decides; an effort guides it
	ThinkLevel    = "level"    // Gemini's thinkingLevel
	ThinkEffort   = "effort"   // OpenAI's reasoning_effort
)

// The values of Traits.ThinkingDefault.
const (
	ThinkOff    = "off"
	ThinkOn     = "on"     // unless it is disabled
	ThinkAlways = "always" // cannot be disabled
)

// The values of Traits.API. Where it is empty, nothing is known of the model: at OpenAI's own
// address it is called as with APIBoth, at others as with APIChat.
const (
	APIChat      = "chat"      // by chat completions
	APIBoth      = "both"      // by chat completions and by the Responses API, which takes more
	APIResponses = "responses" // by the Responses API
)

// Traits say which parameters a model takes, so that no code depends on the names
// of models.
type Traits struct {
	Kind           llm.Kind `yaml:"kind"`       // used where the entry has none; empty = chat
	MaxOutput      int64    `yaml:"max_output"` // tokens; used where the entry has none
	Sampling       string   `yaml:"sampling"`
	MaxTemperature float64  `yaml:"max_temperature"` // 0 = the provider's usual maximum
	Thinking       []string `yaml:"thinking"`        // how thinking can be requested, the preferred way first
	ThinkingBy     string   `yaml:"thinking_default"`
	BudgetMin      int64    `yaml:"budget_min"` // tokens
	BudgetMax      int64    `yaml:"budget_max"` // tokens; 0 = no maximum but MaxOutput
	Efforts        []string `yaml:"efforts"`    // accepted efforts, in ascending order
	Structured     bool     `yaml:"structured"` // accepts a JSON schema for its answer
	Prefill        bool     `yaml:"prefill"`    // the conversation may end with an assistant's message
	ForcedTools    bool     `yaml:"forced_tools"`

	API              string `yaml:"api"`               // OpenAI: which API serves the model; empty = not known
	ReasonsOrCalls   bool   `yaml:"reasons_or_calls"`  // OpenAI: chat completions take functions or reasoning, not both
	LimitField       string `yaml:"limit_field"`       // OpenAI: the member for the token limit; empty = the client's
	SamplingThinking string `yaml:"sampling_thinking"` // OpenAI: Sampling while the model reasons, where it differs
	Searches         bool   `yaml:"searches"`          // OpenAI: searches the web with each call, for a fee, and does not count it
	CacheBreakpoints bool   `yaml:"cache_breakpoints"` // OpenAI: takes marks of what of a prompt is to be cached

	OpenAPISchemas bool `yaml:"openapi_schemas"` // Gemini: accepts only the OpenAPI subset of JSON Schema
	CallIDs        bool `yaml:"call_ids"`        // Gemini: function calls have ids
	Signatures     bool `yaml:"signatures"`      // Gemini: rejects function calls without their thought signature
	Images         bool `yaml:"images"`          // Gemini: generates images
	FormatBeside   bool `yaml:"format_beside"`   // Gemini: accepts a format of its answer beside functions
	NoSystem       bool `yaml:"no_system"`       // Gemini: has no system instruction
}

// Thinks says whether thinking can be requested in this way.
func (t Traits) Thinks(way string) bool { return slices.Contains(t.Thinking, way) }
