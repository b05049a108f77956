package catalog

import "slices"

// Line is a part of the cost of a call.
type Line struct {
	Kind   LineKind
	Amount int64 // tokens, or searches
	Price  int64 // micro-dollars per million tokens, or per search
}

// LineKind is what a Line is the cost of.
type LineKind int

// The kinds of lines.
const (
	LineInput LineKind = iota
	LineAudio
	LineCached
	LineCachedAudio
	LineCacheWrite
	LineCacheWriteHour
	LineOutput
	LineSearch
	LineSearchPrompt
	lineKinds
)

// lines are the parts of a cost, one of each kind.
type lines [lineKinds]Line

var lineNames = [lineKinds]string{
	"input", "audio_input", "cached_input", "cached_audio_input", "cache_write", "cache_write_1h", "output", "search", "search_prompt",
}

// String is the name of the kind.
func (k LineKind) String() string { return lineNames[k] }

// Lines are the parts of the cost of a call, without those of which there is nothing.
func (p Price) Lines(t Tokens) []Line {
	all := p.lines(t)
	return slices.DeleteFunc(all[:], func(l Line) bool { return l.Amount == 0 })
}

// Unit is what Amount counts.
func (l Line) Unit() string {
	if l.Kind >= LineSearch {
		return "search"
	}
	return "token"
}

// PerMillion is the price of a million units in micro-dollars.
func (l Line) PerMillion() int64 {
	if l.Kind >= LineSearch {
		return perMillion * l.Price
	}
	return l.Price
}

// Cost is the cost of the line in micro-dollars, rounded half up.
func (l Line) Cost() int64 {
	var sum amount
	sum.addLine(l)
	return sum.perMillion()
}

func (a *amount) addLine(l Line) {
	if l.Kind >= LineSearch {
		l.Amount *= perMillion
	}
	a.add(l.Amount, l.Price)
}
