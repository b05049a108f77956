package chat

import "modelgateway/llm"

// tools adds what the model may call. Of tools and deprecated functions in one
// request the tools count.
func (r *Request) tools(c *llm.Conversation) {
	choice := r.ToolChoice
	if r.legacy() {
		choice = r.FunctionCall
		c.Tools = make([]llm.Tool, len(r.Functions))
		for i := range r.Functions {
			c.Tools[i] = r.Functions[i].tool()
			c.Tools[i].At = llm.Item(i)
		}
	} else if len(r.Tools) > 0 {
		c.Tools = make([]llm.Tool, len(r.Tools))
		for i := range r.Tools {
			c.Tools[i] = r.Tools[i].tool()
			c.Tools[i].At = llm.Item(i)
		}
	}
	if choice == nil {
		return
	}
	c.Choice = &llm.ToolChoice{Mode: choiceKinds[choice.Mode], Name: choice.Name, Allowed: choice.Allowed, Require: choice.Require}
}

var choiceKinds = map[string]llm.ChoiceMode{
	"auto": llm.ChooseAuto, "none": llm.ChooseNone, "required": llm.ChooseRequired, "named": llm.ChooseNamed,
	"custom": llm.ChooseCustom, "allowed": llm.ChooseAllowed,
}

func (t *Tool) tool() llm.Tool {
	out := llm.Tool{Kind: llm.ToolCustom, Custom: t.Custom}
	if t.Function != nil {
		out = t.Function.tool()
	}
	out.Type, out.Cache = t.Type, llm.Present(t.CacheControl)
	return out
}

func (f *Function) tool() llm.Tool {
	return llm.Tool{Type: "function", Name: f.Name, Description: f.Description, Parameters: f.Parameters, Strict: f.Strict}
}

// format adds the format of the answer.
func (r *Request) format(c *llm.Conversation) {
	f := r.ResponseFormat
	if f == nil || f.Type == "text" {
		return
	}
	c.Format = new(llm.Format)
	if s := f.JSONSchema; f.Type == "json_schema" && s != nil {
		*c.Format = llm.Format{Schema: llm.Present(s.Schema), Name: s.Name, Description: s.Description, Strict: s.Strict}
	}
}
