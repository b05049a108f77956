package reply

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"modelgateway/internal/jsonbytes"

	"github.com/go-json-experiment/json/jsontext"
)

// The tools of a coding agent change files and run programs on the user's machine. With
// a free choice a simulated model calls none of them but for a task that it understands:
// to write a file, to read one, or one after the other, and to search the web.

// agentTools are tools that coding agents have, as toolName says them. A client with two of them is one.
var agentTools = []string{"bash", "edit", "read", "write", "apply_patch", "exec", "exec_command", "wait", "write_stdin"}

// hint says to the user of an agent what can be asked.
const hint = `It can do one task: ask it to create the file hello.txt that says "hello".`

// servesAgent reports whether the tools are those of a coding agent.
func (p *Prompt) servesAgent() bool {
	known := 0
	for _, t := range p.tools {
		if slices.Contains(agentTools, toolName(t)) {
			known++
		}
	}
	return known >= 2
}

// nextStep returns the calls with which the task goes on, and none where there is no
// task or it is done.
func (p *Prompt) nextStep() []Call {
	if p.Choice.Mode != ChoiceAuto || p.JSON {
		return nil
	}
	left := p.called
	for _, step := range p.steps() {
		if left < len(step) {
			return step[left:]
		}
		left -= len(step)
	}
	return nil
}

// maxTask bounds the bytes of a text that is taken for a task: what is longer are
// instructions of an agent.
const maxTask = 1000

const fileName = `([\w~./-]*\w\.[A-Za-z]\w{1,7})\b`

var (
	writesFile  = regexp.MustCompile(`(?is)\b(?:create|write|make|put|save)\b.*?` + fileName)
	readsFile   = regexp.MustCompile(`(?is)\bread\b.*?` + fileName)
	searchesWeb = regexp.MustCompile(`(?i)\bsearch the web for ([^\n.!?]{1,200})`)
	readsBack   = regexp.MustCompile(`(?is)\bread\b.*\bback\b`)
)

// steps are the calls of the task that the user asks for, by the replies that make them.
func (p *Prompt) steps() (steps [][]Call) {
	if !p.servesAgent() {
		return nil
	}
	for _, text := range p.asked {
		if len(text) > maxTask {
			continue
		}
		if plain := jsonbytes.Text(jsontext.Value(text)); plain != "" {
			text = plain // some agents quote what their user wrote
		}
		if found := writesFile.FindStringSubmatch(text); found != nil {
			file := p.absolute(found[1])
			steps = append(steps, p.write(file, contentOf(text, found[1])+"\n"))
			if readsBack.MatchString(text) {
				steps = append(steps, p.read(file))
			}
		} else if found := searchesWeb.FindStringSubmatch(text); found != nil {
			steps = append(steps, p.call("toolsearch", map[string]any{"query": "select:WebSearch", "maxresults": 1}))
			steps = append(steps, p.call("websearch", map[string]any{"query": found[1]}))
		} else if found := readsFile.FindStringSubmatch(text); found != nil {
			steps = append(steps, p.view(p.absolute(found[1])))
		}
	}
	return slices.DeleteFunc(steps, func(step []Call) bool { return len(step) == 0 })
}

var (
	quotedText  = regexp.MustCompile("\"([^\"]+)\"|“([^”]+)”|`([^`]+)`")
	putText     = regexp.MustCompile(`(?i)\bput (\S+) in(?:to)?\b`)
	saidText    = regexp.MustCompile(`(?i)\b(?:containing|contains|saying|says|with the (?:text|words?|content))\b:? ([^\n.!?]{1,200})`)
	workingPath = regexp.MustCompile(`(?im)(?:\bworking directory: *|<cwd>)(\S.*?)(?:</cwd>|\s*$)`)
)

// contentOf is what a task wants to have in its file.
func contentOf(task, file string) string {
	for _, found := range quotedText.FindAllStringSubmatch(task, -1) {
		if text := strings.Join(found[1:], ""); !strings.Contains(text, file) {
			return text
		}
	}
	for _, pattern := range []*regexp.Regexp{putText, saidText} {
		if found := pattern.FindStringSubmatch(task); found != nil {
			return found[1]
		}
	}
	return "This file was written by a simulated model."
}

// absolute puts the agent's working directory before the name of a file.
func (p *Prompt) absolute(file string) string {
	if path.IsAbs(file) || strings.HasPrefix(file, "~") {
		return file
	}
	for _, text := range append([]string{p.system, p.notes}, p.asked...) {
		if found := workingPath.FindStringSubmatch(text); found != nil {
			return path.Join(found[1], file)
		}
	}
	return file
}

var noteTag = regexp.MustCompile(`^<([a-z][a-z_-]*)>`)

// isNote reports whether a text is nothing but an element, such as <system-reminder>, or
// what Claude Code says behind a tool_reference: agents send those beside what the user wrote.
func isNote(text string) bool {
	text = strings.TrimSpace(text)
	if text == "Tool loaded." {
		return true
	}
	tag := noteTag.FindStringSubmatch(text)
	return tag != nil && strings.HasSuffix(text, "</"+tag[1]+">")
}
