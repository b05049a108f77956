package converse

import "strings"

// family is what the models of a vendor have in common. Bedrock refuses what a model does not
// take ("This model doesn't support the stopSequences field. Remove stopSequences and try again."),
// and its list of models does not tell what that is.
type family struct {
	id string // a part of the ids of its models

	force      force
	effort     effort
	structured bool // takes a JSON schema for its answer, and strict tools
	nova       bool // takes cache points, and topK in its own form
	images     bool // takes images in the result of a tool
	alone      bool // takes nothing beside the results of tools in a message
	noStatus   bool // takes no status of a result
	noStop     bool // takes no stop sequences
	noSampling bool // takes neither temperature nor topP
	thoughts   bool // takes its reasoning back; others refuse it ("User messages cannot contain reasoning content")
	shortIDs   bool // ids of calls are nine letters or digits
}

// force is how a model can be made to call a tool.
type force int

const (
	forceNone force = iota
	forceAny        // one of all
	forceTool       // also a certain one
)

// effort is the member of additionalModelRequestFields that says how hard to think.
type effort string

const (
	effortNova   effort = "reasoningConfig"
	effortOSS    effort = "reasoning_effort"
	effortOpenAI effort = "reasoning"
)

// families are in the order in which they are looked for. They follow the user guide
// (structured-output, API_runtime_ToolChoice) and calls that other projects have recorded:
// pydantic-ai, vercel/ai, langchain-aws#1270 and #1278 (2026-11).
var families = []family{
	{id: "amazon.nova-2", force: forceTool, effort: effortNova, nova: true, images: true},
	{id: "amazon.nova", force: forceTool, nova: true, images: true},
	{id: "openai.gpt-oss", force: forceTool, effort: effortOSS, thoughts: true, noStop: true},
	{id: "openai.", force: forceTool, effort: effortOpenAI, thoughts: true, noStop: true, noSampling: true},
	{id: "deepseek.v3", force: forceAny, structured: true},
	{id: "google.gemma-3", structured: true},
	{id: "meta.llama", alone: true, images: true},
	{id: "minimax.minimax-m2", structured: true},
	{id: "mistral.mistral-large-3", force: forceAny, structured: true, alone: true, shortIDs: true},
	{id: "mistral.mistral-large", force: forceAny, alone: true, shortIDs: true},
	{id: "mistral.magistral", structured: true, alone: true, shortIDs: true},
	{id: "mistral.ministral", structured: true, alone: true, shortIDs: true},
	{id: "mistral.", alone: true, shortIDs: true},
	{id: "moonshot", force: forceTool, structured: true},
	{id: "nvidia.nemotron", structured: true},
	{id: "qwen.qwen3", structured: true, noStop: true},
	{id: "writer.", alone: true, noStatus: true},
	{id: "xai.", force: forceTool},
	{id: "zai.", force: forceTool, structured: true},
}

// familyOf is that of a model's ids: a region may stand before Bedrock's own, and that of an inference
// profile does not tell the model, which the client's may do. It is empty for an unknown one.
func familyOf(ids string) family {
	for _, f := range families {
		if strings.Contains(ids, f.id) {
			return f
		}
	}
	return family{}
}
