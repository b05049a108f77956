// Package vertex is the provider for Google Vertex AI, which serves Gemini and Claude by the
// vendors' own APIs at paths of its own, and open models by OpenAI's chat completions.
package vertex

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/internal/cloudnames"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/anthropic"
	"modelgateway/providers/gemini"
	"modelgateway/providers/openai"
)

const name = "vertex"

// Provider serves the models of one location of a project.
type Provider struct {
	gemini *gemini.Provider
	claude *anthropic.Provider // nil without a project: an API key opens Google's own models alone
	open   *openai.Provider    // likewise
}

// New makes a provider with its own connections.
func New(opts providers.Options) providers.Provider {
	opts.Name = cmp.Or(opts.Name, name)
	location := cmp.Or(opts.Region, "global")
	opts.BaseURL = cmp.Or(opts.BaseURL, host(location))
	if opts.Project == "" {
		return &Provider{gemini: gemini.NewAtVertex(opts, "/v1/publishers/google")}
	}
	project := "/v1/projects/" + url.PathEscape(opts.Project) + "/locations/" + url.PathEscape(location)
	p := &Provider{
		gemini: gemini.NewAtVertex(opts, project+"/publishers/google"),
		claude: anthropic.NewAt(opts, claude(project+"/publishers/anthropic/models/")),
	}
	opts.BaseURL += project + "/endpoints/openapi"
	opts.Server = providers.Server{ChatOnly: true, ListsNone: true, NoEmbeddings: true}
	opts.Sign = unversioned(opts.Signed(providers.SignBearer))
	p.open = openai.New(opts)
	return p
}

// unversioned signs calls of OpenAI's API whose paths do not begin with the version of OpenAI's.
func unversioned(sign providers.Sign) providers.Sign {
	return func(ctx context.Context, r *http.Request, key string, body [][]byte) error {
		r.URL.Path = strings.Replace(r.URL.Path, "/endpoints/openapi/v1/", "/endpoints/openapi/", 1)
		r.URL.RawPath = strings.Replace(r.URL.RawPath, "/endpoints/openapi/v1/", "/endpoints/openapi/", 1)
		return sign(ctx, r, key, body)
	}
}

// host is the address of a location.
func host(location string) string {
	switch location {
	case "global":
		return "https://aiplatform.googleapis.com"
	case "us", "eu":
		return "https://aiplatform." + location + ".rep.googleapis.com"
	}
	return "https://" + location + "-aiplatform.googleapis.com"
}

// claude is rawPredict of Claude, below a path.
func claude(models string) anthropic.Surface {
	return anthropic.Surface{
		Version: "vertex-2023-10-16", Betas: betas,
		Lacks: []string{"web_fetch_", "code_execution_", "advisor_", "mcp_toolset"},
		Path: func(model string, stream bool) string {
			id := url.PathEscape(cloudnames.Vertex(model))
			if stream {
				return models + id + ":streamRawPredict"
			}
			return models + id + ":rawPredict"
		},
		CountPath:  func(string) string { return models + "count-tokens:rawPredict" },
		CountModel: func(model string) string { return strings.TrimSuffix(cloudnames.Vertex(model), "@default") },
	}
}

// betas are those that Vertex AI takes for some model.
// https://cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude and what other
// gateways have found, 2026-11.
var betas = []string{
	"compact-2026-01-12", "compact-2026-09-04", "computer-use-2025-01-24", "computer-use-2025-11-24", "context-1m-2025-08-07",
	"context-management-2025-06-27", "dangerous-tool-use-2026-09-03", "effort-2025-11-24", "interleaved-thinking-2025-05-14",
	"per-turn-control-2026-07-01", "thinking-binding-controls-2026-08-01", "thinking-display-updates-2026-08-18",
	"tool-search-tool-2025-10-19", "web-search-2025-03-05",
}

// Abilities are those of any of its models, or of one. No list says which models can be called.
func (p *Provider) Abilities() providers.Abilities {
	return providers.Abilities{Speaks: p.speaks, PrepareEmbeddings: p.prepareEmbeddings, Count: p.count}
}

func (p *Provider) speaks(d llm.Dialect, m *catalog.Model) bool {
	switch d {
	case llm.Messages:
		return m == nil || isClaude(m)
	case llm.Chat:
		return m == nil || isOpen(m)
	}
	return false
}

// isClaude and isOpen say whose API serves a model: Anthropic's, or OpenAI's, which has the models
// that are named with their publisher.
func isClaude(m *catalog.Model) bool { return strings.HasPrefix(m.Upstream, "claude-") }

func isOpen(m *catalog.Model) bool {
	return strings.Contains(m.Upstream, "/") && !strings.HasPrefix(m.Upstream, "models/")
}

// api is the provider that serves a model.
func (p *Provider) api(call providers.Call) (providers.Provider, error) {
	if err := call.CheckName(); err != nil {
		return nil, err
	}
	m, r := call.Model, call.Request
	switch claude, open := isClaude(m), isOpen(m); {
	case (claude || open) && p.claude == nil:
		return nil, api.Invalid(api.CodeUnsupportedValue, r.Path(llm.FieldModel),
			"the model %s needs a project of Google's cloud, which this gateway has not", api.Quoted(m.ID))
	case claude:
		return p.claude, nil
	case open:
		return p.open, nil
	}
	return p.gemini, nil
}

// Prepare has the API of the model prepare the call.
func (p *Provider) Prepare(call providers.Call) (providers.Exchange, error) {
	of, err := p.api(call)
	if err != nil {
		return nil, err
	}
	return of.Prepare(call)
}

func (p *Provider) prepareEmbeddings(call providers.Call) (providers.Exchange, error) {
	if err := call.CheckName(); err != nil {
		return nil, err
	}
	return p.gemini.Abilities().PrepareEmbeddings(call)
}

func (p *Provider) count(ctx context.Context, call providers.Call, key string) (providers.Count, error) {
	of, err := p.api(call)
	if err != nil {
		return providers.Count{}, err
	}
	return of.Abilities().Count(ctx, call, key)
}
