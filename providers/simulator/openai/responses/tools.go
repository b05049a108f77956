package responses

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/jsonbytes"
	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/reply"
)

// Tool is one that may be called, or a namespace of such.
type Tool struct {
	Type       string           `json:"type"`
	Name       string           `json:"name"`
	Parameters jsontext.Value   `json:"parameters"`
	Tools      []jsontext.Value `json:"tools"`
}

func addTools(p *reply.Prompt, tools []jsontext.Value) { addNamespace(p, "", tools) }

func addNamespace(p *reply.Prompt, namespace string, tools []jsontext.Value) {
	for _, raw := range tools {
		var t Tool
		if json.Unmarshal(raw, &t) != nil {
			continue
		}
		switch t.Type {
		case "namespace":
			addNamespace(p, t.Name, t.Tools)
		case "function":
			p.AddTool(reply.Tool{Namespace: namespace, Name: t.Name, Schema: t.Parameters})
		case "custom":
			p.AddTool(reply.Tool{Namespace: namespace, Name: t.Name, Custom: true})
		default:
			p.AddTool(reply.Tool{Name: t.Type, Hosted: true})
		}
	}
}

// choice reads tool_choice.
func choice(raw jsontext.Value) reply.ToolChoice {
	switch jsonbytes.Text(raw) {
	case "none":
		return reply.ToolChoice{Mode: reply.ChoiceNone}
	case "required":
		return reply.ToolChoice{Mode: reply.ChoiceForced}
	}
	switch rawjson.GetString(raw, "type") {
	case "function", "custom":
		return reply.ToolChoice{Mode: reply.ChoiceForced, Names: []string{rawjson.GetString(raw, "name")}}
	case "allowed_tools":
		allowed := reply.ToolChoice{}
		if rawjson.GetString(raw, "mode") == "required" {
			allowed.Mode = reply.ChoiceForced
		}
		for _, t := range rawjson.Elements(jsonbytes.Member(raw, "tools")) {
			allowed.Names = append(allowed.Names, rawjson.GetString(t, "name"))
		}
		return allowed
	}
	return reply.ToolChoice{}
}
