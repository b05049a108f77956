package messages

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"modelgateway/api"
)

// A prompt that is too long is told in Anthropic's words, whichever provider refused it:
// Claude Code shortens the conversation only where it finds them, and reads their numbers.

// tokens of a refused request; 0 = not known.
type refused struct{ input, output, limit int64 }

// overflow is the message.
func overflow(e *api.Error) string {
	if strings.HasPrefix(e.Message, "prompt is too long: ") || strings.HasPrefix(e.Message, "input length and `max_tokens` exceed") {
		return e.Message
	}
	r := told(e.Message)
	if (r.input == 0 || r.limit == 0) && e.TooLong != nil {
		input, limit := e.TooLong()
		if r.limit == 0 {
			r.limit = limit
		}
		if r.input == 0 && r.limit > 0 {
			r.input = max(input, r.limit+1) // an estimate
		}
	}
	switch {
	case r.input == 0 || r.limit == 0:
		return "prompt is too long: " + e.Message
	case r.input <= r.limit && r.output > 0:
		return fmt.Sprintf("input length and `max_tokens` exceed context limit: %d + %d > %d, "+
			"decrease input length or `max_tokens` and try again", r.input, r.output, r.limit)
	}
	return fmt.Sprintf("prompt is too long: %d tokens > %d maximum", r.input, r.limit)
}

// What providers say. The groups are named by the members of refused. The texts are those
// of OpenAI, vLLM, Gemini and llama.cpp (2026-11).
var refusals = []*regexp.Regexp{
	regexp.MustCompile(`maximum context length is (?P<limit>\d+) tokens.*requested (?P<total>\d+) tokens ` +
		`\(.*\b(?P<output>\d+) in the completion\)`),
	regexp.MustCompile(`maximum context length is (?P<limit>\d+) tokens and your request has (?P<input>\d+) input tokens ` +
		`\((?P<output>\d+) > `),
	regexp.MustCompile(`maximum context length is (?P<limit>\d+) tokens.*(?:resulted in|requested|contains at least) ` +
		`(?P<input>\d+) (?:input )?tokens`),
	regexp.MustCompile(`passed (?P<input>\d+) input tokens and requested (?P<output>\d+) output tokens.* ` +
		`context length is only (?P<limit>\d+)`),
	regexp.MustCompile(`input token count \((?P<input>\d+)\) exceeds the maximum number of tokens allowed \((?P<limit>\d+)\)`),
	regexp.MustCompile(`request \((?P<input>\d+) tokens\) exceeds the available context size \((?P<limit>\d+) tokens\)`),
	regexp.MustCompile(`maximum context length is (?P<limit>\d+) tokens`),
}

// told are the numbers in a provider's message.
func told(message string) (r refused) {
	for _, form := range refusals {
		found := form.FindStringSubmatch(message)
		if found == nil {
			continue
		}
		number := func(name string) int64 {
			at := form.SubexpIndex(name)
			if at < 0 {
				return 0
			}
			n, err := strconv.ParseInt(found[at], 10, 64)
			if err != nil {
				return 0
			}
			return n
		}
		r = refused{input: number("input"), output: number("output"), limit: number("limit")}
		if total := number("total"); total > 0 {
			r.input = max(total-r.output, 0)
		}
		return r
	}
	return r
}
