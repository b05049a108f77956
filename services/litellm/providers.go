package litellm

import (
	"cmp"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
)

// service is a provider of a LiteLLM, as its models are called here.
type service struct {
	name         string
	preset, kind string   // one of them is set: its preset here, or the provider whose API it has
	address      string   // the default; empty: that of the preset, or it must be set
	keys         []string // variables in which LiteLLM looks for the key; nil: the log-in of a cloud, or no key
	addresses    string   // the variable in which LiteLLM looks for the address
	own          bool     // software that its users run, often without a key
	versioned    bool     // LiteLLM itself adds the version, such as /v1, to its address
}

// services are those of litellm/litellm_core_utils/get_llm_provider_logic.py of November 2026 that
// can be called here.
func services() map[string]service {
	all := map[string]service{
		"openai":    {kind: "openai", address: "https://api.openai.com/v1", keys: []string{"OPENAI_API_KEY"}, addresses: "OPENAI_API_BASE"},
		"anthropic": {kind: "anthropic", address: "https://api.anthropic.com", keys: []string{"ANTHROPIC_API_KEY"}, versioned: true},
		"gemini": {
			kind: "gemini", address: "https://generativelanguage.googleapis.com", versioned: true,
			keys: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"},
		},
		"azure":        {preset: "azure", keys: []string{"AZURE_API_KEY"}, addresses: "AZURE_API_BASE", versioned: true},
		"azure_ai":     {preset: "azure", keys: []string{"AZURE_AI_API_KEY"}, addresses: "AZURE_AI_API_BASE", versioned: true},
		"bedrock":      {preset: "bedrock", versioned: true},
		"vertex_ai":    {preset: "vertex"},
		"together_ai":  {preset: "together", keys: []string{"TOGETHERAI_API_KEY", "TOGETHER_API_KEY", "TOGETHER_AI_API_KEY"}},
		"fireworks_ai": {preset: "fireworks", keys: []string{"FIREWORKS_API_KEY", "FIREWORKS_AI_API_KEY"}},
		"openrouter":   {preset: "openrouter", keys: []string{"OPENROUTER_API_KEY", "OR_API_KEY"}},
		"ollama":       {preset: "ollama", address: "http://localhost:11434", addresses: "OLLAMA_API_BASE", own: true, versioned: true},
		"hosted_vllm":  {preset: "vllm", addresses: "HOSTED_VLLM_API_BASE", own: true},
		"lm_studio":    {preset: "lmstudio", addresses: "LM_STUDIO_API_BASE", own: true},
		"llamafile":    {preset: "llamacpp", address: "http://127.0.0.1:8080/v1", addresses: "LLAMAFILE_API_BASE", own: true},
	}
	for _, name := range []string{"mistral", "groq", "deepseek", "xai", "cerebras"} {
		all[name] = service{preset: name, keys: []string{strings.ToUpper(name) + "_API_KEY"}}
	}
	for name, address := range map[string]string{ // with the API of OpenAI
		"openai_like": "", "custom_openai": "", "aiohttp_openai": "", "litellm_proxy": "",
		"perplexity": "https://api.perplexity.ai", "nvidia_nim": "https://integrate.api.nvidia.com/v1",
		"sambanova": "https://api.sambanova.ai/v1", "meta_llama": "https://api.llama.com/compat/v1",
		"friendliai": "https://api.friendli.ai/serverless/v1", "codestral": "https://codestral.mistral.ai/v1",
		"ai21_chat": "https://api.ai21.com/studio/v1", "galadriel": "https://api.galadriel.com/v1",
	} {
		upper := strings.ToUpper(name)
		all[name] = service{kind: "openai", address: address, keys: []string{upper + "_API_KEY"}, addresses: upper + "_API_BASE"}
	}
	for name, like := range map[string]string{"ollama_chat": "ollama", "vllm": "hosted_vllm", "vertex_ai_beta": "vertex_ai"} {
		all[name] = all[like]
	}
	return all
}

// vendor says whether it is one of the three that the environment alone configures.
func (s service) vendor() bool { return s.kind != "" && services()[s.kind].address == s.address }

