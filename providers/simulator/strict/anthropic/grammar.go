package anthropic

import (
	"maps"

	"modelgateway/providers/simulator/strict/grammar"
)

// hostedTool are the members of the tools that Anthropic describes, hostedResult those of the
// results of the ones that it runs.
var (
	hostedTool = map[string]string{
		"type": "string", "name": "string !", "cache_control": "cache@type", "defer_loading": "boolean", "allowed_callers": "any[]",
		"max_uses": "integer 1..", "allowed_domains": "string[]", "blocked_domains": "string[]", "user_location": "object",
		"citations": "any", "max_content_tokens": "integer 1..", "max_characters": "integer 1..",
	}
	hostedResult = map[string]string{
		"type": "string", "tool_use_id": "string !", "content": "any !", "cache_control": "cache@type", "caller": "any",
	}
)

// countGrammar is the body of POST /v1/messages/count_tokens.
// Source: https://docs.claude.com/en/api/messages-count-tokens
func countGrammar() grammar.Grammar {
	count, request := maps.Clone(requestGrammar), maps.Clone(requestGrammar["request"])
	for _, member := range []string{
		"max_tokens", "temperature", "top_p", "top_k", "stop_sequences", "stream", "metadata", "service_tier", "container",
		"inference_geo", "diagnostics", "fallbacks", "thread",
	} {
		delete(request, member)
	}
	count["request"] = request
	return count
}

// requestGrammar is the body of POST /v1/messages.
// Source: https://docs.claude.com/en/api/messages
var requestGrammar = grammar.Grammar{
	"request": {
		"model": "string !", "max_tokens": "integer ! 1..", "messages": "message[] !",
		"system": "string|systemBlock@type[]", "temperature": "number 0..1", "top_p": "number 0..1", "top_k": "integer 0..",
		"stop_sequences": "string[]", "stream": "boolean",
		"tools": "tool@type/custom[]", "tool_choice": "choice@type", "thinking": "thinking@type",
		"output_config": "output", "output_format": "format@type", "metadata": "metadata",
		"service_tier": "string auto standard_only", "cache_control": "cache@type",
		"container": "any", "context_management": "any", "mcp_servers": "any", "speed": "any",
		"inference_geo": "any", "diagnostics": "any", "fallbacks": "any", "thread": "any",
	},
	"message": {
		"role": "string ! user assistant system", "content": "string|block@type[] !",
		"output_config": "turnOutput", // of system messages, with the beta per-turn-control
	},
	"systemBlock:text": {"type": "string", "text": "string !", "cache_control": "cache@type", "citations": "any"},
	"block:text":       {"type": "string", "text": "string !", "cache_control": "cache@type", "citations": "any"},
	"block:image":      {"type": "string", "source": "image@type !", "cache_control": "cache@type"},
	"block:document": {
		"type": "string", "source": "document@type !", "cache_control": "cache@type",
		"title": "string", "context": "string", "citations": "any",
	},
	"block:tool_result": {
		"type": "string", "tool_use_id": "string !", "content": "string|resultBlock@type[]",
		"is_error": "boolean", "cache_control": "cache@type",
	},
	"block:search_result": {
		"type": "string", "source": "string !", "title": "string !", "content": "any[] !", "cache_control": "cache@type", "citations": "any",
	},
	"block:tool_use": {
		"type": "string", "id": "string !", "name": "string !",
		"input": "object !", "cache_control": "cache@type", "caller": "any",
	},
	"block:thinking":          {"type": "string", "thinking": "string !", "signature": "string !"},
	"block:redacted_thinking": {"type": "string", "data": "string !"},
	"resultBlock:text":        {"type": "string", "text": "string !", "cache_control": "cache@type", "citations": "any"},
	"resultBlock:image":       {"type": "string", "source": "image@type !", "cache_control": "cache@type"},
	"resultBlock:document": {
		"type": "string", "source": "document@type !", "cache_control": "cache@type",
		"title": "string", "context": "string", "citations": "any",
	},
	"resultBlock:search_result":  {"type": "string", "source": "string !", "title": "string !", "content": "any[] !"},
	"resultBlock:tool_reference": {"type": "string", "tool_name": "string !", "cache_control": "cache@type"},
	"block:server_tool_use": {
		"type": "string", "id": "string !", "name": "string !", "input": "object !", "cache_control": "cache@type", "caller": "any",
	},
	"block:web_search_tool_result":     hostedResult,
	"block:web_fetch_tool_result":      hostedResult,
	"block:code_execution_tool_result": hostedResult,
	"block:tool_search_tool_result":    hostedResult,
	"block:compaction":                 {"type": "string", "content": "string", "cache_control": "cache@type"},
	"image:base64": {
		"type": "string", "media_type": "string ! image/jpeg image/png image/gif image/webp",
		"data": "string !",
	},
	"image:url":        {"type": "string", "url": "string !"},
	"image:file":       {"type": "string", "file_id": "string !"},
	"document:base64":  {"type": "string", "media_type": "string ! application/pdf", "data": "string !"},
	"document:text":    {"type": "string", "media_type": "string ! text/plain", "data": "string !"},
	"document:content": {"type": "string", "content": "any !"},
	"document:url":     {"type": "string", "url": "string !"},
	"document:file":    {"type": "string", "file_id": "string !"},
	"tool:custom": {
		"type": "string", "name": "string !", "description": "string", "input_schema": "object !", "cache_control": "cache@type",
		"strict": "boolean", "defer_loading": "boolean", "eager_input_streaming": "boolean",
		"input_examples": "any[]", "allowed_callers": "any[]",
	},
	"tool:web_search_20250305":             hostedTool,
	"tool:web_search_20260209":             hostedTool,
	"tool:web_fetch_20250910":              hostedTool,
	"tool:code_execution_20250825":         hostedTool,
	"tool:tool_search_tool_regex_20251119": hostedTool,
	"tool:tool_search_tool_bm25_20251119":  hostedTool,
	"tool:bash_20250124":                   hostedTool,
	"tool:text_editor_20250728":            hostedTool,
	"tool:memory_20250818":                 hostedTool,

	"choice:auto":        {"type": "string", "disable_parallel_tool_use": "boolean"},
	"choice:any":         {"type": "string", "disable_parallel_tool_use": "boolean"},
	"choice:tool":        {"type": "string", "name": "string !", "disable_parallel_tool_use": "boolean"},
	"choice:none":        {"type": "string"},
	"thinking:enabled":   {"type": "string", "budget_tokens": "integer ! 1024..", "display": "string summarized omitted updates"},
	"thinking:adaptive":  {"type": "string", "display": "string summarized omitted updates"},
	"thinking:disabled":  {"type": "string"},
	"output":             {"effort": "string low medium high xhigh max", "format": "format@type", "task_budget": "any"},
	"turnOutput":         {"effort": "string low medium high xhigh max"},
	"format:json_schema": {"type": "string", "schema": "object !"},
	"metadata":           {"user_id": "string"},
	"cache:ephemeral":    {"type": "string", "ttl": "string 5m 1h"},
}
