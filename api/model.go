package api

import (
	"github.com/go-json-experiment/json"

	"modelgateway/llm"
)

// The values of an object field.
const (
	ObjectModel = "model"
	ObjectList  = "list"
	ObjectUser  = "user"
	ObjectKey   = "api_key"
)

// ModelList is the answer of GET /v1/models.
type ModelList struct {
	Object     string  `json:"object"`
	Data       []Model `json:"data"`
	PricesDate string  `json:"prices_date,omitzero"` // the day of the newest list of prices
}

// Model is one model of the catalogue as clients see it. OwnedBy is the name
// of its provider.
type Model struct {
	ID         string   `json:"id"`
	Object     string   `json:"object"`
	Created    int64    `json:"created"` // Unix seconds
	OwnedBy    string   `json:"owned_by"`
	Permission []string `json:"permission"`
	Root       string   `json:"root"`
	Parent     *string  `json:"parent"`

	Kind            llm.Kind `json:"kind"`
	Available       bool     `json:"available"`              // its provider is configured and serves its kind
	State           string   `json:"state"`                  // active, deprecated or retired
	ReleaseDate     string   `json:"release_date,omitempty"` // empty: it is unknown
	ShutdownDate    string   `json:"shutdown_date,omitempty"`
	Successor       string   `json:"successor,omitempty"`
	ContextWindow   int64    `json:"context_window,omitzero"`
	MaxOutputTokens int64    `json:"max_output_tokens,omitzero"`

	Dimensions *ModelDimensions `json:"dimensions,omitempty"` // of a model for embeddings; nil: they are unknown

	Input  []string    `json:"input_modalities,omitempty"`
	Output []string    `json:"output_modalities,omitempty"`
	Price  *ModelPrice `json:"price_usd_per_million_tokens,omitempty"` // nil: it is unknown

	Tools      *bool `json:"tools,omitzero"` // this and the others nil: it is unknown
	Structured *bool `json:"structured_output,omitzero"`
	Reasoning  *bool `json:"reasoning,omitzero"`

	NextPrice      *ModelNextPrice `json:"next_price,omitempty"`     // nil: none is known
	Aliases        []string        `json:"aliases,omitempty"`        // other names, those with a * left out
	ProviderStatus string          `json:"provider_status,omitzero"` // healthy, degraded or unhealthy; empty: it is not configured
	Unavailable    string          `json:"unavailable,omitzero"`     // why: retired, not_configured, not_served or not_allowed
	Setting        string          `json:"setting,omitzero"`         // that would configure the provider
}

// ModelNextPrice is the price of a model from a day on.
type ModelNextPrice struct {
	From  string      `json:"from"` // as in 2026-12-01, UTC
	Price *ModelPrice `json:"price"`
}

// ModelDimensions are how many numbers the vectors of a model have: by default, and at least
// and at most where a request asks for a number.
type ModelDimensions struct {
	Default int64 `json:"default"`
	Min     int64 `json:"min"`
	Max     int64 `json:"max"`
}

// ModelPrice is a price in US dollars for a million tokens. A member that is missing
// costs as much as input, and reasoning as output.
type ModelPrice struct {
	Input          USD         `json:"input"`
	Output         USD         `json:"output"`
	Reasoning      USD         `json:"reasoning,omitzero"`
	CacheRead      USD         `json:"cache_read,omitzero"`
	CacheWrite     USD         `json:"cache_write,omitzero"`
	CacheWriteHour USD         `json:"cache_write_1h,omitzero"`
	Audio          USD         `json:"audio,omitzero"`
	Of             string      `json:"of,omitzero"`                // the model whose price this is, where only its family has one
	Over           int64       `json:"over_input_tokens,omitzero"` // a longer prompt costs Above
	Above          *ModelPrice `json:"above,omitempty"`

	Multipliers ModelMultipliers `json:"multipliers,omitzero"`
	Fees        ModelFees        `json:"fees,omitempty"`
}

// ModelMultipliers are how many times a price ways of serving a call cost: numbers, and
// not dollars. One that is missing is not known.
type ModelMultipliers struct {
	Priority USD `json:"tier.priority,omitzero"`
	Flex     USD `json:"tier.flex,omitzero"`
	Batch    USD `json:"tier.batch,omitzero"` // of the provider's batch API, which the gateway does not have
	Fast     USD `json:"speed.fast,omitzero"`
	US       USD `json:"geo.us,omitzero"`
}

// ModelFees are in US dollars for one, by names such as web_search_request and image. One that is
// missing is not known. They may be finer than a micro-dollar.
type ModelFees map[string]float64

// MarshalJSON writes the fees in the order of their names.
func (f ModelFees) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]float64(f), json.Deterministic(true))
}
