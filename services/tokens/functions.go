package tokens

import (
	"github.com/go-json-experiment/json"

	"modelgateway/llm"
)

// OpenAI does not show a model the JSON of a tool's parameters, but a shorter form. Its
// tokens are counted as OpenAI documents them (OpenAI Cookbook, "How to count tokens with
// tiktoken"), the members of objects inside others like those of the outermost one. In JSON
// the tools of an agent would have twice as many.
const (
	tokensPerFunction = 7
	tokensPerObject   = 3
	tokensPerProperty = 3
	tokensPerTools    = 12

	// What models that reason have more of where there are tools: 76 to 85 in the recorded
	// answers of gpt-5 and gpt-5.4 (2026-11).
	tokensOfReasoners = 78
)

// schema is what of a JSON Schema a model is shown.
type schema struct {
	Type        any                `json:"type"`
	Description string             `json:"description"`
	Enum        []any              `json:"enum"`
	Properties  map[string]*schema `json:"properties"`
	Items       *schema            `json:"items"`
	AnyOf       []*schema          `json:"anyOf"`
}

// ForOpenAI estimates the tokens of a request to one of OpenAI's own models. reasons: the
// model can reason.
func (e *Estimator) ForOpenAI(r *llm.Request, reasons bool) (int64, error) {
	n, err := e.Prompt(r)
	c, wrong := r.Source.Conversation()
	if err != nil || wrong != nil || len(c.Tools) == 0 {
		return n, err
	}
	inJSON, shown := tally{estimator: e}, tally{estimator: e}
	fixed := int64(tokensPerTools)
	if reasons {
		fixed += tokensOfReasoners
	}
	for i := range c.Tools {
		t := &c.Tools[i]
		var s schema
		if t.Kind != llm.ToolFunction || len(t.Parameters) > 0 && json.Unmarshal(t.Parameters, &s) != nil {
			continue
		}
		for _, text := range []string{t.Name, t.Description, string(t.Parameters)} {
			inJSON.add(text)
		}
		fixed += tokensPerFunction
		shown.add(t.Name + ":" + t.Description)
		fixed += s.show(&shown)
	}
	before, err := inJSON.sum()
	if err != nil {
		return n, err
	}
	after, err := shown.sum()
	return max(n-before, 0) + after + fixed, err
}

// show adds what a model is shown of the members of an object, and returns the tokens around
// them.
func (s *schema) show(texts *tally) (fixed int64) {
	if s == nil {
		return 0
	}
	if len(s.Properties) > 0 {
		fixed += tokensPerObject
	}
	for name, p := range s.Properties {
		fixed += tokensPerProperty
		if p == nil {
			continue
		}
		kind, _ := p.Type.(string)
		texts.add(name + ":" + kind + ":" + p.Description)
		for _, value := range p.Enum {
			if text, ok := value.(string); ok {
				texts.add(text)
				fixed += tokensPerProperty
			}
		}
		fixed += p.show(texts)
	}
	fixed += s.Items.show(texts)
	for _, one := range s.AnyOf {
		fixed += one.show(texts)
	}
	return fixed
}