// findService finds the service that a deployment calls, and the model there. It is false where it is none that can be
// called here.
func (t *taking) findService(d *deployment) (ok bool) {
	name, model := d.text("custom_llm_provider"), d.text("model")
	before, after, found := strings.Cut(model, "/")
	switch {
	case found && (name == "" || before == name):
		name, model = before, after
	case name == "" && model == "*":
		name = "openai"
	case name == "": // a LiteLLM knows the vendors of such names, and calls Gemini at Vertex AI
		for _, vendor := range t.catalog.Providers() {
			if t.catalog.Names(vendor, model) {
				name = cmp.Or(map[string]string{"gemini": "vertex_ai"}[vendor], vendor)
			}
		}
	}
	d.service, ok = services()[name]
	d.service.name = name
	switch {
	case d.preset == "azure" && strings.HasPrefix(model, "claude"):
		d.preset = "foundry"
	case d.preset == "azure" || d.kind == "openai":
		model = openaiRoute.ReplaceAllString(model, "")
	case d.preset == "bedrock":
		model = strings.TrimPrefix(strings.TrimPrefix(model, "converse/"), "invoke/")
		if region, rest, found := strings.Cut(model, "/"); found && awsRegion.MatchString(region) {
			d.params["aws_region_name"], model = region, rest
		}
		ok = !strings.Contains(model, "/") || strings.HasPrefix(model, "arn:")
	case d.preset == "vertex":
		ok = !ownEndpoint.MatchString(model)
	}
	d.model = model
	return ok && model != ""
}

var (
	openaiRoute = regexp.MustCompile(`^(responses|o_series|gpt5_series)/`)
	awsRegion   = regexp.MustCompile(`^[a-z]{2}(-[a-z]+)+-\d$`)
	ownEndpoint = regexp.MustCompile(`(^|/)(\d+$|agent_engine/)`) // of Vertex AI, by its number
	noKey       = regexp.MustCompile(`^(?i)(none|null|empty|dummy|fake|fake-key|anything|not-needed|no-key|n/a)$`)
	plainHeader = regexp.MustCompile(`(?i)^(anthropic-beta|openai-(beta|organization|project)|http-referer|x-title|user-agent|x-goog-user-project)$`)
)

// findServer finds where and how a deployment is called. It is false where it cannot be called here.
func (t *taking) findServer(d *deployment) bool {
	s := d.service
	address, ok := t.address(d)
	if !ok {
		return false
	}
	d.at = server{Preset: s.preset, Type: s.kind, Headers: map[string]string{}, Timeouts: map[string]string{}}
	at := &d.at
	if s.preset != "" || address != s.address {
		at.BaseURL = address
		if s.vendor() {
			at.Facts = s.kind // its prices hold, as they do there
		}
	}
	switch none := noKey.MatchString(d.text("api_key")); {
	case none && s.kind == "openai":
		at.Auth = "none"
	case none && s.own || d.params["client_secret"] != nil:
	case d.text("api_key") != "" || len(s.keys) > 0:
		at.Keys = map[string]string{"env": t.variable(d, "api_key", s.keys)}
	}
	t.setAccount(d)
	if organization := t.place(d, "organization"); organization != "" {
		at.Headers["OpenAI-Organization"] = organization
	}
	extra, _ := d.params["extra_headers"].(map[string]any)
	for _, name := range sorted(extra) {
		if value := text(extra[name]); !plainHeader.MatchString(name) || strings.HasPrefix(value, reference) {
			t.losses.Lose(d.name, "the header "+name, "its value may be a secret",
				"make it the key of the provider, with auth: {header: NAME}")
		} else {
			at.Headers[name] = value
		}
	}
	for name, member := range map[string]string{"response": "timeout", "first_token": "stream_timeout"} {
		if n, _ := number(d.params[member]); n > 0 {
			at.Timeouts[name] = decimal(n) + "s"
		}
	}
	d.plain = s.vendor() && slices.Contains(s.keys, at.Keys["env"]) &&
		at.BaseURL == "" && at.Auth == nil && len(at.Headers)+len(at.Timeouts) == 0
	return true
}

