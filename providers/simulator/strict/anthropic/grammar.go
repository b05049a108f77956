package anthropic

import "modelgateway/providers/simulator/strict/grammar"

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
		"inference_geo": "any", "diagnostics": "any", "fallbacks": "any",
	},
	"message":          {"role": "string ! user assistant system", "content": "string|block@type[] !"},
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
	"resultBlock:search_result": {"type": "string", "source": "string !", "title": "string !", "content": "any[] !"},
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
	"choice:auto":        {"type": "string", "disable_parallel_tool_use": "boolean"},
	"choice:any":         {"type": "string", "disable_parallel_tool_use": "boolean"},
	"choice:tool":        {"type": "string", "name": "string !", "disable_parallel_tool_use": "boolean"},
	"choice:none":        {"type": "string"},
	"thinking:enabled":   {"type": "string", "budget_tokens": "integer ! 1024..", "display": "string summarized omitted"},
	"thinking:adaptive":  {"type": "string", "display": "string summarized omitted"},
	"thinking:disabled":  {"type": "string"},
	"output":             {"effort": "string low medium high xhigh max", "format": "format@type", "task_budget": "any"},
	"format:json_schema": {"type": "string", "schema": "object !"},
	"metadata":           {"user_id": "string"},
	"cache:ephemeral":    {"type": "string", "ttl": "string 5m 1h"},
}
