package simulator

import "github.com/go-json-experiment/json/jsontext"

// A prompt is what a request of any of the three formats comes to.
type prompt struct {
	transcript
	provider string
	model    string

	system string
	// asked is the text of the latest turn in which the user said something.
	asked    string
	answered bool // the assistant has spoken since
	images   int
	files    int
	// results are those of the tools that ran since the user last spoke.
	results []toolResult

	tools    []tool
	choice   choice
	parallel bool

	asJSON bool
	schema jsontext.Value

	reasons bool
	limit   int // tokens, 0 = none
	stops   []string
}

type tool struct {
	name   string
	schema jsontext.Value
	// custom tools take text instead of JSON.
	custom bool
}

type toolResult struct{ name, text string }

type choiceMode int

const (
	choiceAuto choiceMode = iota
	choiceForced
	choiceNone
)

// A choice with names is limited to the tools of those names.
type choice struct {
	mode  choiceMode
	names []string
}

func (p *prompt) hearSystem(text string) {
	p.system += text + "\n"
	p.note("system", text)
}

func (p *prompt) hearUser(text string) {
	p.newTurn()
	if p.asked != "" {
		p.asked += "\n"
	}
	p.asked += text
	p.results = nil
	p.note("user", text)
}

func (p *prompt) seeImage(data string) {
	p.newTurn()
	p.images++
	p.noteMedia(data)
}

func (p *prompt) seeFile(data string) {
	p.newTurn()
	p.files++
	p.noteMedia(data)
}

func (p *prompt) newTurn() {
	if p.answered {
		p.asked, p.answered = "", false
	}
}

func (p *prompt) hearResult(name, text string) {
	p.results = append(p.results, toolResult{name, text})
	p.note("result", text)
}

func (p *prompt) hearAssistant(text string) {
	p.answered, p.images, p.files, p.results = true, 0, 0, nil
	p.note("assistant", text)
}

func (p *prompt) addTool(t tool) {
	p.tools = append(p.tools, t)
	p.note("tool", t.name+" "+string(t.schema))
}