// address is where a deployment is called; empty: where its preset says.
func (t *taking) address(d *deployment) (string, bool) {
	s := d.service
	own := cmp.Or(t.place(d, "api_base", "base_url", "aws_bedrock_runtime_endpoint"), t.env(s.addresses))
	address := strings.TrimSuffix(cmp.Or(own, s.address), "/")
	if address == "" && s.addresses == "" {
		return "", true
	}
	u, err := url.Parse(address)
	azure := s.preset == "azure" || s.preset == "foundry"
	if err != nil || u.Host == "" || u.User != nil || !azure && u.RawQuery != "" {
		t.losses.Lose(d.name, "the address (api_base)", "it is missing, or has a user or a query: the model is left out",
			"add it by hand: docs/providers.md")
		return "", false
	}
	where := strings.TrimSuffix(u.Path, "/v1/messages")
	strange := (own != "" || s.kind == "openai") && !s.versioned && !strings.HasSuffix(where, "/v1")
	if azure {
		strange = !strings.HasSuffix(u.Hostname(), ".azure.com")
		where, _, _ = strings.Cut(strings.TrimSuffix(where, "/models"), "/openai")
		where += "/openai/v1"
		if s.preset == "foundry" {
			where = "/anthropic"
		}
	}
	address = u.Scheme + "://" + u.Host + where
	if strange {
		t.losses.Lose(d.name, "the address "+address, "the gateway adds /v1 to it, and LiteLLM does not",
			"try the model, and correct base_url if the server does not answer")
	}
	return address, true
}

// accountMembers are the members of an account of a cloud here, and those of LiteLLM.
func accountMembers() [][2]string {
	return [][2]string{
		{"access_key_id", "aws_access_key_id"}, {"secret_access_key", "aws_secret_access_key"}, {"profile", "aws_profile_name"},
		{"role", "aws_role_name"}, {"external_id", "aws_external_id"},
		{"tenant", "tenant_id"}, {"client_id", "client_id"}, {"client_secret", "client_secret"},
	}
}

// setAccount sets where an account of a cloud is, and its log-in.
func (t *taking) setAccount(d *deployment) {
	account := map[string]any{}
	for _, member := range accountMembers() {
		here, there := member[0], member[1]
		switch value := d.text(there); {
		case value == "" || value == reference+"AWS_ACCESS_KEY_ID" || value == reference+"AWS_SECRET_ACCESS_KEY":
			// The gateway looks there itself.
		case strings.Contains(here, "secret"):
			account[here] = map[string]string{"env": t.variable(d, there, nil)}
		default:
			account[here] = t.place(d, there)
		}
	}
	switch d.preset {
	case "bedrock":
		d.at.Region = cmp.Or(t.place(d, "aws_region_name"), t.env("AWS_REGION_NAME"), t.env("AWS_REGION"), t.env("AWS_DEFAULT_REGION"))
	case "vertex":
		d.at.Region = cmp.Or(t.place(d, "vertex_location"), t.env("VERTEXAI_LOCATION"), "us-central1")
		d.at.Project = cmp.Or(t.place(d, "vertex_project"), t.env("VERTEXAI_PROJECT"))
		if d.params["vertex_credentials"] == nil || d.text("vertex_credentials") == reference+"GOOGLE_APPLICATION_CREDENTIALS" {
			break
		}
		if file := t.place(d, "vertex_credentials"); path.IsAbs(file) || strings.HasSuffix(file, ".json") {
			account["file"] = file
		} else {
			t.losses.Lose(d.name, "vertex_credentials", "the gateway reads them from a file",
				"save them, and name the file in auth of the provider: {google: {file: PATH}}")
		}
	}
	cloud := map[string]string{"bedrock": "aws", "vertex": "google", "azure": "azure", "foundry": "azure"}[d.preset]
	if cloud != "" && len(account) > 0 {
		d.at.Auth = map[string]any{cloud: account}
	}
}
