// Package turns folds an OpenAI conversation into alternating turns, the form
// that Anthropic and Gemini want: instructions apart, neighbours of one role
// merged, the results of tools first in the turn right behind their calls.
package turns

import (
	"cmp"
	"math"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/models/api"
)

// Conversation is a request's messages, folded.
type Conversation struct {
	System []Block // parts of type text only, in the order they came
	Turns  []Turn  // user and assistant take turns; either may be first or last

	// Ignored names the members of messages that have no place here, as
	// messages[].name.
	Ignored []string
}

// Turn is everything one side says before the other does.
type Turn struct {
	Assistant bool
	Blocks    []Block // in order; a user's results come first, in the order of their calls
}

// Block is one of the following, and never empty.
type Block struct {
	Part    *api.ContentPart     // of type text, image_url, input_audio or file; of an assistant text, or image_url for a picture it made
	Call    *Call                // assistant only
	Result  *Result              // user only
	Thought *api.ReasoningDetail // assistant only; what a provider wants back unchanged

	CacheControl jsontext.Value // the client's cache mark on this block, where it set one
}

// Call is a tool call the model made.
type Call struct {
	ID        string // the provider's own, without what it carried
	Name      string
	Arguments jsontext.Value // always an object
	Signature string         // Gemini's thought signature, where the client brought one back
}

// Result answers a Call.
type Result struct {
	ID      string
	Name    string // of the function that was called
	Content []api.ContentPart

	order int // of its call
}

// Fold turns the messages of a request. It fails with an *api.Error where the
// conversation makes no sense: a result without its call, a call in the middle
// that was never answered.
func Fold(messages []api.Message) (*Conversation, error) {
	f := &folder{ignored: map[string]bool{}}
	for i := range messages {
		if err := f.add(i, &messages[i]); err != nil {
			return nil, err
		}
	}
	if f.open > 0 && f.open < len(f.calls) {
		return nil, f.unanswered(len(messages) - 1)
	}
	for i := range f.out.Turns {
		f.out.Turns[i].sort()
	}
	f.instructionsOnly()
	for name := range f.ignored {
		f.out.Ignored = append(f.out.Ignored, name)
	}
	slices.Sort(f.out.Ignored)
	return &f.out, nil
}

// sort brings the results of a turn to its front.
func (t *Turn) sort() {
	slices.SortStableFunc(t.Blocks, func(a, b Block) int {
		return cmp.Compare(rank(a), rank(b))
	})
}

func rank(b Block) int {
	if b.Result != nil {
		return b.Result.order
	}
	return math.MaxInt
}
