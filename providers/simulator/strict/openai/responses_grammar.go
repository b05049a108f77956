package openai

import "modelgateway/providers/simulator/strict/grammar"

// passthrough is a member of items that Codex sends to OpenAI itself (0.169, 2026-11-22).
const passthrough = "internal_chat_message_metadata_passthrough"

// responsesGrammar is the body of POST /v1/responses. Of the items and the tools it has those
// that other APIs have as well; others are left to the simulator.
// Source: https://platform.openai.com/docs/api-reference/responses/create
var responsesGrammar = grammar.Grammar{
	"request": {
		"model": "string !", "input": "string|item@type/message[]", "instructions": "string|any[]",
		"max_output_tokens": "integer 16..", "max_tool_calls": "integer 1..", "temperature": "number 0..2", "top_p": "number 0..1",
		"top_logprobs": "integer 0..20", "stream": "boolean", "stream_options": "streamOptions", "background": "boolean",
		"tools": "tool@type[]", "tool_choice": "string|choice@type none auto required", "parallel_tool_calls": "boolean",
		"text": "text", "reasoning": "reasoning", "include": "string[]", "store": "boolean", "metadata": "object",
		"user": "string", "safety_identifier": "string", "prompt_cache_key": "string", "prompt_cache_retention": "string in_memory in-memory 24h",
		"prompt_cache_options": "object", "service_tier": "string auto default flex scale priority fast",
		"truncation": "string auto disabled", "previous_response_id": "string", "conversation": "string|object", "prompt": "object",
		"context_management": "any[]", "moderation": "object", "access_programs": "object", "client_metadata": "object",
	},
	"streamOptions": {"include_obfuscation": "boolean"},
	"text":          {"format": "format@type", "verbosity": "string low medium high"},
	"reasoning": {
		"effort": "string none minimal low medium high xhigh max", "summary": "string auto concise detailed",
		"generate_summary": "string auto concise detailed", "mode": "string", "context": "string",
	},
	"item:message": {
		"type": "string", "role": "string ! user assistant system developer", "content": "string|part@type[] !", "id": "string",
		"status": "string in_progress completed incomplete", "phase": "string commentary final_answer",
		passthrough: "any",
	},
	"item:reasoning": {
		passthrough: "any",
		"type":      "string !", "id": "string", "summary": "summary@type[] !", "content": "any[]", "encrypted_content": "string",
		"status": "string in_progress completed incomplete",
	},
	"item:function_call": {
		passthrough: "any",
		"type":      "string !", "call_id": "string !", "name": "string !", "arguments": "string !", "id": "string", "namespace": "string",
		"status": "string in_progress completed incomplete", "async": "boolean", "caller": "object",
	},
	"item:function_call_output": {
		passthrough: "any",
		"type":      "string !", "call_id": "string", "output": "string|part@type[] !", "id": "string", "name": "string", "namespace": "string",
		"status": "string in_progress completed incomplete", "caller": "object",
	},
	"item:custom_tool_call": {
		passthrough: "any",
		"type":      "string !", "call_id": "string !", "name": "string !", "input": "string !", "id": "string", "namespace": "string",
		"status": "string in_progress completed incomplete", "async": "boolean", "caller": "object",
	},
	"item:custom_tool_call_output": {
		passthrough: "any",
		"type":      "string !", "call_id": "string !", "output": "string|part@type[] !", "id": "string", "caller": "object",
		"status": "string in_progress completed incomplete",
	},
	"summary:summary_text": {"type": "string !", "text": "string !"},
	"part:input_text":      {"type": "string !", "text": "string !", "prompt_cache_breakpoint": "object"},
	"part:input_image": {
		"type": "string !", "image_url": "string", "file_id": "string", "detail": "string auto low high original",
		"prompt_cache_breakpoint": "object",
	},
	"part:input_file": {
		"type": "string !", "file_data": "string", "file_url": "string", "file_id": "string", "filename": "string", "detail": "string",
		"prompt_cache_breakpoint": "object",
	},
	"part:output_text": {"type": "string !", "text": "string !", "annotations": "any[]", "logprobs": "any[]"},
	"part:refusal":     {"type": "string !", "refusal": "string !"},
	"tool:function": {
		"type": "string !", "name": "string !", "description": "string", "parameters": "object", "strict": "boolean",
		"defer_loading": "boolean", "output_schema": "object", "allowed_callers": "any[]", "async": "boolean",
	},
	"tool:custom": {
		"type": "string !", "name": "string !", "description": "string", "format": "customFormat@type", "defer_loading": "boolean",
		"allowed_callers": "any[]", "async": "boolean",
	},
	"customFormat:text":    {"type": "string !"},
	"customFormat:grammar": {"type": "string !", "syntax": "string ! lark regex", "definition": "string !"},
	"choice:function":      {"type": "string !", "name": "string !"},
	"choice:custom":        {"type": "string !", "name": "string !"},
	"choice:allowed_tools": {"type": "string !", "mode": "string ! auto required", "tools": "any[] !"},
	"format:text":          {"type": "string !"},
	"format:json_object":   {"type": "string !"},
	"format:json_schema": {
		"type": "string !", "name": "string !", "description": "string", "schema": "object !", "strict": "boolean",
	},
}
