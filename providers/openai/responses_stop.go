package openai

import (
	"strings"

	"modelgateway/llm"
)

// stopper finds the stop sequences of a request in the text of its answer: the Responses
// API has none. What may be the beginning of one is held back.
type stopper struct {
	stops []string
	held  string
	cut   bool // one has been found: the answer ends before it
}

// take is what of the text so far may be sent, and the stop sequence that ends it: the one
// that is whole first, and of these the longest. So it does not depend on how the text is
// divided.
func (s *stopper) take(text string) (out, stop string) {
	if len(s.stops) == 0 {
		return text, ""
	}
	text = s.held + text
	at, end := -1, 0
	for _, word := range s.stops {
		if i := strings.Index(text, word); i >= 0 && word != "" && (at < 0 || i+len(word) < end || i+len(word) == end && i < at) {
			at, end = i, i+len(word)
		}
	}
	if at >= 0 {
		s.held, s.cut = "", true
		return text[:at], text[at:end]
	}
	keep := 0
	for _, word := range s.stops {
		for n := min(len(word)-1, len(text)); n > keep; n-- {
			if strings.HasSuffix(text, word[:n]) {
				keep = n
			}
		}
	}
	s.held = text[len(text)-keep:]
	return text[:len(text)-keep], ""
}

// say sends a piece of text, and ends the answer at a stop sequence.
func (a *responseAnswer) say(text string) bool {
	out, stop := a.stops.take(text)
	if out != "" && !a.out.Text(0, out) {
		return false
	}
	if !a.stops.cut {
		return true
	}
	a.out.Finish(0, llm.Ending{Finish: llm.FinishStop, NativeReason: "stop_sequence", StopSequence: stop})
	return false
}

// release sends the text that was held back, where something else follows. A stop
// sequence does not go on there.
func (a *responseAnswer) release() bool {
	if a.stops.cut {
		return false
	}
	held := a.stops.held
	a.stops.held = ""
	return held == "" || a.out.Text(0, held)
}
