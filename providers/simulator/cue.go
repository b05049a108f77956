package simulator

import (
	"regexp"
	"strconv"
	"strings"
)

type cueKind int

const (
	cueNone cueKind = iota
	cueError
	cueMidstream
	cueTruncation
)

// A cue is a fault that the prompt asks for.
type cue struct {
	kind   cueKind
	status int
}

var cuePattern = regexp.MustCompile(`(?i)\bsimulate (?:(error [45][0-9]{2})|(error midstream)|(truncation))\b(?: (?:from|on|at) (openai|anthropic|gemini)\b)?`)

// cue reads the text that waits for an answer, and the system text. A cue in an
// earlier turn is history.
func (p *prompt) cue() cue {
	heard := p.system
	if !p.answered {
		heard += p.asked
	}
	for _, m := range cuePattern.FindAllStringSubmatch(heard, -1) {
		if m[4] != "" && !strings.EqualFold(m[4], p.provider) {
			continue
		}
		switch {
		case m[1] != "":
			status, err := strconv.Atoi(m[1][len("error "):])
			if err == nil {
				return cue{cueError, status}
			}
		case m[2] != "":
			return cue{kind: cueMidstream}
		default:
			return cue{kind: cueTruncation}
		}
	}
	return cue{}
}
