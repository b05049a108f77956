package simulator

import "strings"

// A model is one that a provider lists. Retired ones are among them: a demo
// shows whole catalogues.
type model struct {
	id string
	// alias is another name it is asked by; it is not listed.
	alias string
	// snapshot is what answers call it, where that is not its id.
	snapshot string
	name     string
	created  int64
	context  int // tokens in
	output   int // tokens out
	// embeds marks a model that is listed but does not chat.
	embeds bool
}

func (m model) answersAs() string {
	if m.snapshot != "" {
		return m.snapshot
	}
	return m.id
}

// find takes every id of a provider's families, so that a model that came out
// after this table can be demonstrated too.
func find(listed []model, id string, families []string) (model, bool) {
	for _, m := range listed {
		if id == m.id || m.alias != "" && id == m.alias {
			return m, true
		}
	}
	for _, family := range families {
		if strings.HasPrefix(id, family) && !strings.HasSuffix(id, "-") {
			return model{id: id, name: id, created: recently, context: 1048576, output: 128000}, true
		}
	}
	return model{}, false
}

// page cuts one page out of a list: size models after the one called after.
func page(listed []model, after string, size int) (cut []model, more bool) {
	for i, m := range listed {
		if after != "" && m.id == after {
			listed = listed[i+1:]
			break
		}
	}
	if len(listed) > size {
		return listed[:size], true
	}
	return listed, false
}

// recently dates the models whose release date is not public: 2026-01-01.
const recently = 1767225600

var (
	openaiFamilies    = []string{"gpt-", "chatgpt-", "codex-", "o1", "o3", "o4"}
	anthropicFamilies = []string{"claude-"}
	geminiFamilies    = []string{"gemini-", "gemma-"}
)

var openaiCatalogue = []model{
	{id: "gpt-4-turbo", alias: "gpt-4-turbo-2024-04-09", snapshot: "gpt-4-turbo-2024-04-09", created: 1712361441, context: 128000, output: 4096},
	{id: "gpt-4", alias: "gpt-4-0613", snapshot: "gpt-4-0613", created: 1687882411, context: 8192, output: 8192},
	{id: "gpt-3.5-turbo", alias: "gpt-3.5-turbo-0125", snapshot: "gpt-3.5-turbo-0125", created: 1677610602, context: 16385, output: 4096},
	{id: "gpt-4o", alias: "gpt-4o-2024-08-06", snapshot: "gpt-4o-2024-08-06", created: 1715367049, context: 128000, output: 16384},
	{id: "gpt-4o-mini", alias: "gpt-4o-mini-2024-07-18", snapshot: "gpt-4o-mini-2024-07-18", created: 1721172741, context: 128000, output: 16384},
	{id: "gpt-4.1", alias: "gpt-4.1-2025-04-14", snapshot: "gpt-4.1-2025-04-14", created: 1744316542, context: 1047576, output: 32768},
	{id: "gpt-4.1-mini", alias: "gpt-4.1-mini-2025-04-14", snapshot: "gpt-4.1-mini-2025-04-14", created: 1744318173, context: 1047576, output: 32768},
	{id: "gpt-5", alias: "gpt-5-2025-08-07", snapshot: "gpt-5-2025-08-07", created: 1754425777, context: 400000, output: 128000},
	{id: "gpt-5-mini", alias: "gpt-5-mini-2025-08-07", snapshot: "gpt-5-mini-2025-08-07", created: 1754425928, context: 400000, output: 128000},
	{id: "gpt-5-nano", alias: "gpt-5-nano-2025-08-07", snapshot: "gpt-5-nano-2025-08-07", created: 1754426384, context: 400000, output: 128000},
	{id: "gpt-5.4", created: recently, context: 1050000, output: 128000},
	{id: "gpt-5.5", created: recently, context: 1050000, output: 128000},
	{id: "gpt-6-astra", created: recently, context: 1050000, output: 128000},
	{id: "gpt-6-sol", created: recently, context: 1050000, output: 128000},
	{id: "gpt-6-luna", created: recently, context: 1050000, output: 128000},
	{id: "gpt-6.1-sol", created: recently, context: 1050000, output: 128000},
	{id: "gpt-6.2-astra", created: recently, context: 1050000, output: 128000},
	{id: "gpt-6.2-sol", created: recently, context: 1050000, output: 128000},
	{id: "text-embedding-3-small", created: 1705948997, context: 8191, embeds: true},
	{id: "text-embedding-3-large", created: 1705953180, context: 8191, embeds: true},
	{id: "text-embedding-ada-002", created: 1671217299, context: 8192, embeds: true},
}

