package simulator

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// quoteLimit is how much of somebody else's text an answer repeats, in runes.
const quoteLimit = 200

type ending int

const (
	endTurn ending = iota
	endStop
	endLength
	endCalls
)

// A reply is what is said to a prompt: text or calls, perhaps after reasoning.
type reply struct {
	reasoning string
	text      string
	calls     []call
	end       ending
	stop      string // the stop sequence that was met
}

// A call whose arguments were cut short by the token limit is not whole.
type call struct {
	name   string
	args   string
	custom bool
	whole  bool
}

func (r reply) reasoningTokens() int { return countTokens(r.reasoning) }

func (r reply) spokenTokens() int {
	n := countTokens(r.text)
	for _, c := range r.calls {
		n += 1 + countTokens(c.args)
	}
	return n
}

// reply is the same for the same prompt, whatever the day. Of several replies
// to one prompt all but the first say which they are.
func (p *prompt) reply(index int) reply {
	room := p.limit
	if room == 0 {
		room = int(^uint(0) >> 1)
	}
	r := reply{}
	if p.reasons {
		r.reasoning, room = p.think(room)
	}
	if room == 0 {
		r.end = endLength
		return r
	}
	if p.mustCall() {
		r.calls, r.end = p.callTools(room)
		return r
	}
	r.text, r.end, r.stop = p.say(index, room)
	return r
}

func (p *prompt) think(room int) (thought string, left int) {
	thought = fmt.Sprintf("This is simulated reasoning. The request says: \"%s\". A fixed answer will do.", quote(p.asked))
	tokens := split(thought)
	if len(tokens) > room {
		tokens = tokens[:room]
	}
	return strings.Join(tokens, ""), room - len(tokens)
}

// mustCall keeps a tool loop from going on for ever: with a free choice, a tool
// result is answered with text. A forced choice calls every time, as it does
// upstream.
func (p *prompt) mustCall() bool {
	if len(p.callable()) == 0 || p.choice.mode == choiceNone {
		return false
	}
	return p.choice.mode == choiceForced || len(p.results) == 0
}

func (p *prompt) callable() []tool {
	if len(p.choice.names) == 0 {
		return p.tools
	}
	var allowed []tool
	for _, t := range p.tools {
		if slices.Contains(p.choice.names, t.name) {
			allowed = append(allowed, t)
		}
	}
	return allowed
}

var asksForTwo = regexp.MustCompile(`(?i)\b(both|parallel)\b`)

func (p *prompt) callTools(room int) ([]call, ending) {
	count := 1
	if p.parallel && asksForTwo.MatchString(p.asked) {
		count = 2
	}
	chosen := p.callable()[0]
	var calls []call
	for i := range count {
		args := quote(p.asked)
		if !chosen.custom {
			args = string(instance(chosen.schema, p.asked, i))
		}
		room--
		tokens := split(args)
		if room < len(tokens) {
			args = strings.Join(tokens[:max(room, 0)], "")
			return append(calls, call{name: chosen.name, args: args, custom: chosen.custom}), endLength
		}
		room -= len(tokens)
		calls = append(calls, call{name: chosen.name, args: args, custom: chosen.custom, whole: true})
	}
	return calls, endCalls
}

func (p *prompt) say(index, room int) (said string, end ending, stop string) {
	said = p.answer(index)
	if tokens := split(said); len(tokens) > room {
		said, end = strings.Join(tokens[:room], ""), endLength
	}
	first := len(said)
	for _, s := range p.stops {
		if at := strings.Index(said, s); s != "" && at >= 0 && at < first {
			first, end, stop = at, endStop, s
		}
	}
	return said[:first], end, stop
}

func (p *prompt) answer(index int) string {
	if p.asJSON {
		if p.schema == nil {
			return p.plainObject()
		}
		return string(instance(p.schema, p.asked, index))
	}
	said := fmt.Sprintf("This is a simulated answer from %s. ", p.model)
	if len(p.results) > 0 {
		said += p.quoteResults()
	} else {
		said += fmt.Sprintf("You said: \"%s\"", quote(p.asked)) + p.attachments()
	}
	if index > 0 {
		said += fmt.Sprintf(" (choice %d)", index+1)
	}
	return said
}

func (p *prompt) plainObject() string {
	said := struct {
		Simulated bool   `json:"simulated"`
		Model     string `json:"model"`
		YouSaid   string `json:"you_said"`
	}{true, p.model, quote(p.asked)}
	return string(spaced(encode(said)))
}

func (p *prompt) quoteResults() string {
	var said []string
	for _, r := range p.results {
		said = append(said, fmt.Sprintf("The tool %s returned: \"%s\"", r.name, quote(r.text)))
	}
	return strings.Join(said, " ")
}

func (p *prompt) attachments() string {
	var came []string
	if p.images > 0 {
		came = append(came, plural(p.images, "image"))
	}
	if p.files > 0 {
		came = append(came, plural(p.files, "file"))
	}
	if len(came) == 0 {
		return ""
	}
	return " With it came " + strings.Join(came, " and ") + "."
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func quote(s string) string {
	s = strings.TrimSpace(s)
	if runes := []rune(s); len(runes) > quoteLimit {
		return string(runes[:quoteLimit]) + "…"
	}
	return s
}
