package reply

import (
	"regexp"
	"strconv"
	"strings"
)

// Fault is a failure that a prompt can ask for.
type Fault int

// FaultError is an error answer in place of the reply, FaultMidstream an error
// event in the middle of a stream, FaultTruncation a connection that is closed in
// the middle of a stream.
const (
	NoFault Fault = iota
	FaultError
	FaultMidstream
	FaultTruncation
)

// Trigger is the fault that a prompt asks for, and the HTTP status of a
// FaultError.
type Trigger struct {
	Fault  Fault
	Status int
}

var triggerPattern = regexp.MustCompile(`(?i)\bsimulate (?:(error [45][0-9]{2})|(error midstream)|(truncation))\b` +
	`(?: (?:from|on|at) (openai|anthropic|gemini)\b)?`)

// Trigger reads the user's text that is not answered yet, and the system text.
// Faults that earlier turns asked for are not repeated.
func (p *Prompt) Trigger() Trigger {
	text := p.system
	if !p.answered {
		text += p.question
	}
	for _, m := range triggerPattern.FindAllStringSubmatch(text, -1) {
		if m[4] != "" && !strings.EqualFold(m[4], p.Provider) {
			continue
		}
		switch {
		case m[1] != "":
			status, err := strconv.Atoi(m[1][len("error "):])
			if err == nil {
				return Trigger{FaultError, status}
			}
		case m[2] != "":
			return Trigger{Fault: FaultMidstream}
		default:
			return Trigger{Fault: FaultTruncation}
		}
	}
	return Trigger{}
}
