package messages

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/dialects/body"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
)

// toolKind says who runs a tool, and who knows its schema.
type toolKind int

const (
	toolCustom  toolKind = iota // the client, with a schema of its own
	toolKnown                   // the client, with a schema that Claude has learned
	toolTrained                 // the client, and only a model that was trained for it can call it
	toolHosted                  // Anthropic; types that are not known count as such
)

// toolTypes are the beginnings of the types of tools.
var toolTypes = []struct {
	start string
	kind  toolKind
}{
	{"bash_", toolKnown}, {"text_editor_", toolKnown}, {"memory_", toolKnown},
	{"computer_", toolTrained}, {"browser_", toolTrained},
}

// toolKindOf is the kind of a tool by the value of its type.
func toolKindOf(value jsontext.Value) toolKind {
	if !llm.Given(value) {
		return toolCustom
	}
	name := jsonbytes.Text(value)
	if name == "custom" {
		return toolCustom
	}
	for _, t := range toolTypes {
		if strings.HasPrefix(name, t.start) {
			return t.kind
		}
	}
	return toolHosted
}

// editing are the parameters that the tools for texts and for notes have in common.
const editing = `"path":{"type":"string","description":"Path of the file or directory."},` +
	`"file_text":{"type":"string","description":"With create: the text of the file."},` +
	`"old_str":{"type":"string","description":"With str_replace: the text to replace, which must occur exactly once."},` +
	`"new_str":{"type":"string","description":"With str_replace: the text in its place."},` +
	`"insert_line":{"type":"integer","description":"With insert: the line after which the text is inserted; 0 is the beginning."},` +
	`"insert_text":{"type":"string","description":"With insert: the text."},`

// schemas are those of the tools that Claude has learned, by the beginning of their type
// (Anthropic's reference of its client tools, 2026-11).
var schemas = map[string]struct{ description, parameters string }{
	"bash_": {"Runs a command in a bash shell that stays open between calls.",
		`{"type":"object","properties":{"command":{"type":"string","description":"The command to run."},` +
			`"restart":{"type":"boolean","description":"Starts the shell again, in place of a command."}}}`},
	"text_editor_": {"Shows, creates and edits text files.",
		`{"type":"object","properties":{"command":{"type":"string","enum":["view","create","str_replace","insert"]},` +
			editing +
			`"view_range":{"type":"array","items":{"type":"integer"},"description":"With view: first and last line; -1 is the end."}},` +
			`"required":["command","path"]}`},
	"memory_": {"Keeps notes in files below /memories, which outlive the conversation. View that directory first.",
		`{"type":"object","properties":{"command":{"type":"string","enum":["view","create","str_replace","insert","delete","rename"]},` +
			editing +
			`"old_path":{"type":"string","description":"With rename: the path."},` +
			`"new_path":{"type":"string","description":"With rename: the new path."},` +
			`"view_range":{"type":"array","items":{"type":"integer"},"description":"With view: the first and the last line."}},` +
			`"required":["command"]}`},
}

// placeholder is a tool of Claude Code that no model may call: it only enables deferred
// tools at Anthropic.
const placeholder = "DeferredToolPlaceholder"

// toolName is Anthropic's rule for the names of tools.
var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)

// tools adds what the model may call.
func (b *builder) tools() *api.Error {
	value := b.request.members[memberTools]
	if !llm.Given(value) {
		return b.choice()
	}
	if value.Kind() != jsontext.KindBeginArray {
		return invalid("tools", "Input should be a valid list")
	}
	i := -1
	for element := range jsonbytes.Elements(value) {
		i++
		if err := b.tool(i, element); err != nil {
			return err
		}
	}
	if len(b.made.Tools) == 0 && b.hosted != "" {
		return needsAnthropic(b.hostedAt, b.hosted)
	}
	return b.choice()
}

func needsAnthropic(path, kind string) *api.Error {
	return unsupported(path, "the tool %s runs at Anthropic: it needs an Anthropic model", api.Quoted(kind))
}

func (b *builder) tool(i int, value jsontext.Value) *api.Error {
	at := fmt.Sprintf("tools[%d]", i)
	if value.Kind() != jsontext.KindBeginObject {
		return invalid(at, "Input should be a valid dictionary")
	}
	kind := jsonbytes.Member(value, "type")
	switch toolKindOf(kind) {
	case toolTrained:
		return unsupported(at+".type", "only Anthropic's models are trained for the tool %s", api.Quoted(jsonbytes.Text(kind)))
	case toolHosted:
		b.ignored.Put("tools[].type")
		if b.hosted == "" {
			b.hosted, b.hostedAt = jsonbytes.Text(kind), at+".type"
		}
		b.hostedNames = append(b.hostedNames, jsonbytes.Text(jsonbytes.Member(value, "name")))
		return nil
	case toolKnown:
		return b.knownTool(i, value, jsonbytes.Text(kind))
	}
	return b.customTool(i, value)
}

