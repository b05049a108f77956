package responses

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
)

// known are the tools whose parameters OpenAI's models have learned (OpenAI's guides of its
// local shell, shell and apply_patch tools, 2026-11).
var known = map[toolKind]struct {
	item                    itemType
	description, parameters string
}{
	localShellTool: {localShellCall, "Runs a command on the user's machine.",
		`{"type":"object","properties":{` +
			`"command":{"type":"array","items":{"type":"string"},"description":"The program and its arguments."},` +
			`"working_directory":{"type":"string"},"timeout_ms":{"type":"integer","description":"Milliseconds."},` +
			`"env":{"type":"object","additionalProperties":{"type":"string"},"description":"Environment variables."}},` +
			`"required":["command"]}`},
	shellTool: {shellCall, "Runs commands in a shell.",
		`{"type":"object","properties":{` +
			`"commands":{"type":"array","items":{"type":"string"},"description":"The commands, each one line of shell."},` +
			`"timeout_ms":{"type":"integer","description":"Milliseconds."},` +
			`"max_output_length":{"type":"integer","description":"Characters of the output of each command."}},` +
			`"required":["commands"]}`},
	applyPatchTool: {applyPatchCall, "Creates, updates or deletes one file.",
		`{"type":"object","properties":{` +
			`"type":{"type":"string","enum":["create_file","update_file","delete_file"]},` +
			`"path":{"type":"string","description":"Path of the file."},` +
			`"diff":{"type":"string","description":"With create_file and update_file: the change as a V4A diff, in which each line ` +
			`begins with +, - or a space, and @@ begins a piece of the file. With create_file every line begins with +."}},` +
			`"required":["type","path"]}`},
	toolSearchTool: {toolSearchCall, "Searches for tools that can be called from then on.",
		`{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}`},
}

// customParameters are those of the function that stands for a tool with a free text.
const customParameters = `{"type":"object","properties":{"input":{"type":"string",` +
	`"description":"The whole input of the tool, as it is."}},"required":["input"],"additionalProperties":false}`

// toolAt is the place of a tool.
type toolAt struct{ item, index, inner int }

func (p toolAt) path() string { return toolPath(p.item, p.index, p.inner) }

// all names the members of all tools of the same list.
func (p toolAt) all() string {
	if p.inner >= 0 {
		return toolPath(p.item, -1, -1) + ".tools[]"
	}
	return toolPath(p.item, -1, -1)
}

// addTools adds the tools of a list: of the request where item is negative, else of an item.
func (b *builder) addTools(item int, value jsontext.Value) *api.Error {
	list := "tools"
	if item >= 0 {
		list = itemPath(item) + ".tools"
	}
	if !llm.Given(value) {
		return nil
	}
	if value.Kind() != jsontext.KindBeginArray {
		return invalid(list, "%s must be an array", list)
	}
	i := 0
	for element := range jsonbytes.Elements(value) {
		if err := b.addTool(toolAt{item, i, -1}, "", element); err != nil {
			return err
		}
		i++
	}
	return nil
}

// addTool adds what the model may call. namespace is the tool's namespace.
func (b *builder) addTool(at toolAt, namespace string, value jsontext.Value) *api.Error {
	if value.Kind() != jsontext.KindBeginObject {
		return invalid(at.path(), "%s must be an object", at.path())
	}
	name := jsonbytes.Text(jsonbytes.Member(value, "type"))
	kind := toolKindOf(name)
	switch kind {
	case functionTool, customTool:
		return b.ownTool(at, kind, namespace, value)
	case namespaceTool:
		return b.namespace(at, value)
	case localShellTool, shellTool, applyPatchTool:
		if err := b.checkShell(at, jsonbytes.Member(value, "environment")); err != nil {
			return err
		}
		return b.knownTool(at, kind, value)
	case toolSearchTool:
		if jsonbytes.Text(jsonbytes.Member(value, "execution")) == "client" {
			return b.knownTool(at, kind, value)
		}
		// OpenAI would search; all tools are shown to the model instead.
	}
	if name == "" {
		return api.Missing(at.path() + ".type")
	}
	b.ignored.Put(at.all() + ".type")
	if b.hosted == nil {
		b.hosted, b.hostedAt = map[string]bool{}, at.path()+".type"
		b.hostedFirst = name
	}
	b.hosted[name] = true
	return nil
}

// needsOpenAI is the error for a tool that no other provider has.
func needsOpenAI(path, kind string) *api.Error {
	return unsupported(path, "the tool %s runs at OpenAI: it needs a model of OpenAI", api.Quoted(kind))
}

// checkShell refuses a shell in a container of OpenAI's.
func (b *builder) checkShell(at toolAt, environment jsontext.Value) *api.Error {
	switch kind := jsonbytes.Text(jsonbytes.Member(environment, "type")); kind {
	case "", "local", "none":
		return nil
	default:
		return unsupported(at.path()+".environment", "a shell in %s runs at OpenAI: it needs a model of OpenAI", api.Quoted(kind))
	}
}

