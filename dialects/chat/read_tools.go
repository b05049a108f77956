package chat

import (
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/dialects/body"
)

// toolMember reads a member of a request about tools or the form of the answer, or one that
// has no place in the common form.
func (r *Request) toolMember(in *body.Reader, name []byte) {
	switch string(name) {
	case "tools":
		start := in.Start()
		for range in.List(maxTools) {
			readTool(in, body.Add(in, &r.Tools))
		}
		r.common.Prompt.Tools = in.Since(start)
	case "functions":
		for range in.List(maxTools) {
			readFunction(in, "functions[].", body.Add(in, &r.Functions))
		}
	case "tool_choice":
		r.ToolChoice = readChoice(in, "tool_choice.")
	case "function_call":
		r.FunctionCall = readChoice(in, "function_call.")
	case "response_format":
		r.ResponseFormat = readFormat(in)
	default:
		value := in.Raw()
		if r.foreign == "" && !passedOn[string(name)] {
			r.foreign = string(name)
		}
		if string(name) == "prediction" && value.Kind() != jsontext.KindNull {
			r.predicted = int64(len(value))
		}
		if string(value) != idle[string(name)] {
			in.Left.Add("", name, value)
		}
	}
}

func readTool(in *body.Reader, t *Tool) {
	for name := range in.Object() {
		switch string(name) {
		case "type":
			t.Type = in.Text(toolTypes...)
		case "function":
			if !in.IsNull() {
				t.Function = new(Function)
				readFunction(in, "tools[].function.", t.Function)
			}
		case "custom":
			t.Custom = in.Raw()
		case "cache_control":
			t.CacheControl = in.Raw()
		default:
			leave(in, "tools[].", name)
		}
	}
}

func readFunction(in *body.Reader, path string, f *Function) {
	for name := range in.Object() {
		switch string(name) {
		case "name":
			f.Name = in.Text()
		case "description":
			f.Description = in.Text()
		case "parameters":
			f.Parameters = in.Raw()
		case "strict":
			f.Strict = in.Flag()
		default:
			leave(in, path, name)
		}
	}
}

// readChoice reads a word, or an object that names tools.
func readChoice(in *body.Reader, path string) *ToolChoice {
	switch in.Peek() {
	case 'n':
		in.Null()
		return nil
	case '{':
	default:
		return &ToolChoice{Mode: in.Text(choiceModes...)}
	}
	t := new(ToolChoice)
	var named, function, custom, mode string
	for name := range in.Object() {
		switch string(name) {
		case "type":
			t.Type = in.Text(choiceTypes...)
		case "name": // of the deprecated function_call
			named = in.Text()
		case "function":
			function = readNamed(in, path+"function.")
		case "custom":
			custom = readNamed(in, path+"custom.")
		case "allowed_tools":
			for name := range in.Object() {
				switch string(name) {
				case "mode":
					mode = in.Text()
				case "tools":
					for range in.List(maxTools) {
						*body.Add(in, &t.Allowed) = readAllowed(in, path+"allowed_tools.tools[].")
					}
				default:
					leave(in, path+"allowed_tools.", name)
				}
			}
		default:
			leave(in, path, name)
		}
	}
	switch t.Type {
	case "function":
		t.Mode, t.Name = "named", function
	case "":
		t.Mode, t.Name = "named", named
	case "custom":
		t.Mode, t.Name = "custom", custom
	case "allowed_tools":
		t.Mode, t.Require = "allowed", mode == "required"
	}
	return t
}

// readNamed reads an object with a name.
func readNamed(in *body.Reader, path string) (text string) {
	for name := range in.Object() {
		if string(name) == "name" {
			text = in.Text()
		} else {
			leave(in, path, name)
		}
	}
	return text
}

// readAllowed reads a tool that may be called; empty where it is no function.
func readAllowed(in *body.Reader, path string) (text string) {
	for name := range in.Object() {
		switch string(name) {
		case "function":
			text = readNamed(in, path+"function.")
		case "type", "custom":
			in.Value()
		default:
			leave(in, path, name)
		}
	}
	return text
}
