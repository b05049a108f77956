package api

import "modelgateway/models/llm"

// The values of an object field.
const (
	ObjectModel = "model"
	ObjectList  = "list"
	ObjectUser  = "user"
	ObjectKey   = "api_key"
)

// ModelList is the answer of GET /v1/models.
type ModelList struct {
	Object string  `json:"object"`
	Data   []Model `json:"data"`
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
	Available       bool     `json:"available"` // its provider is configured and serves its kind
	State           string   `json:"state"`     // active, deprecated or retired
	ShutdownDate    string   `json:"shutdown_date,omitempty"`
	Successor       string   `json:"successor,omitempty"`
	ContextWindow   int64    `json:"context_window,omitzero"`
	MaxOutputTokens int64    `json:"max_output_tokens,omitzero"`
}
