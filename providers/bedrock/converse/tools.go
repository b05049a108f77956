package converse

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
	"modelgateway/llm/roundtrip"
)

// toolName is the name of a tool as Converse takes it: at most 64 letters, digits, _ and -.
func toolName(name string) string { return new(roundtrip.IDs).Unique(name) }

// translateTools translates the tools, the choice among them, and the format of the answer, which
// may become one more tool. Converse refuses calls in a conversation without tools.
func (t *translation) translateTools() error {
	config := new(toolConfig)
	for i := range t.conversation.Tools {
		f := &t.conversation.Tools[i]
		if f.Kind != llm.ToolFunction {
			return t.unsupported(llm.FieldToolType, f.At, "does not accept tools of type "+f.Type)
		}
		t.ignoreIf(f.Cache != nil, llm.FieldToolCache)
		config.Tools = append(config.Tools, t.tool(f))
	}
	if p := t.req.ParallelCalls; p != nil && !*p && !t.req.SingleCall {
		t.ignoreIf(len(config.Tools) > 0, llm.FieldParallelCalls) // the model cannot be told
	}
	if err := t.choose(config); err != nil {
		return err
	}
	t.formatAnswer(config)
	if len(config.Tools) == 0 {
		config.Tools = t.calledTools()
	}
	if len(config.Tools) > 0 {
		t.out.Tools = config
	}
	return nil
}

// tool defines a function. It is strict where the model can be held to its schema.
func (t *translation) tool(f *llm.Tool) tool {
	out := tool{toolSpec{Name: toolName(f.Name), Description: strings.TrimSpace(f.Description)}}
	if out.Spec.Name != f.Name {
		t.names[out.Spec.Name] = f.Name
	}
	out.Spec.Input.JSON = objectSchema(f.Parameters)
	strict := f.Strict != nil && *f.Strict
	out.Spec.Strict = strict && t.family.structured
	t.ignoreIf(strict && !t.family.structured, llm.FieldToolStrict)
	return out
}

// objectSchema is a schema as Converse takes it: of type object, without the name of its version.
func objectSchema(schema jsontext.Value) jsontext.Value {
	if schema.Kind() != jsontext.KindBeginObject {
		return jsontext.Value(`{"type":"object","properties":{}}`)
	}
	out := jsonbytes.Writer{'{'}
	if jsonbytes.Member(schema, "type") == nil {
		out = out.Text("type", "object")
	}
	for name, value := range jsonbytes.Members(schema) {
		if !name.Is("$schema") {
			out = append(append(jsonbytes.AppendString(out.Comma(), name.String()), ':'), value...)
		}
	}
	return jsontext.Value(out.EndObject())
}

// choose translates the tool choice. Converse decides for itself where there is none; it cannot
// forbid tools or allow several of them, so that those which are not allowed are left out.
func (t *translation) choose(config *toolConfig) error {
	choice := t.conversation.Choice
	if choice == nil || choice.Mode == llm.ChooseAuto {
		return nil
	}
	forced, allowed := choice.Mode != llm.ChooseAllowed || choice.Require, choice.Allowed
	switch choice.Mode {
	case llm.ChooseNone:
		config.Tools = nil
		return nil
	case llm.ChooseCustom:
		return t.unsupported(llm.FieldToolChoice, llm.Anywhere, "does not accept custom tools")
	case llm.ChooseNamed:
		allowed = []string{choice.Name}
	}
	certain := choice.Mode == llm.ChooseNamed && t.family.force == forceTool
	if choice.Mode != llm.ChooseRequired && !certain {
		config.Tools = slices.DeleteFunc(config.Tools, func(have tool) bool {
			return !slices.ContainsFunc(allowed, func(name string) bool { return toolName(name) == have.Spec.Name })
		})
	}
	switch {
	case !forced:
	case len(config.Tools) == 0:
		path := t.req.Path(llm.FieldToolChoice)
		return api.Invalid(api.CodeInvalidValue, path, "%s asks for a tool, and there is none to call", path)
	case t.family.force == forceNone:
		t.ignoreIf(true, llm.FieldToolChoice)
	case certain:
		config.Choice = chooseTool(toolName(choice.Name))
	default:
		config.Choice = chooseAny()
	}
	return nil
}

func chooseAny() jsontext.Value { return jsontext.Value(`{"any":{}}`) }

func chooseTool(name string) jsontext.Value {
	return jsontext.Value(`{"tool":{"name":"` + name + `"}}`)
}

// calledTools are those that the conversation has called. The model may call them again also where
// the client has forbidden it.
func (t *translation) calledTools() (all []tool) {
	known := map[string]bool{}
	for i := range t.conversation.Messages {
		for _, b := range t.conversation.Messages[i].Blocks {
			if b.Kind == llm.BlockCall && !known[b.Call.Name] {
				known[b.Call.Name] = true
				all = append(all, t.tool(&llm.Tool{Name: b.Call.Name}))
			}
		}
	}
	t.ignoreIf(len(all) > 0 && t.conversation.Choice != nil, llm.FieldToolChoice)
	return all
}

// jsonHint asks for JSON in the instructions: Converse has no JSON mode without a schema.
const jsonHint = "Answer with one valid JSON object and nothing else: no explanation, no code fence."

// formatAnswer translates the format of the answer. Bedrock holds a model to a schema only where
// all objects in it are closed, as OpenAI's strict ones are; the parameters of a tool that the
// model has to call may be any. A model that has neither is asked.
func (t *translation) formatAnswer(config *toolConfig) {
	format := t.conversation.Format
	if format == nil {
		return
	}
	strict, schema := format.Strict != nil && *format.Strict, arguments(format.Schema.Clone())
	kind := jsonbytes.Member(format.Schema, "type")
	isObject := kind == nil || string(kind) == `"object"`
	switch {
	case format.Schema == nil:
		t.hint = jsonHint
	case t.family.structured && (strict || t.family.force == forceNone):
		w := jsonbytes.Writer{'{'}.ObjectAt("textFormat").Text("type", "json_schema").ObjectAt("structure").ObjectAt("jsonSchema")
		if w = w.Text("name", toolName(cmp.Or(format.Name, "answer"))); format.Description != "" {
			w = w.Text("description", format.Description)
		}
		t.out.Output = jsontext.Value(append(w.Text("schema", schema), "}}}}"...))
		return
	case config.Choice != nil: // this turn has no answer to format
		return
	case t.family.force != forceNone && isObject:
		t.answerByTool(config, format)
		return
	default:
		t.hint = jsonHint + " It must follow this JSON schema: " + schema
	}
	t.ignoreIf(true, llm.FieldFormat)
}

// answerByTool makes the answer's schema the input of one more tool. Beside tools of the client
// the model must call one of them or this one, which is what tools and format together ask for.
func (t *translation) answerByTool(config *toolConfig, format *llm.Format) {
	var taken roundtrip.IDs
	for _, have := range config.Tools {
		taken.Unique(have.Spec.Name)
	}
	t.answerTool = taken.Unique(cmp.Or(format.Name, "answer"))
	description := cmp.Or(format.Description, "Call it with the whole answer as its input.")
	config.Tools = append(config.Tools, t.tool(&llm.Tool{
		Name: t.answerTool, Parameters: format.Schema, Description: "Gives the answer to the user. " + description,
	}))
	if config.Choice = chooseAny(); len(config.Tools) == 1 && t.family.force == forceTool {
		config.Choice = chooseTool(t.answerTool)
	}
}