// knownTool adds a tool that has a schema of the gateway's own.
func (b *builder) knownTool(i int, value jsontext.Value, kind string) *api.Error {
	for start, schema := range schemas {
		if !strings.HasPrefix(kind, start) {
			continue
		}
		tool := llm.Tool{
			Type: kind, Name: jsonbytes.Text(jsonbytes.Member(value, "name")), Description: schema.description,
			Parameters: jsontext.Value(schema.parameters), Cache: llm.Present(jsonbytes.Member(value, "cache_control")), At: llm.Item(i),
		}
		if !toolName.MatchString(tool.Name) {
			return badName(fmt.Sprintf("tools[%d].name", i))
		}
		b.made.Tools = append(b.made.Tools, tool)
	}
	return nil
}

func badName(path string) *api.Error {
	return invalid(path, "String should match pattern '%s'", toolName)
}

// customTool adds a tool with a schema of the client's. Deferred tools are tools like the
// others: only Anthropic can search for them.
func (b *builder) customTool(i int, value jsontext.Value) *api.Error {
	at := fmt.Sprintf("tools[%d].", i)
	tool := llm.Tool{Type: "custom", At: llm.Item(i)}
	var name jsontext.Value
	for member, value := range jsonbytes.Members(value) {
		switch string(member.Text()) {
		case "type", "defer_loading", "eager_input_streaming":
		case "name":
			name = value
		case "description":
			tool.Description = jsonbytes.Text(value)
		case "input_schema":
			tool.Parameters = llm.Present(value)
		case "strict":
			if strict := string(value) == "true"; llm.Given(value) {
				tool.Strict = &strict
			}
		case "cache_control":
			tool.Cache = llm.Present(value)
		case "allowed_callers":
			if !strings.Contains(string(value), `"direct"`) {
				b.loseIf(body.Asks(value), "tools[].allowed_callers")
			}
		default:
			b.ignored.Add("tools[].", member.Text(), value)
		}
	}
	switch {
	case !llm.Given(name):
		return missing(at + "name")
	case !toolName.MatchString(jsonbytes.Text(name)):
		return badName(at + "name")
	case tool.Parameters == nil:
		return missing(at + "input_schema")
	case tool.Parameters.Kind() != jsontext.KindBeginObject:
		return invalid(at+"input_schema", "Input should be a valid dictionary")
	}
	if tool.Name = jsonbytes.Text(name); tool.Name != placeholder {
		b.made.Tools = append(b.made.Tools, tool)
	}
	return nil
}

var choiceModes = map[string]llm.ChoiceMode{
	"auto": llm.ChooseAuto, "any": llm.ChooseRequired, "none": llm.ChooseNone, "tool": llm.ChooseNamed,
}

// choice adds which of the tools the model may or must call.
func (b *builder) choice() *api.Error {
	value := b.request.members[memberToolChoice]
	if !llm.Given(value) {
		return nil
	}
	if value.Kind() != jsontext.KindBeginObject {
		return invalid("tool_choice", "Input should be a valid dictionary")
	}
	mode, known := choiceModes[jsonbytes.Text(jsonbytes.Member(value, "type"))]
	if !known {
		return notOneOf("tool_choice.type", []string{"auto", "any", "tool", "none"})
	}
	for member, value := range jsonbytes.Members(value) {
		switch string(member.Text()) {
		case "type", "name", "disable_parallel_tool_use":
		default:
			b.ignored.Add("tool_choice.", member.Text(), value)
		}
	}
	if len(b.made.Tools) == 0 && (mode == llm.ChooseAuto || mode == llm.ChooseNone) {
		return nil // providers take a choice together with tools only
	}
	choice := &llm.ToolChoice{Mode: mode}
	if mode == llm.ChooseNamed {
		choice.Name = jsonbytes.Text(jsonbytes.Member(value, "name"))
		if err := b.chosen(choice.Name); err != nil {
			return err
		}
	}
	if mode == llm.ChooseRequired && len(b.made.Tools) == 0 {
		return invalid("tool_choice", "`tool_choice` may only be specified while providing `tools`")
	}
	b.made.Choice = choice
	return nil
}

// chosen checks that the tool that must be called is there.
func (b *builder) chosen(name string) *api.Error {
	if name == "" {
		return missing("tool_choice.name")
	}
	for i := range b.made.Tools {
		if b.made.Tools[i].Name == name {
			return nil
		}
	}
	for _, hosted := range b.hostedNames {
		if hosted == name {
			return needsAnthropic("tool_choice.name", name)
		}
	}
	return invalid("tool_choice.name", "Tool '%s' not found in provided tools", api.Clip(name))
}
