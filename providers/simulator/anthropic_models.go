package simulator

import "strings"

type sampling int

const (
	samplesFreely sampling = iota
	samplesEither          // temperature or top_p, not both
	samplesNever
)

// claudeRules are what a generation of Claude takes.
type claudeRules struct {
	family   string
	sampling sampling
	// thinking holds the types of thinking that may be asked for.
	thinking string
	// thinksUnasked models think unless it is disabled, if "disabled" is taken.
	thinksUnasked bool
	// hidesThinking is the default of thinking.display from Opus 4.7 on.
	hidesThinking bool
	efforts       string
	// structured models take output_config.format and strict tools.
	structured bool
	// prefill models go on with a conversation that ends with the assistant.
	prefill bool
	// systemTurns models take system messages inside a conversation.
	systemTurns bool
	// unforced models never take a forced tool choice.
	unforced bool
}

const (
	manualThinking  = "enabled disabled"
	usualEfforts    = "high, low, max, medium"
	allEfforts      = "high, low, max, medium, xhigh"
	firstEfforts    = "high, low, medium"
	defaultThinking = "adaptive disabled"
)

// claudeFamilies is matched from the top; what matches nothing is newer than
// all of them.
var claudeFamilies = []claudeRules{
	{family: "claude-3-haiku", prefill: true},
	{family: "claude-3-opus", prefill: true},
	{family: "claude-3-sonnet", prefill: true},
	{family: "claude-3-5-", prefill: true},
	{family: "claude-3-7-", thinking: manualThinking, prefill: true},
	{family: "claude-opus-4-1", sampling: samplesEither, thinking: manualThinking, structured: true, prefill: true},
	{family: "claude-sonnet-4-5", sampling: samplesEither, thinking: manualThinking, structured: true, prefill: true},
	{family: "claude-haiku-4-5", sampling: samplesEither, thinking: manualThinking, structured: true, prefill: true},
	{family: "claude-opus-4-5", sampling: samplesEither, thinking: manualThinking, efforts: firstEfforts, structured: true, prefill: true},
	{family: "claude-sonnet-4-6", sampling: samplesEither, thinking: "adaptive enabled disabled", efforts: usualEfforts, structured: true},
	{family: "claude-opus-4-6", sampling: samplesEither, thinking: "adaptive enabled disabled", efforts: usualEfforts, structured: true},
	{family: "claude-opus-4-7", sampling: samplesNever, thinking: defaultThinking, hidesThinking: true, efforts: allEfforts, structured: true},
	{family: "claude-opus-4-8", sampling: samplesNever, thinking: defaultThinking, hidesThinking: true, efforts: allEfforts, structured: true, systemTurns: true},
	{family: "claude-sonnet-4", thinking: manualThinking, prefill: true},
	{family: "claude-opus-4", thinking: manualThinking, prefill: true},
	{family: "claude-opus-5", sampling: samplesNever, thinking: defaultThinking, thinksUnasked: true, hidesThinking: true, efforts: allEfforts, structured: true, systemTurns: true},
	{family: "claude-sonnet-5", sampling: samplesNever, thinking: defaultThinking, thinksUnasked: true, hidesThinking: true, efforts: allEfforts, structured: true},
	{family: "claude-fable-", sampling: samplesNever, thinking: "adaptive", thinksUnasked: true, hidesThinking: true, efforts: allEfforts, structured: true, systemTurns: true, unforced: true},
	{family: "claude-mythos-", sampling: samplesNever, thinking: "adaptive", thinksUnasked: true, hidesThinking: true, efforts: allEfforts, structured: true, systemTurns: true, unforced: true},
}

func rulesOf(id string) claudeRules {
	for _, rules := range claudeFamilies {
		if strings.HasPrefix(id, rules.family) {
			return rules
		}
	}
	return claudeRules{sampling: samplesNever, thinking: defaultThinking, hidesThinking: true, efforts: allEfforts, structured: true}
}

// thinks says whether an answer begins with thinking.
func (q *anthropicRequest) thinks() bool {
	if q.Thinking == nil {
		return rulesOf(q.Model).thinksUnasked
	}
	return q.Thinking.Type != "disabled"
}

func (q *anthropicRequest) showsThinking() bool {
	if q.Thinking != nil && q.Thinking.Display != "" {
		return q.Thinking.Display == "summarized"
	}
	return !rulesOf(q.Model).hidesThinking
}
