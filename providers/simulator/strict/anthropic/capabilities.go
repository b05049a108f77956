package anthropic

import "strings"

type sampling int

const (
	samplesFreely sampling = iota
	samplesEither          // temperature or top_p, not both
	samplesNever
)

// capabilities are the parameters that a generation of Claude accepts.
type capabilities struct {
	family   string
	sampling sampling
	// thinking holds the types of thinking that may be asked for.
	thinking string
	efforts  string
	// structured models take output_config.format and strict tools.
	structured bool
	// prefill models continue a conversation that ends with the assistant.
	prefill bool
	// systemTurns models take system messages inside a conversation.
	systemTurns bool
	// unforced models never take a forced tool choice.
	unforced bool
}

const (
	manualThinking   = "enabled disabled"
	adaptiveThinking = "adaptive disabled"
	bothThinking     = "adaptive enabled disabled"

	firstEfforts = "high, low, medium"
	someEfforts  = "high, low, max, medium"
	allEfforts   = "high, low, max, medium, xhigh"
)

var (
	// newest are the capabilities of the newest families. Unknown ones take system
	// messages inside a conversation as well.
	newest = capabilities{sampling: samplesNever, thinking: adaptiveThinking, efforts: allEfforts, structured: true}
	// alwaysThinking are the capabilities of the families whose thinking cannot be
	// disabled.
	alwaysThinking = capabilities{
		sampling: samplesNever, thinking: "adaptive", efforts: allEfforts, structured: true, systemTurns: true, unforced: true,
	}
)

// families are matched from the top, by prefix.
var families = []capabilities{
	{family: "claude-3-haiku", prefill: true},
	{family: "claude-3-opus", prefill: true},
	{family: "claude-3-sonnet", prefill: true},
	{family: "claude-3-5-", prefill: true},
	{family: "claude-3-7-", thinking: manualThinking, prefill: true},
	{family: "claude-opus-4-1", sampling: samplesEither, thinking: manualThinking, structured: true, prefill: true},
	{family: "claude-sonnet-4-5", sampling: samplesEither, thinking: manualThinking, structured: true, prefill: true},
	{family: "claude-haiku-4-5", sampling: samplesEither, thinking: manualThinking, structured: true, prefill: true},
	{family: "claude-opus-4-5", sampling: samplesEither, thinking: manualThinking, efforts: firstEfforts, structured: true, prefill: true},
	{family: "claude-sonnet-4-6", sampling: samplesEither, thinking: bothThinking, efforts: someEfforts, structured: true},
	{family: "claude-opus-4-6", sampling: samplesEither, thinking: bothThinking, efforts: someEfforts, structured: true},
	newest.of("claude-opus-4-7"),
	newest.withSystemTurns("claude-opus-4-8"),
	{family: "claude-sonnet-4", thinking: manualThinking, prefill: true},
	{family: "claude-opus-4", thinking: manualThinking, prefill: true},
	newest.withSystemTurns("claude-opus-5"),
	newest.withSystemTurns("claude-sonnet-5-5"),
	newest.of("claude-sonnet-5"),
	alwaysThinking.of("claude-fable-"),
	alwaysThinking.of("claude-mythos-"),
}

func (c capabilities) of(family string) capabilities {
	c.family = family
	return c
}

func (c capabilities) withSystemTurns(family string) capabilities {
	c.family, c.systemTurns = family, true
	return c
}

func capabilitiesOf(model string) capabilities {
	for _, c := range families {
		if strings.HasPrefix(model, c.family) {
			return c
		}
	}
	return newest.withSystemTurns("")
}
