package responses

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/catalog"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/openai/compose"
	"modelgateway/providers/openai/wire"
)

// responding is a request to the Responses API that is written from the common form.
type responding struct {
	compose.Draft
	out  responsesRequest
	kept []string // members that the common form does not know, and that travel all the same
}

// newResponding writes everything of a request.
func (a *API) newResponding(call providers.Call) (*responding, error) {
	conversation, err := call.Request.Source.Conversation()
	if err != nil {
		return nil, err
	}
	c := &responding{Draft: compose.Draft{Request: call.Request, Conversation: conversation, Model: call.Model, Server: &a.server}}
	for _, step := range []func() error{c.Check, c.composeTools, c.composeInput} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	c.composeFormat()
	c.composeParams()
	c.composeOwn()
	return c, nil
}

// respond prepares a call of the Responses API for a client of another dialect.
func (a *API) respond(call providers.Call) (providers.Exchange, error) {
	c, err := a.newResponding(call)
	if err != nil {
		return nil, err
	}
	body, err := c.Encode(&c.out)
	if err != nil {
		return nil, err
	}
	return &respondingExchange{
		api: a, call: call, body: body, names: c.Names, tools: c.Conversation.Tools, ignored: c.lost(),
		maxOutput: c.out.MaxOutputTokens,
	}, nil
}

// lost are the client's members that do not travel.
func (c *responding) lost() []string {
	return slices.DeleteFunc(c.Request.Source.Ignored(c.Ignored), func(name string) bool { return slices.Contains(c.kept, name) })
}

// leastOutput is the smallest limit that OpenAI takes here, in tokens.
const leastOutput = 16

const encryptedReasoning = "reasoning.encrypted_content"

// composeParams writes everything but the conversation. Nothing is kept at OpenAI: what a
// later turn needs of the reasoning comes back encrypted.
func (c *responding) composeParams() {
	r, out := c.Request, &c.out
	out.Model = c.Model.Upstream
	if out.MaxOutputTokens = c.Limit(); out.MaxOutputTokens != nil {
		limit := max(*out.MaxOutputTokens, leastOutput)
		out.MaxOutputTokens = &limit
	}
	c.composeReasoning()
	for _, f := range []struct {
		ignored bool
		field   llm.Field
	}{
		{r.TopK != nil, llm.FieldTopK},
		{compose.NonZero(r.PresencePenalty), llm.FieldPresencePenalty},
		{compose.NonZero(r.FrequencyPenalty), llm.FieldFrequencyPenalty},
		{r.Seed != nil, llm.FieldSeed},
		{r.Logprobs, llm.FieldLogprobs},
		{r.TopLogprobs != nil, llm.FieldTopLogprobs},
		{r.Choices != 1, llm.FieldChoices},
		{llm.Given(r.LogitBias), llm.FieldLogitBias},
		{r.WebSearch != nil, llm.FieldWebSearch},
		{r.Audio != nil, llm.FieldAudio},
		{r.Cache != nil, llm.FieldCache},
	} {
		c.IgnoreIf(f.ignored, f.field)
	}
	c.composeIdentity()
	out.Metadata, out.ServiceTier, out.Stream = r.Metadata, c.ServiceTier(), r.Stream
}

// composeReasoning writes how hard the model shall reason, and what of that is shown.
// OpenAI refuses to encrypt the reasoning of a model that does none.
func (c *responding) composeReasoning() {
	effort, _ := c.Effort()
	r := reasoningOptions{Effort: effort}
	if t := c.Request.Thinking; t != nil && t.Type != "disabled" && t.Display != "omitted" && c.reasons() {
		r.Summary = "auto"
	}
	if r != (reasoningOptions{}) {
		c.out.Reasoning = &r
	}
	if c.reasons() {
		c.out.Include = []string{encryptedReasoning}
	}
	takes := compose.TakesSampling(c.Model.Traits, effort)
	if takes {
		c.out.Temperature, c.out.TopP = c.Request.Temperature, c.Request.TopP
	}
	isSet := func(n *float64) bool { return n != nil && *n != 1 }
	c.IgnoreIf(!takes && isSet(c.Request.Temperature), llm.FieldTemperature)
	c.IgnoreIf(!takes && isSet(c.Request.TopP), llm.FieldTopP)
}

// reasons says whether the model is known to reason.
func (c *responding) reasons() bool {
	return c.Model.Traits.Thinks(catalog.ThinkEffort) && len(c.Model.Traits.Efforts) > 0
}

