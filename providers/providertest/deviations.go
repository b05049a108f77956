package providertest

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Deviation is a recording whose expectation the gateway does not follow, on
// purpose.
type Deviation struct {
	File   string
	Reason string

	amend func(e *Expect)
}

// Deviations are all of them; nothing else may differ.
func Deviations() []Deviation {
	return []Deviation{
		{
			File: "gemini-synthetic/syn_stream_malformed_function_call.sse",
			Reason: "expected is an empty answer that stopped; without any text that is a silent loss, " +
				"so it becomes a 502 provider_error that can be tried again",
			amend: func(e *Expect) { e.FinishReason, e.Error = nil, jsontext.Value(`{"code":502}`) },
		},
		{
			File: "openai/llm_tools_streaming_variant_a_0.sse",
			Reason: "the upstream repeats the call's id and name in its second fragment, and the expectation joins the names; " +
				"it is one call of one function, named once",
			amend: func(e *Expect) {
				e.ToolCalls = slices.Clone(e.ToolCalls)
				e.ToolCalls[0].Name = "llm_version"
			},
		},
		{
			File: "openai/llm_tools_streaming_variant_d_0.sse",
			Reason: "the arguments are null upstream and empty in the expectation; a call without arguments has {}, " +
				"because clients parse them as JSON",
			amend: func(e *Expect) {
				e.ToolCalls = slices.Clone(e.ToolCalls)
				e.ToolCalls[0].Arguments = "{}"
			},
		},
	}
}

// amended is the expectation with what deviates from it on purpose.
func (r Recording) amended() Expect {
	want := r.Expect
	for _, d := range Deviations() {
		if d.File == r.File {
			d.amend(&want)
		}
	}
	return want
}
