package reply

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"modelgateway/providers/simulator/rawjson"
)

// quoteRunes is how much of a foreign text a reply repeats.
const quoteRunes = 200

// End is what ended a reply.
type End int

// EndTurn is the reply's own end. A stop sequence, the token limit or tool calls
// are the others.
const (
	EndTurn End = iota
	EndStop
	EndLength
	EndCalls
)

// Reply is text or calls, perhaps after reasoning.
type Reply struct {
	Reasoning string
	Text      string
	Calls     []Call
	End       End
	Stop      string // the stop sequence of EndStop
}

// Call is a tool call. One that the token limit cut short is not complete: its
// arguments are the beginning of a JSON text.
type Call struct {
	Namespace string
	Name      string
	Arguments string
	Custom    bool
	Complete  bool
}

// ReasoningTokens counts the reasoning.
func (r Reply) ReasoningTokens() int { return countTokens(r.Reasoning) }

// AnswerTokens counts the text and the calls.
func (r Reply) AnswerTokens() int {
	n := countTokens(r.Text)
	for _, c := range r.Calls {
		n += 1 + countTokens(c.Arguments)
	}
	return n
}

// Reply generates the reply of an index, which is the same for the same prompt
// at any time. Of several replies to one prompt all but the first name their
// index.
func (p *Prompt) Reply(index int) Reply {
	left := p.MaxTokens
	if left <= 0 {
		left = math.MaxInt
	}
	r := Reply{}
	if p.Reasons {
		r.Reasoning, left = p.reason(left)
	}
	if left == 0 {
		r.End = EndLength
		return r
	}
	if p.mustCall() {
		r.Calls, r.End = p.callTools(left)
		return r
	}
	announced := p.opening() + "It calls a tool for what you asked."
	if step, rest := p.nextStep(), left-countTokens(announced); len(step) > 0 && rest > 0 {
		r.Text = announced
		r.Calls, r.End = cut(step, rest)
		return r
	}
	r.Text, r.End, r.Stop = p.text(index, left)
	return r
}

func (p *Prompt) reason(limit int) (reasoning string, left int) {
	reasoning = fmt.Sprintf("This is simulated reasoning. The request says: \"%s\". A fixed answer will do.", quote(p.question))
	tokens := Split(reasoning)
	if len(tokens) > limit {
		tokens = tokens[:limit]
	}
	return strings.Join(tokens, ""), limit - len(tokens)
}

// mustCall lets a tool loop end: with a free choice, a tool result is answered
// with text, and the tools of an agent are left to nextStep. A forced choice calls
// every time, as the providers do.
func (p *Prompt) mustCall() bool {
	if len(p.callable()) == 0 || p.Choice.Mode == ChoiceNone {
		return false
	}
	return p.Choice.Mode == ChoiceForced || len(p.results) == 0 && !p.servesAgent()
}

func (p *Prompt) callable() []Tool {
	if len(p.Choice.Names) == 0 {
		return p.tools
	}
	var allowed []Tool
	for _, t := range p.tools {
		if slices.Contains(p.Choice.Names, t.Name) {
			allowed = append(allowed, t)
		}
	}
	return allowed
}

var asksForTwo = regexp.MustCompile(`(?i)\b(both|parallel)\b`)

func (p *Prompt) callTools(limit int) ([]Call, End) {
	count := 1
	if p.Parallel && asksForTwo.MatchString(p.question) {
		count = 2
	}
	chosen := p.callable()[0]
	var wanted []Call
	for i := range count {
		arguments := quote(p.question)
		if !chosen.Custom {
			arguments = string(instance(chosen.Schema, p.question, i))
		}
		wanted = append(wanted, Call{Namespace: chosen.Namespace, Name: chosen.Name, Arguments: arguments, Custom: chosen.Custom})
	}
	return cut(wanted, limit)
}

// cut ends calls at a limit of tokens, of which the name of a call takes one.
func cut(wanted []Call, limit int) ([]Call, End) {
	var calls []Call
	for _, c := range wanted {
		limit--
		tokens := Split(c.Arguments)
		if limit < len(tokens) {
			c.Arguments = strings.Join(tokens[:max(limit, 0)], "")
			return append(calls, c), EndLength
		}
		limit -= len(tokens)
		c.Complete = true
		calls = append(calls, c)
	}
	return calls, EndCalls
}

func (p *Prompt) text(index, limit int) (text string, end End, stop string) {
	text = p.fullText(index)
	if tokens := Split(text); len(tokens) > limit {
		text, end = strings.Join(tokens[:limit], ""), EndLength
	}
	first := len(text)
	for _, s := range p.Stops {
		if at := strings.Index(text, s); s != "" && at >= 0 && at < first {
			first, end, stop = at, EndStop, s
		}
	}
	return text[:first], end, stop
}

func (p *Prompt) fullText(index int) string {
	if p.JSON {
		if p.Schema == nil {
			return p.plainObject()
		}
		return string(instance(p.Schema, p.question, index))
	}
	text := p.opening()
	switch {
	case p.called > 0 && len(p.steps()) > 0:
		text += "The task is done. " + p.quoteResults()
	case len(p.results) > 0:
		text += p.quoteResults()
	default:
		text += fmt.Sprintf("You said: \"%s\"", quote(p.question))
	}
	text += p.attachments()
	if p.servesAgent() && p.called == 0 {
		text += " " + hint
	}
	if index > 0 {
		text += fmt.Sprintf(" (choice %d)", index+1)
	}
	return text
}

// opening begins every text.
func (p *Prompt) opening() string {
	return fmt.Sprintf("This is a simulated answer from %s. ", p.Model)
}

func (p *Prompt) plainObject() string {
	return string(spaced(rawjson.Encode(rawjson.Object{"simulated", true, "model", p.Model, "you_said", quote(p.question)})))
}

func (p *Prompt) quoteResults() string {
	var texts []string
	for _, r := range p.results {
		texts = append(texts, fmt.Sprintf("The tool %s returned: \"%s\"", r.name, quote(r.text)))
	}
	return strings.Join(texts, " ")
}

func (p *Prompt) attachments() string {
	var counts []string
	if p.images > 0 {
		counts = append(counts, plural(p.images, "image"))
	}
	if p.files > 0 {
		counts = append(counts, plural(p.files, "file"))
	}
	if len(counts) == 0 {
		return ""
	}
	return " With it came " + strings.Join(counts, " and ") + "."
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func quote(s string) string {
	s = strings.TrimSpace(s)
	if runes := []rune(s); len(runes) > quoteRunes {
		return string(runes[:quoteRunes]) + "…"
	}
	return s
}
