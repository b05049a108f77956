package reply

import (
	"strings"

	"modelgateway/internal/jsonbytes"
	"modelgateway/providers/simulator/rawjson"
)

// toolName is the name of a tool in lower case, without the namespace in which Codex has
// the tools of its newest models: a gateway may have put it before the name.
func toolName(t Tool) string { return strings.TrimPrefix(strings.ToLower(t.Name), "functions__") }

// write is the call that writes a file, with the first of the tools that an agent may
// have for it.
func (p *Prompt) write(file, content string) []Call {
	if calls := p.call("write", map[string]any{"filepath": file, "content": content}); calls != nil {
		return calls
	}
	patch := "*** Begin Patch\n*** Add File: " + file + "\n"
	for line := range strings.Lines(content) {
		patch += "+" + line
	}
	patch += "*** End Patch\n"
	if calls := p.call("apply_patch", map[string]any{"input": patch, "patchtext": patch}); calls != nil {
		return calls
	}
	return p.run("printf '%s\\n' " + shellQuoted(strings.TrimSuffix(content, "\n")) + " > " + shellQuoted(file))
}

// read looks at a file in two ways, at once where parallel calls are allowed.
func (p *Prompt) read(file string) []Call {
	first, second := p.call("read", map[string]any{"filepath": file}), p.run("cat "+shellQuoted(file))
	if first == nil {
		first, second = second, p.call("exec_command", map[string]any{"cmd": "wc -l " + shellQuoted(file)})
	}
	if p.Parallel {
		return append(first, second...)
	}
	return first
}

// view looks at a file, which may be a picture.
func (p *Prompt) view(file string) []Call {
	if calls := p.call("read", map[string]any{"filepath": file}); calls != nil {
		return calls
	}
	if calls := p.call("view_image", map[string]any{"path": file}); calls != nil && strings.HasSuffix(file, ".png") {
		return calls
	}
	return p.run("cat " + shellQuoted(file))
}

// run is the call that runs a command, with the first of the tools that an agent may
// have for it. The tool exec takes a program in JavaScript.
func (p *Prompt) run(command string) []Call {
	if calls := p.call("bash", map[string]any{"command": command, "description": "Show the file"}); calls != nil {
		return calls
	}
	if calls := p.call("exec_command", map[string]any{"cmd": command}); calls != nil {
		return calls
	}
	program := "text(await tools.exec_command({cmd: " + string(rawjson.Encode(command)) + "}));"
	return p.call("exec", map[string]any{"input": program})
}

func shellQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// call is a call of the tool of this name with those of the values that it requires, by
// the names of its members in lower case without underscores. A custom tool takes the
// value input. The call is empty where the tool is not offered.
func (p *Prompt) call(name string, values map[string]any) []Call {
	for _, t := range p.callable() {
		if toolName(t) != name {
			continue
		}
		if text, plain := values["input"].(string); t.Custom && plain {
			return []Call{{Namespace: t.Namespace, Name: t.Name, Arguments: text, Custom: true}}
		}
		required := rawjson.Strings(jsonbytes.Member(t.Schema, "required"))
		arguments := rawjson.Object{}
		for _, member := range required {
			if value, known := values[strings.ToLower(strings.ReplaceAll(member, "_", ""))]; known {
				arguments = append(arguments, member, value)
			}
		}
		return []Call{{Namespace: t.Namespace, Name: t.Name, Arguments: string(spaced(rawjson.Encode(arguments)))}}
	}
	return nil
}