// composeIdentity names the end user as chat completions do. A client of OpenAI's own API
// names it for OpenAI: that name is sent as it is.
func (c *responding) composeIdentity() {
	r, out := c.Request, &c.out
	out.User = compose.UserID(r.User)
	switch {
	case r.SafetyIdentifier == "":
	case r.Source.Dialect() == llm.Chat:
		out.SafetyIdentifier = compose.UserID(r.SafetyIdentifier)
	case c.Model.Provider == catalog.OpenAI:
		out.SafetyIdentifier = compose.Hash(r.SafetyIdentifier)
		out.PromptCacheKey = out.SafetyIdentifier
	default:
		c.IgnoreIf(true, llm.FieldSafetyIdentifier)
	}
}

// composeOwn writes the members of chat completions that the common form does not hold, and
// that the Responses API has as well.
func (c *responding) composeOwn() {
	if c.Request.Source.Dialect() != llm.Chat {
		return
	}
	out := &c.out
	for name, value := range jsonbytes.Members(c.Request.Raw) {
		member := name.String()
		switch member {
		case "verbosity":
			out.Text.Verbosity = value
		case "prompt_cache_key":
			out.PromptCacheKey = jsonbytes.Text(value)
		case "prompt_cache_retention":
			out.PromptCacheRetention = value
		case "prompt_cache_options":
			out.PromptCacheOptions = value
		case "store":
			if string(value) == "true" {
				continue // the answer is not kept
			}
		default:
			continue
		}
		c.kept = append(c.kept, member)
	}
}

// composeTools writes the tools and the choice among them, which OpenAI takes together
// with tools only.
func (c *responding) composeTools() error {
	tools := c.Offered()
	for i := range tools {
		t := &tools[i]
		c.IgnoreIf(len(t.Cache) > 0, llm.FieldToolCache)
		switch t.Kind {
		case llm.ToolFunction:
			c.out.Tools = append(c.out.Tools, c.function(t))
		case llm.ToolCustom:
			c.out.Tools = append(c.out.Tools, customTool(t))
		default:
			return c.Unsupported(llm.FieldToolType, t.At, "the model %s does not accept tools of type %q", c.Model.ID, t.Type)
		}
	}
	choice := c.Conversation.Choice
	switch {
	case len(c.out.Tools) > 0:
		c.out.ParallelToolCalls = c.Parallel()
		c.composeChoice()
		return nil
	case choice != nil:
		return c.CheckNoChoice(choice)
	}
	return nil
}

// noParameters is the schema of a function that has none.
const noParameters = `{"type":"object","properties":{}}`

func (c *responding) function(t *llm.Tool) responsesTool {
	f := responsesTool{
		Type: "function", Name: c.Names.Upstream(t.Namespace, t.Name), Description: t.Description, Parameters: t.Parameters,
		Strict: c.Strict(t.Strict, t.Parameters, llm.FieldToolStrict),
	}
	if f.Strict == nil {
		f.Strict = new(bool)
	}
	if !llm.Given(f.Parameters) {
		f.Parameters = jsontext.Value(noParameters)
		*f.Strict = false // OpenAI wants additionalProperties in a strict schema
	}
	return f
}

func (c *responding) composeChoice() {
	choice := c.Conversation.Choice
	if choice == nil {
		return
	}
	switch choice.Mode {
	case llm.ChooseAuto:
		c.out.ToolChoice = wire.Quote("auto")
	case llm.ChooseNone:
		c.out.ToolChoice = wire.Quote("none")
	case llm.ChooseRequired:
		c.out.ToolChoice = wire.Quote("required")
	case llm.ChooseNamed:
		c.out.ToolChoice = c.named(choice.Name)
	case llm.ChooseCustom:
		c.out.ToolChoice = jsontext.Value(`{"type":"custom","name":` + string(wire.Quote(choice.Name)) + `}`)
	case llm.ChooseAllowed:
		mode := "auto"
		if choice.Require {
			mode = "required"
		}
		out := append(jsontext.Value(`{"type":"allowed_tools","mode":`), wire.Quote(mode)...)
		out = append(out, `,"tools":[`...)
		for i, name := range choice.Allowed {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(out, c.named(name)...)
		}
		c.out.ToolChoice = append(out, `]}`...)
	}
}

func (c *responding) named(name string) jsontext.Value {
	return jsontext.Value(`{"type":"function","name":` + string(wire.Quote(c.ToolName(name))) + `}`)
}

// composeFormat writes the format of the answer.
func (c *responding) composeFormat() {
	f := c.Conversation.Format
	switch {
	case f == nil:
	case f.Schema == nil && f.Name == "":
		c.out.Text.Format = &textFormat{Type: "json_object"}
	default:
		s := c.Schema(f)
		if !llm.Given(s.Schema) {
			s.Schema = jsontext.Value(`{}`)
		}
		c.out.Text.Format = &textFormat{Type: "json_schema", Name: s.Name, Description: s.Description, Schema: s.Schema, Strict: s.Strict}
	}
}