// namespace adds the tools of a list that has a name.
func (b *builder) namespace(at toolAt, value jsontext.Value) *api.Error {
	if at.inner >= 0 {
		return invalid(at.path()+".type", "a namespace cannot stand in another one")
	}
	name, list := jsonbytes.Text(jsonbytes.Member(value, "name")), jsonbytes.Member(value, "tools")
	switch {
	case name == "":
		return api.Missing(at.path() + ".name")
	case llm.Given(list) && list.Kind() != jsontext.KindBeginArray:
		return invalid(at.path()+".tools", "%s.tools must be an array", at.path())
	}
	first := len(b.made.Tools)
	for element := range jsonbytes.Elements(list) {
		at.inner++
		if err := b.addTool(at, name, element); err != nil {
			return err
		}
	}
	// Once, as it may be long.
	if text := jsonbytes.Text(jsonbytes.Member(value, "description")); text != "" && len(b.made.Tools) > first {
		tool := &b.made.Tools[first]
		tool.Description = joined("About all tools of "+name+": "+text, tool.Description)
	}
	return nil
}

// joined are two paragraphs, either of which may be empty.
func joined(first, second string) string {
	if first == "" || second == "" {
		return first + second
	}
	return first + "\n\n" + second
}

// knownTool adds a tool whose parameters the client need not say.
func (b *builder) knownTool(at toolAt, kind toolKind, value jsontext.Value) *api.Error {
	k := known[kind]
	tool := llm.Tool{
		Type: jsonbytes.Text(jsonbytes.Member(value, "type")), Description: k.description, Parameters: jsontext.Value(k.parameters),
		Name: b.function(calledAs{item: k.item}),
	}
	for member, value := range jsonbytes.Members(value) {
		switch string(member.Text()) {
		case "type", "allowed_callers", "environment", "execution":
		case "description":
			if text := jsonbytes.Text(value); text != "" {
				tool.Description = text
			}
		case "parameters":
			if value.Kind() == jsontext.KindBeginObject {
				tool.Parameters = value
			}
		default:
			b.ignored.Add(at.all()+".", member.Text(), value)
		}
	}
	return b.put(at, tool)
}

// ownTool adds a function or a tool with a free text.
func (b *builder) ownTool(at toolAt, kind toolKind, namespace string, value jsontext.Value) *api.Error {
	tool := llm.Tool{Type: "function"}
	as := calledAs{item: functionCall, namespace: namespace}
	var format jsontext.Value
	for member, value := range jsonbytes.Members(value) {
		switch text := member.Text(); string(text) {
		case "type", "output_schema", "defer_loading", "allowed_callers", "async":
		case "name":
			as.name = jsonbytes.Text(value)
		case "description":
			tool.Description = jsonbytes.Text(value)
		case "parameters":
			tool.Parameters = llm.Present(value)
		case "format":
			format = value
		case "strict":
			if llm.Given(value) {
				tool.Strict = new(value.Kind() == jsontext.KindTrue)
				b.strict = b.strict || *tool.Strict
			}
		default:
			b.ignored.Add(at.all()+".", text, value)
		}
	}
	if as.name == "" {
		return api.Missing(at.path() + ".name")
	}
	if kind == customTool {
		as.item, tool.Type = customCall, "custom"
		tool.Parameters, tool.Strict = jsontext.Value(customParameters), nil
		tool.Description = joined(tool.Description, grammar(format))
	} else {
		if tool.Strict == nil { // OpenAI's default
			tool.Strict = new(true)
		}
		if tool.Parameters != nil && tool.Parameters.Kind() != jsontext.KindBeginObject {
			return invalid(at.path()+".parameters", "%s.parameters must be an object", at.path())
		}
	}
	tool.Name = b.function(as)
	return b.put(at, tool)
}

// grammar tells a model which texts a tool takes: no other provider can hold it to that.
func grammar(format jsontext.Value) string {
	if jsonbytes.Text(jsonbytes.Member(format, "type")) != "grammar" {
		return ""
	}
	syntax := jsonbytes.Text(jsonbytes.Member(format, "syntax"))
	if syntax == "regex" {
		syntax = "regular expression"
	} else {
		syntax = strings.TrimSpace(syntax + " grammar")
	}
	return "The input must match this " + syntax + ":\n" + jsonbytes.Text(jsonbytes.Member(format, "definition"))
}

// put adds a tool, in place of an earlier one that is the same to the client.
func (b *builder) put(at toolAt, tool llm.Tool) *api.Error {
	if index, again := b.toolIndex[tool.Name]; again {
		tool.At = b.made.Tools[index].At
		b.made.Tools[index] = tool
		return nil
	}
	if len(b.made.Tools) == maxTools {
		return api.TooMany("tools", maxTools)
	}
	if b.toolIndex == nil {
		b.toolIndex = map[string]int{}
	}
	b.toolIndex[tool.Name] = len(b.made.Tools)
	tool.At = llm.Item(len(b.toolPlaces))
	b.toolPlaces = append(b.toolPlaces, at)
	b.made.Tools = append(b.made.Tools, tool)
	return nil
}
