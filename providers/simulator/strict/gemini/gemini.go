// Package gemini refuses the generateContent requests that Google refuses, with
// Google's messages.
package gemini

import (
	_ "embed"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	simulated "modelgateway/providers/simulator/gemini"
	"modelgateway/providers/simulator/strict/grammar"
	"modelgateway/providers/simulator/wire"
)

// form is the body of generateContent and streamGenerateContent.
// Source: https://ai.google.dev/api/generate-content
//
//go:embed generate_content.json
var form []byte

type request struct {
	simulated.Request
	extra extra
	// generation is that of the model.
	generation float64
}

// extra has the members that no answer depends on.
type extra struct {
	CachedContent string `json:"cachedContent"`
	Config        struct {
		Temperature *float64 `json:"temperature"`
		Logprobs    *int     `json:"logprobs"`
	} `json:"generationConfig"`
}

// Check returns the error answer to a request to a model that exists, or nil.
func Check(model string, body jsontext.Value) *wire.Failure {
	if violations := grammar.Read(form).Violations(body); len(violations) > 0 {
		return wording(violations)
	}
	q := request{generation: simulated.Generation(model)}
	for _, part := range []any{&q.Request, &q.extra} {
		if err := json.Unmarshal(body, part); err != nil {
			return simulated.Refusal("Invalid JSON payload received. %v", err)
		}
	}
	q.Model = model
	if q.extra.CachedContent != "" {
		return simulated.Failure(http.StatusForbidden, "CachedContent not found (or permission denied)")
	}
	rules := []func() *wire.Failure{
		q.checkContents, q.checkCallTurns, q.checkSignatures, q.checkFunctions, q.checkCalling, q.checkConfig, q.checkThinking,
	}
	for _, rule := range rules {
		if f := rule(); f != nil {
			return f
		}
	}
	return nil
}
