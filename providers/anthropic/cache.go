package anthropic

import (
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/llm"
)

// maxCacheControls is how many cache_control members Anthropic takes in one
// request.
const maxCacheControls = 4

// cacheControl adds the cache_control of the whole request. Where there are too
// many, the last ones stay: they cover the longest part of the prompt, in the
// order tools, system, messages.
func (t *translation) cacheControl() {
	var all []*jsontext.Value
	for i := range t.tools {
		all = addCacheControl(all, &t.tools[i].cacheControl)
	}
	if system, ok := t.out.System.([]block); ok {
		all = addCacheControls(all, system)
	}
	for i := range t.out.Messages {
		all = addCacheControls(all, t.out.Messages[i].Content)
	}
	t.out.CacheControl = t.req.Cache
	all = addCacheControl(all, &t.out.CacheControl)
	for ; len(all) > maxCacheControls; all = all[1:] {
		*all[0] = nil
		t.ignore(llm.FieldCache)
	}
}

func addCacheControls(all []*jsontext.Value, blocks []block) []*jsontext.Value {
	for i := range blocks {
		if inner, ok := blocks[i].Content.([]block); ok {
			all = addCacheControls(all, inner)
		}
		all = addCacheControl(all, &blocks[i].CacheControl)
	}
	return all
}

func addCacheControl(all []*jsontext.Value, one *jsontext.Value) []*jsontext.Value {
	if *one == nil {
		return all
	}
	return append(all, one)
}
