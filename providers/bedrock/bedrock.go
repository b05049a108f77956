// Package bedrock is the provider for Amazon Bedrock, which serves each vendor's models by another
// API: Claude by InvokeModel in the form of the Messages API, OpenAI's by OpenAI's own APIs, and
// all others by Converse.
package bedrock

import (
	"cmp"
	"context"
	"net/url"
	"strings"

	"modelgateway/catalog"
	"modelgateway/internal/cloudnames"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/anthropic"
	"modelgateway/providers/bedrock/converse"
	"modelgateway/providers/bedrock/frames"
	"modelgateway/providers/openai"
	"modelgateway/providers/upstream"
)

const name = "bedrock"

// Provider serves the models of one region.
type Provider struct {
	claude   *anthropic.Provider
	openai   *openai.Provider
	gptOSS   *openai.Provider // has chat completions only
	converse *converse.API
	control  *upstream.Client // lists the models
}

// New makes a provider with its own connections. The address is that of bedrock-runtime.
func New(opts providers.Options) providers.Provider {
	opts.Name = cmp.Or(opts.Name, name)
	opts.BaseURL = cmp.Or(opts.BaseURL, "https://bedrock-runtime."+opts.Region+".amazonaws.com")
	client := func(base string) *upstream.Client {
		return upstream.New(upstream.Options{
			Provider: opts.Name, BaseURL: base, Sign: opts.Signed(providers.SignBearer), Headers: opts.Headers, Query: opts.Query,
			Framing: frames.Framing(), Refused: converse.Refused, HeaderTimeout: opts.HeaderTimeout, IdleTimeout: opts.IdleTimeout,
		})
	}
	p := &Provider{
		claude:   anthropic.NewAt(opts, claude(opts.Region)),
		converse: converse.New(client(opts.BaseURL), opts),
		control:  client(strings.Replace(opts.BaseURL, "bedrock-runtime", "bedrock", 1)),
	}
	opts.BaseURL += "/openai"
	opts.Server.NoEmbeddings = true
	p.openai = openai.New(opts)
	opts.Server.ChatOnly = true
	p.gptOSS = openai.New(opts)
	return p
}

// claude is InvokeModel of Claude.
func claude(region string) anthropic.Surface {
	return anthropic.Surface{
		Version: "bedrock-2023-05-31", Framing: frames.Framing(), InvokesModel: true, Betas: betas,
		Lacks: []string{"web_search_", "web_fetch_", "code_execution_", "advisor_", "mcp_toolset"},
		Path: func(model string, stream bool) string {
			if stream {
				return path(cloudnames.ID(region, model), "invoke-with-response-stream")
			}
			return path(cloudnames.ID(region, model), "invoke")
		},
		CountPath: func(model string) string { // which takes models, and no inference profiles
			id := cloudnames.ID(region, model)
			return path(cmp.Or(cloudnames.Base(id), id), "count-tokens")
		},
	}
}

// path is that of an operation of a model, whose id may be an ARN.
func path(id, operation string) string {
	return "/model/" + strings.ReplaceAll(url.PathEscape(id), ":", "%3A") + "/" + operation
}

// betas are those that Bedrock takes for some model.
// https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages-request-response.html
// and what other gateways have found, 2026-11.
var betas = []string{
	"compact-2026-01-12", "computer-use-2024-10-22", "computer-use-2025-01-24", "computer-use-2025-11-24",
	"context-1m-2025-08-07", "context-management-2025-06-27", "dangerous-tool-use-2026-09-03", "dev-full-thinking-2025-05-14",
	"effort-2025-11-24", "fine-grained-tool-streaming-2025-05-14", "interleaved-thinking-2025-05-14",
	"mid-conversation-output-config-2026-07-01", "mid-conversation-tool-changes-2026-07-01", "output-128k-2025-02-19",
	"thinking-binding-controls-2026-08-01", "thinking-display-updates-2026-08-18", "token-efficient-tools-2025-02-19",
	"tool-examples-2025-10-29", "tool-search-tool-2025-10-19",
}

// Abilities are those of any of its models, or of one.
func (p *Provider) Abilities() providers.Abilities {
	return providers.Abilities{
		Speaks: p.speaks, PrepareEmbeddings: p.prepareEmbeddings, Count: p.count, Kept: p.openai.Abilities().Kept,
		Models: p.listModels,
	}
}

// api is what a model is called by; nil = Converse. The ARN of an application's inference profile
// does not say whose model it is: then the gateway's own name of the model does.
func (p *Provider) api(m *catalog.Model) providers.Provider {
	vendor, family := cloudnames.Family(m.Upstream)
	if vendor == "" {
		vendor, family = cloudnames.Family(m.ID[strings.LastIndexByte(m.ID, '/')+1:])
	}
	switch {
	case vendor == catalog.Anthropic:
		return p.claude
	case vendor == catalog.OpenAI && strings.HasPrefix(family, "gpt-oss"):
		return p.gptOSS
	case vendor == catalog.OpenAI:
		return p.openai
	}
	return nil
}

func (p *Provider) speaks(d llm.Dialect, m *catalog.Model) bool {
	if m == nil {
		return d == llm.Messages || d == llm.Chat || d == llm.Responses
	}
	api := p.api(m)
	return api != nil && d != llm.Embeddings && api.Abilities().Speaks(d, m)
}

// Prepare has the API of the model prepare the call.
func (p *Provider) Prepare(call providers.Call) (providers.Exchange, error) {
	if err := call.CheckName(); err != nil {
		return nil, err
	}
	if api := p.api(call.Model); api != nil {
		return api.Prepare(call)
	}
	return p.converse.Prepare(call)
}

func (p *Provider) prepareEmbeddings(call providers.Call) (providers.Exchange, error) {
	if err := call.CheckName(); err != nil {
		return nil, err
	}
	return p.converse.PrepareEmbeddings(call)
}

func (p *Provider) count(ctx context.Context, call providers.Call, key string) (providers.Count, error) {
	if err := call.CheckName(); err != nil {
		return providers.Count{}, err
	}
	if api := p.api(call.Model); api != nil {
		return api.Abilities().Count(ctx, call, key)
	}
	return p.converse.Count(ctx, call, key)
}
