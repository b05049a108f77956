// Package reply generates what a simulated model answers to a prompt: text,
// tool calls or JSON, each the same for the same prompt. It knows nothing of HTTP
// and of the providers' formats, and counts words as tokens.
package reply

import "github.com/go-json-experiment/json/jsontext"

// Prompt is a request of any format. A provider fills in the fields and adds
// the conversation in its order.
type Prompt struct {
	Provider string
	Model    string

	Choice ToolChoice
	// Parallel allows several calls in one reply.
	Parallel bool

	// JSON asks for a JSON text, of the schema if there is one.
	JSON   bool
	Schema jsontext.Value

	// Reasons puts reasoning before the reply.
	Reasons bool
	// MaxTokens bounds reasoning and reply together; 0 and less mean no bound.
	MaxTokens int
	// Stops end the text before the first of them that it contains.
	Stops []string

	transcript
	system string
	// question is the text of the latest turn in which the user wrote text, and asked
	// the texts of which it consists.
	question string
	asked    []string
	// notes are texts that an agent puts between those of its user.
	notes    string
	answered bool // the assistant has written since
	called   int  // calls since the user wrote
	images   int
	files    int
	// results are those of the tools that ran since the user last wrote.
	results []toolResult
	tools   []Tool
}

// Tool is one that the model may call.
type Tool struct {
	// Namespace is that in which OpenAI's Responses API has the tool, if any.
	Namespace string
	Name      string
	Schema    jsontext.Value
	// Custom tools take text instead of JSON.
	Custom bool
	// Hosted tools run at the provider: they are counted, and never called.
	Hosted bool
}

type toolResult struct{ name, text string }

// ChoiceMode says whether tools are called.
type ChoiceMode int

// With ChoiceAuto a tool is called unless its result has just come, with
// ChoiceForced always, with ChoiceNone never.
const (
	ChoiceAuto ChoiceMode = iota
	ChoiceForced
	ChoiceNone
)

// ToolChoice limits the calls to the tools of these names, if there are any.
type ToolChoice struct {
	Mode  ChoiceMode
	Names []string
}

// New begins the prompt of a request to a provider's model.
func New(provider, model string) *Prompt {
	p := &Prompt{Provider: provider, Model: model, Parallel: true}
	p.hash("model", model)
	return p
}

// AddTool offers a tool.
func (p *Prompt) AddTool(t Tool) {
	if !t.Hosted {
		p.tools = append(p.tools, t)
	}
	p.count("tool", t.Name+" "+string(t.Schema))
}

// AddSystem adds a system text.
func (p *Prompt) AddSystem(text string) {
	p.system += text + "\n"
	p.count("system", text)
}

// BeginMessage separates messages, so that the prompt cache does not mistake
// one message for two.
func (p *Prompt) BeginMessage(role string) { p.hash("role", role) }

// AddUser adds a text of the user, or a note of the user's agent.
func (p *Prompt) AddUser(text string) {
	p.count("user", text)
	if isNote(text) {
		p.notes += text + "\n"
		return
	}
	p.beginTurn()
	if p.question != "" {
		p.question += "\n"
	}
	p.question += text
	p.asked = append(p.asked, text)
	p.results, p.called = nil, 0
}

// AddImage adds an image of the user, or of the result that came before it; the prompt
// cache knows it by its data.
func (p *Prompt) AddImage(data string) {
	p.beginMedia()
	p.images++
	p.countMedia(data)
}

// AddFile adds a file of the user, or of the result that came before it; the prompt
// cache knows it by its data.
func (p *Prompt) AddFile(data string) {
	p.beginMedia()
	p.files++
	p.countMedia(data)
}

func (p *Prompt) beginMedia() {
	if len(p.results) == 0 {
		p.beginTurn()
	}
}

func (p *Prompt) beginTurn() {
	if p.answered {
		p.question, p.asked, p.answered = "", nil, false
	}
}

// AddAssistant adds a text that the model answered.
func (p *Prompt) AddAssistant(text string) {
	p.answered, p.images, p.files, p.results = true, 0, 0, nil
	p.count("assistant", text)
}

// AddCall adds a tool call that the model made.
func (p *Prompt) AddCall(name, arguments string) {
	p.AddAssistant("")
	p.called++
	p.count("call", name+" "+arguments)
}

// AddResult adds what a tool returned.
func (p *Prompt) AddResult(name, text string) {
	p.results = append(p.results, toolResult{name, text})
	p.count("result", text)
}
