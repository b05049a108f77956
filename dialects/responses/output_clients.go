package responses

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/internal/scan"
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

// appendAction writes the members of a call's item that say what the client shall do. What
// the model left out, or wrote in another type, is empty: clients refuse an item without
// its members.
func appendAction(dst []byte, kind itemType, raw []byte) []byte {
	raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	var a clientArguments
	if json.Unmarshal(raw, &a, api.Lenient) != nil {
		a, raw = clientArguments{}, nil
	}
	switch kind {
	case localShellCall:
		dst = appendCommands(append(dst, `,"action":{"type":"exec","command":`...), a.Command, `["bash","-lc",`)
		var env map[string]string
		if json.Unmarshal(a.Env, &env, api.Lenient) != nil {
			a.Env = nil
		}
		dst = appendTyped(append(dst, `,"env":`...), a.Env, jsontext.KindBeginObject, "{}")
		dst = appendGiven(dst, `,"timeout_ms":`, a.TimeoutMs, jsontext.KindNumber)
		dst = appendGiven(dst, `,"user":`, a.User, jsontext.KindString)
		dst = appendGiven(dst, `,"working_directory":`, a.WorkingDirectory, jsontext.KindString)
	case shellCall:
		if !llm.Given(a.Commands) {
			a.Commands = a.Command
		}
		dst = appendCommands(append(dst, `,"environment":{"type":"local"},"action":{"commands":`...), a.Commands, "[")
		dst = appendTyped(append(dst, `,"timeout_ms":`...), a.TimeoutMs, jsontext.KindNumber, "null")
		dst = appendTyped(append(dst, `,"max_output_length":`...), a.MaxOutputLength, jsontext.KindNumber, "null")
	case applyPatchCall:
		if a.Operation.Kind() == jsontext.KindBeginObject {
			_ = json.Unmarshal(a.Operation, &a, api.Lenient) // it is valid
		}
		switch string(a.Type) {
		case `"create_file"`, `"delete_file"`:
		default:
			a.Type = jsontext.Value(`"update_file"`)
		}
		dst = append(append(dst, `,"operation":{"type":`...), a.Type...)
		dst = appendTyped(append(dst, `,"path":`...), a.Path, jsontext.KindString, `""`)
		if string(a.Type) != `"delete_file"` {
			dst = appendTyped(append(dst, `,"diff":`...), a.Diff, jsontext.KindString, `""`)
		}
	default: // a search of tools
		dst = append(dst, `,"execution":"client","arguments":`...)
		return appendTyped(dst, raw, jsontext.KindBeginObject, "{}")
	}
	return append(dst, '}')
}

// appendTyped writes a value that is of a type, or what stands for it.
func appendTyped(dst []byte, value jsontext.Value, kind jsontext.Kind, fallback string) []byte {
	if len(value) == 0 || value.Kind() != kind {
		return append(dst, fallback...)
	}
	return appendLine(dst, value)
}

// appendGiven writes a member where its value is of a type. Vercel's SDK takes no null there
// (@ai-sdk/openai 4.0.118, 2026-11).
func appendGiven(dst []byte, name string, value jsontext.Value, kind jsontext.Kind) []byte {
	if len(value) == 0 || value.Kind() != kind {
		return dst
	}
	return appendLine(append(dst, name...), value)
}

// appendCommands writes a list of strings. A single string is the last of a list that
// begins so.
func appendCommands(dst []byte, value jsontext.Value, single string) []byte {
	var list []string
	if value.Kind() == jsontext.KindString {
		return append(appendLine(append(dst, single...), value), ']')
	}
	if json.Unmarshal(value, &list, api.Lenient) != nil {
		list = nil
	}
	dst = append(dst, '[')
	for i, command := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = scan.AppendString(dst, command)
	}
	return append(dst, ']')
}