// anthropicCatalogue is newest first, as Anthropic lists.
var anthropicCatalogue = []model{
	{id: "claude-opus-5-5", name: "Claude Opus 5.5", created: recently, context: 1000000, output: 128000},
	{id: "claude-sonnet-5-5", name: "Claude Sonnet 5.5", created: recently, context: 1000000, output: 128000},
	{id: "claude-haiku-5-5", name: "Claude Haiku 5.5", created: recently, context: 1000000, output: 128000},
	{id: "claude-fable-5-1", name: "Claude Fable 5.1", created: recently, context: 1000000, output: 128000},
	{id: "claude-mythos-5-1", name: "Claude Mythos 5.1", created: recently, context: 1000000, output: 128000},
	{id: "claude-opus-5", name: "Claude Opus 5", created: recently, context: 1000000, output: 128000},
	{id: "claude-sonnet-5", name: "Claude Sonnet 5", created: recently, context: 1000000, output: 128000},
	{id: "claude-fable-5", name: "Claude Fable 5", created: recently, context: 1000000, output: 128000},
	{id: "claude-opus-4-8", name: "Claude Opus 4.8", created: recently, context: 1000000, output: 128000},
	{id: "claude-opus-4-7", name: "Claude Opus 4.7", created: recently, context: 1000000, output: 128000},
	{id: "claude-opus-4-6", name: "Claude Opus 4.6", created: recently, context: 1000000, output: 128000},
	{id: "claude-sonnet-4-6", name: "Claude Sonnet 4.6", created: recently, context: 1000000, output: 128000},
	{id: "claude-opus-4-5-20251101", alias: "claude-opus-4-5", name: "Claude Opus 4.5", created: 1761955200, context: 200000, output: 64000},
	{id: "claude-haiku-4-5-20251001", alias: "claude-haiku-4-5", name: "Claude Haiku 4.5", created: 1760486400, context: 200000, output: 64000},
	{id: "claude-sonnet-4-5-20250929", alias: "claude-sonnet-4-5", name: "Claude Sonnet 4.5", created: 1759104000, context: 200000, output: 64000},
	{id: "claude-opus-4-1-20250805", alias: "claude-opus-4-1", name: "Claude Opus 4.1", created: 1754352000, context: 200000, output: 32000},
	{id: "claude-opus-4-20250514", alias: "claude-opus-4-0", name: "Claude Opus 4", created: 1747872000, context: 200000, output: 32000},
	{id: "claude-sonnet-4-20250514", alias: "claude-sonnet-4-0", name: "Claude Sonnet 4", created: 1747872000, context: 200000, output: 64000},
	{id: "claude-3-7-sonnet-20250219", alias: "claude-3-7-sonnet-latest", name: "Claude Sonnet 3.7", created: 1740355200, context: 200000, output: 64000},
	{id: "claude-3-5-haiku-20241022", alias: "claude-3-5-haiku-latest", name: "Claude Haiku 3.5", created: 1729555200, context: 200000, output: 8192},
	{id: "claude-3-haiku-20240307", name: "Claude Haiku 3", created: 1709769600, context: 200000, output: 4096},
}

var geminiCatalogue = []model{
	{id: "gemini-2.5-pro", name: "Gemini 2.5 Pro", context: 1048576, output: 65536},
	{id: "gemini-2.5-flash", name: "Gemini 2.5 Flash", context: 1048576, output: 65536},
	{id: "gemini-2.5-flash-lite", name: "Gemini 2.5 Flash-Lite", context: 1048576, output: 65536},
	{id: "gemini-2.5-flash-image-preview", name: "Nano Banana", context: 32768, output: 32768},
	{id: "gemini-2.5-flash-image", name: "Nano Banana", context: 32768, output: 32768},
	{id: "gemini-2.5-flash-preview-09-2025", name: "Gemini 2.5 Flash Preview Sep 2025", context: 1048576, output: 65536},
	{id: "gemini-2.5-flash-lite-preview-09-2025", name: "Gemini 2.5 Flash-Lite Preview Sep 2025", context: 1048576, output: 65536},
	{id: "gemini-2.0-flash", name: "Gemini 2.0 Flash", context: 1048576, output: 8192},
	{id: "gemini-2.0-flash-lite", name: "Gemini 2.0 Flash-Lite", context: 1048576, output: 8192},
	{id: "gemini-3.1-pro-preview", name: "Gemini 3.1 Pro Preview", context: 1048576, output: 65536},
	{id: "gemini-3.1-flash-lite", name: "Gemini 3.1 Flash-Lite", context: 1048576, output: 65536},
	{id: "gemini-3.5-flash", name: "Gemini 3.5 Flash", context: 1048576, output: 65536},
	{id: "gemini-3.5-flash-lite", name: "Gemini 3.5 Flash-Lite", context: 1048576, output: 65536},
	{id: "gemini-3.6-flash", name: "Gemini 3.6 Flash", context: 1048576, output: 65536},
	{id: "gemini-3.7-flash", name: "Gemini 3.7 Flash", context: 1048576, output: 65536},
	{id: "gemini-3.8-flash", name: "Gemini 3.8 Flash", context: 1048576, output: 65536},
	{id: "gemini-4-argon", name: "Gemini 4 Argon", context: 1048576, output: 65536},
	{id: "gemini-embedding-001", name: "Gemini Embedding 001", context: 2048, output: 1, embeds: true},
	{id: "gemini-embedding-2", name: "Gemini Embedding 2", context: 8192, output: 1, embeds: true},
}
