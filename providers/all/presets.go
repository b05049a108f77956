package all

import (
	"modelgateway/catalog"
	"modelgateway/config"
	"modelgateway/llm"
	"modelgateway/providers"
)

// Presets lists the servers that are known by name, in the order of their settings.
// Of each there is only what has been verified; docs/providers.md says how.
func Presets() []providers.Preset {
	all := append(hosted(), local()...)
	for i := range all {
		all[i].Server.ChatOnly = true
	}
	return append(clouds(), all...)
}

// hosted are services that need a key.
func hosted() []providers.Preset {
	return []providers.Preset{
		{
			ProviderSettings: compatible("mistral", "Mistral", "MISTRAL", "https://api.mistral.ai/v1"),
			Type:             catalog.OpenAI, OTelName: "mistral_ai", Rules: anyModel("max_tokens"),
			Server: providers.Server{
				ListsAll: true, SystemRole: true, CallIDs: 9, Renames: map[string]string{"seed": "random_seed"},
				// It refuses every member that it does not know.
				Lacks: []string{
					"stream_options", "logit_bias", "logprobs", "top_logprobs", "user", "safety_identifier", "store",
					"service_tier", "verbosity", providers.LacksName,
				},
			},
		},
		{
			ProviderSettings: compatible("groq", "Groq", "GROQ", "https://api.groq.com/openai/v1"),
			Type:             catalog.OpenAI, OTelName: "groq", Rules: anyModel(""),
			Server: providers.Server{
				ListsAll: true, NoEmbeddings: true, SystemRole: true,
				Lacks: []string{"logprobs", "logit_bias", "top_logprobs", providers.LacksName},
			},
		},
		{
			ProviderSettings: compatible("deepseek", "DeepSeek", "DEEPSEEK", "https://api.deepseek.com/v1"),
			Type:             catalog.OpenAI, OTelName: "deepseek", Rules: anyModel("max_tokens"),
			Server: providers.Server{
				ListsAll: true, NoEmbeddings: true, SystemRole: true, Takes: []string{"thinking"}, Reasoning: "reasoning_content",
			},
		},
		{
			ProviderSettings: compatible("xai", "xAI", "XAI", "https://api.x.ai/v1"),
			Type:             catalog.OpenAI, OTelName: "x_ai", Rules: anyModel(""),
			Server: providers.Server{ListsAll: true, NoEmbeddings: true, SystemRole: true},
		},
		{
			ProviderSettings: compatible("together", "Together AI", "TOGETHER", "https://api.together.xyz/v1"),
			Type:             catalog.OpenAI, Rules: anyModel("max_tokens"),
			Server: providers.Server{ListsAll: true, SystemRole: true, Takes: []string{"top_k"}},
		},
		{
			ProviderSettings: compatible("fireworks", "Fireworks AI", "FIREWORKS", "https://api.fireworks.ai/inference/v1"),
			Type:             catalog.OpenAI, Rules: anyModel(""),
			Server: providers.Server{ListsAll: true, SystemRole: true, Takes: []string{"top_k"}, Reasoning: "reasoning_content"},
		},
		{
			ProviderSettings: compatible("openrouter", "OpenRouter", "OPENROUTER", "https://openrouter.ai/api/v1"),
			Type:             catalog.OpenAI, Rules: anyModel(""),
			Server: providers.Server{
				ListsAll: true, Takes: []string{"top_k", "cache_control", "reasoning_details"}, Reasoning: "reasoning",
			},
		},
		{
			ProviderSettings: compatible("cerebras", "Cerebras", "CEREBRAS", "https://api.cerebras.ai/v1"),
			Type:             catalog.OpenAI, Rules: anyModel("max_completion_tokens"),
			Server: providers.Server{
				ListsAll: true, NoEmbeddings: true, SystemRole: true,
				Lacks: []string{"frequency_penalty", "presence_penalty", "logit_bias", "parallel_tool_calls", "service_tier"},
			},
		},
	}
}

// local are servers that anyone can run. They need an address, and no key.
func local() []providers.Preset {
	all := []providers.Preset{
		{
			ProviderSettings: compatible("ollama", "Ollama", "OLLAMA", ""), OTelName: "ollama", Rules: anyModel("max_tokens"),
			Server: providers.Server{
				Reasoning: "reasoning",
				// It does not read them.
				Lacks: []string{"logit_bias", "user", "parallel_tool_calls"},
			},
		},
		{
			ProviderSettings: compatible("vllm", "vLLM", "VLLM", ""), Rules: anyModel(""),
			Server: providers.Server{Takes: []string{"top_k"}},
		},
		{
			ProviderSettings: compatible("llamacpp", "llama.cpp", "LLAMACPP", ""), Rules: anyModel(""),
			Server: providers.Server{Takes: []string{"top_k"}},
		},
		{
			ProviderSettings: compatible("lmstudio", "LM Studio", "LMSTUDIO", ""), Rules: anyModel("max_tokens"),
			Server: providers.Server{Takes: []string{"top_k"}},
		},
	}
	for i := range all {
		p := &all[i]
		p.Type, p.Keyless, p.Server.ListsAll, p.Server.SystemRole = catalog.OpenAI, true, true, true
	}
	return all
}

func compatible(name, title, prefix, baseURL string) config.ProviderSettings {
	return config.ProviderSettings{Name: name, Title: title, Prefix: prefix, Models: title, BaseURL: baseURL, Version: "/v1"}
}

// vectorModels are patterns of the names of models for embeddings, with and without the name
// of a vendor before them.
var vectorModels = []string{
	"*embed*", "*/*embed*", "bge-*", "*/bge-*", "e5-*", "*/e5-*", "*/multilingual-e5-*", "gte-*", "*/gte-*", "all-minilm*", "*/all-MiniLM*",
}

// anyModel are the traits of all models of a server that has many vendors' models:
// what differs between them is its own to judge, but which of them are for embeddings. limit is the one name that it has
// for the limit of tokens; empty: it takes both.
func anyModel(limit string) []catalog.Rule {
	return []catalog.Rule{
		{Match: vectorModels, Traits: catalog.Traits{Kind: llm.KindEmbedding}},
		{Match: []string{"*"}, Traits: catalog.Traits{
			Sampling: catalog.SamplingBoth, Thinking: []string{catalog.ThinkEffort}, ThinkingBy: catalog.ThinkOn, LimitField: limit,
		}},
	}
}
