package responses

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
)

// customInput is the text of a call of a custom tool, whose function has it in a member
// "input". Where the arguments are cut it is as far as they go; what is no such object is
// the text itself.
func customInput(raw []byte) string {
	var arguments struct {
		Input *string `json:"input"`
	}
	if json.Unmarshal(raw, &arguments, api.Lenient) == nil && arguments.Input != nil {
		return *arguments.Input
	}
	const longestEscape = len(`\ud83d\ude00`)
	for cut := range min(len(raw), longestEscape) {
		closed := append(bytes.Clone(raw[:len(raw)-cut]), `"}`...)
		if json.Unmarshal(closed, &arguments, api.Lenient) == nil && arguments.Input != nil {
			return *arguments.Input
		}
	}
	return string(raw)
}

// clientArguments are those of the functions that stand for the tools with items of their own.
type clientArguments struct {
	Command          jsontext.Value `json:"command"`
	Commands         jsontext.Value `json:"commands"`
	Env              jsontext.Value `json:"env"`
	TimeoutMs        jsontext.Value `json:"timeout_ms"`
	User             jsontext.Value `json:"user"`
	WorkingDirectory jsontext.Value `json:"working_directory"`
	MaxOutputLength  jsontext.Value `json:"max_output_length"`

	Operation jsontext.Value `json:"operation"`
	Type      jsontext.Value `json:"type"`
	Path      jsontext.Value `json:"path"`
	Diff      jsontext.Value `json:"diff"`
}

// action adds the members of a call's item that say what the client shall do. What
// the model left out, or wrote in another type, is empty: clients refuse an item without
// its members.
func action(w jsonbytes.Writer, kind itemType, raw []byte) jsonbytes.Writer {
	raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	var a clientArguments
	if json.Unmarshal(raw, &a, api.Lenient) != nil {
		a, raw = clientArguments{}, nil
	}
	switch kind {
	case localShellCall:
		w = w.ObjectAt("action").Text("type", "exec").List("command", commands(a.Command, `"bash","-lc",`))
		var env map[string]string
		if json.Unmarshal(a.Env, &env, api.Lenient) != nil {
			a.Env = nil
		}
		w = w.JSON("env", typed(a.Env, jsontext.KindBeginObject, "{}"))
		w = given(w, "timeout_ms", a.TimeoutMs, jsontext.KindNumber)
		w = given(w, "user", a.User, jsontext.KindString)
		w = given(w, "working_directory", a.WorkingDirectory, jsontext.KindString)
	case shellCall:
		if !llm.Given(a.Commands) {
			a.Commands = a.Command
		}
		w = w.ObjectAt("environment").Text("type", "local").EndObject().ObjectAt("action").List("commands", commands(a.Commands, ""))
		w = w.JSON("timeout_ms", typed(a.TimeoutMs, jsontext.KindNumber, "null"))
		w = w.JSON("max_output_length", typed(a.MaxOutputLength, jsontext.KindNumber, "null"))
	case applyPatchCall:
		if a.Operation.Kind() == jsontext.KindBeginObject {
			_ = json.Unmarshal(a.Operation, &a, api.Lenient) // it is valid
		}
		switch string(a.Type) {
		case `"create_file"`, `"delete_file"`:
		default:
			a.Type = jsontext.Value(`"update_file"`)
		}
		w = w.ObjectAt("operation").JSON("type", a.Type).JSON("path", typed(a.Path, jsontext.KindString, `""`))
		if string(a.Type) != `"delete_file"` {
			w = w.JSON("diff", typed(a.Diff, jsontext.KindString, `""`))
		}
	default: // a search of tools
		return w.Text("execution", "client").JSON("arguments", typed(raw, jsontext.KindBeginObject, "{}"))
	}
	return w.EndObject()
}

// typed is a value on one line that is of a type, or what stands for it.
func typed(value jsontext.Value, kind jsontext.Kind, fallback string) []byte {
	if len(value) == 0 || value.Kind() != kind {
		return []byte(fallback)
	}
	return appendLine([]byte(nil), value)
}

// given adds a member where its value is of a type. Vercel's SDK takes no null there
// (@ai-sdk/openai 4.0.118, 2026-11).
func given(w jsonbytes.Writer, name string, value jsontext.Value, kind jsontext.Kind) jsonbytes.Writer {
	if len(value) == 0 || value.Kind() != kind {
		return w
	}
	return w.JSON(name, appendLine([]byte(nil), value))
}

// commands are the elements of a list of strings, with commas between them. A single string is
// the last of a list that begins so.
func commands(value jsontext.Value, single string) []byte {
	var list []string
	if value.Kind() == jsontext.KindString {
		return appendLine([]byte(single), value)
	}
	if json.Unmarshal(value, &list, api.Lenient) != nil {
		return nil
	}
	var w jsonbytes.Writer
	for _, command := range list {
		w = jsonbytes.AppendString(w.Comma(), command)
	}
	return w
}
