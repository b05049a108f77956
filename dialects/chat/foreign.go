package chat

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/jsonbytes"
)

// passedOn are the members of OpenAI's API that have no place in the common form, and
// choose neither a model nor what it costs (the reference of the API, 2026-11).
// moderation is not among them: it names a model.
var passedOn = map[string]bool{
	"prediction": true, "verbosity": true, "store": true,
	"prompt_cache_key": true, "prompt_cache_retention": true, "prompt_cache_options": true,
}

// choosing are names of members by which servers that copy the API choose a model, a
// destination, a provider, a plug-in or the cost. Some of them ignore the case.
var choosing = map[string]bool{
	"model": true, "models": true, "route": true, "provider": true, "providers": true, "plugin": true, "plugins": true,
	"base_url": true, "api_base": true, "api_key": true, "endpoint": true, "service_tier": true, "n": true, "best_of": true,
	"max_tokens": true, "max_completion_tokens": true, "min_tokens": true,
}

// opaque are members whose names are the client's own, or that hold no options.
var opaque = map[string]bool{
	"parameters": true, "schema": true, "metadata": true, "logit_bias": true, "reasoning_details": true, "extra_content": true,
}

// Foreign is the path of a member that is not OpenAI's or has a value that is not, or
// that may choose what answers or what it costs; empty if there is none. Names must be
// spelt exactly.
func (r *Request) Foreign() string {
	if unknown := r.unknownValue(); unknown != nil {
		return unknown.Param
	}
	if r.foreign != "" {
		return r.foreign
	}
	for name, value := range jsonbytes.Members(r.common.Raw) {
		if inner := chooses(name.String(), value); inner != "" {
			return inner
		}
	}
	return ""
}

// Chooses is Foreign: a request is checked alike for OpenAI and for servers that copy its API.
func (r *Request) Chooses() string { return r.Foreign() }

// chooses is the path of a member of the value of a name that may choose something.
func chooses(path string, value jsontext.Value) string {
	switch value.Kind() {
	case jsontext.KindBeginObject:
		if opaque[path[strings.LastIndexByte(path, '.')+1:]] {
			return ""
		}
		for literal, inner := range jsonbytes.Members(value) {
			name := literal.String()
			if choosing[strings.ToLower(name)] {
				return path + "." + name
			}
			if found := chooses(path+"."+name, inner); found != "" {
				return found
			}
		}
	case jsontext.KindBeginArray:
		for inner := range jsonbytes.Elements(value) {
			if found := chooses(path+"[]", inner); found != "" {
				return found
			}
		}
	}
	return ""
}
