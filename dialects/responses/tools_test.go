package responses

import (
	"fmt"
	"strings"
	"testing"

	"modelgateway/api"
	"modelgateway/llm"
)

// offered are the tools of a request in short: what each is to the model, and to the client.
func offered(t *testing.T, members string) (string, *llm.Conversation, *Request) {
	t.Helper()
	req := decoded(t, `{"model":"m",`+members+`}`)
	c, err := req.Source.Conversation()
	if err != nil {
		t.Fatalf("%s: %v", members, err)
	}
	r := req.Source.(*Request)
	var all []string
	for i := range c.Tools {
		as := r.as(c.Tools[i].Name)
		all = append(all, strings.Trim(fmt.Sprintf("%s=%s %s.%s", c.Tools[i].Name, as.item, as.namespace, as.name), ". "))
	}
	return strings.Join(all, ", "), c, r
}

const aFunction = `{"type":"function","name":"f","description":"d","parameters":{"type":"object","properties":{"z":{},"a":{}}}}`

func TestToolsBecomeFunctions(t *testing.T) {
	long := strings.Repeat("n", 60)
	for tools, want := range map[string]string{
		aFunction: "f=function_call .f",
		`{"type":"custom","name":"apply_patch","format":{"type":"text"}}`: "apply_patch=custom_tool_call .apply_patch",
		`{"type":"namespace","name":"ns","description":"x","tools":[` + aFunction + `,{"type":"custom","name":"c"}]}`: "" +
			"ns__f=function_call ns.f, ns__c=custom_tool_call ns.c",
		`{"type":"local_shell"},{"type":"shell","environment":{"type":"local","skills":[]}},{"type":"apply_patch"}`: "" +
			"local_shell=local_shell_call, shell=shell_call, apply_patch=apply_patch_call",
		`{"type":"tool_search","execution":"client","description":"s","parameters":{"type":"object"}}`: "tool_search=tool_search_call",
		`{"type":"tool_search","execution":"server"},` + aFunction:                                     "f=function_call .f",
		`{"type":"web_search"},` + aFunction:                                                           "f=function_call .f",
		aFunction + `,` + aFunction:                                                                    "f=function_call .f",
		// Names that meet, and names that are too long.
		`{"type":"function","name":"ns__f"},{"type":"namespace","name":"ns","tools":[` + aFunction + `]}`: "" +
			"ns__f=function_call .ns__f, ns__f_09a1ad0f=function_call ns.f",
		`{"type":"function","name":"shell"},{"type":"shell"},{"type":"custom","name":"shell"}`: "" +
			"shell=function_call .shell, shell_376e900d=shell_call, shell_48a461ad=custom_tool_call .shell",
		`{"type":"namespace","name":"` + long + `","tools":[{"type":"function","name":"f1"},{"type":"function","name":"f.2"}]}`: "" +
			long + "__f1=function_call " + long + ".f1, " + strings.Repeat("n", 55) + "_ec748594=function_call " + long + ".f.2",
	} {
		got, _, r := offered(t, `"input":"a","tools":[`+tools+`]`)
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", tools, got, want)
		}
		for name := range r.called {
			if !toolName.MatchString(name) {
				t.Error(name)
			}
		}
	}
}

func TestWhatAToolSaysOfItself(t *testing.T) {
	_, c, _ := offered(t, `"input":"a","tools":[`+aFunction+`,{"type":"function","name":"g","strict":false},`+
		`{"type":"custom","name":"p","description":"Edits.","format":{"type":"grammar","syntax":"lark","definition":"start: \"a\""}},`+
		`{"type":"custom","name":"r","format":{"type":"grammar","syntax":"regex","definition":"a+"}},`+
		`{"type":"namespace","name":"ns","description":"About it.","tools":[{"type":"function","name":"a","description":"A."},`+
		`{"type":"function","name":"b","description":"B."}]},`+
		`{"type":"tool_search","execution":"client","description":"s","parameters":{"type":"object","properties":{}}}]`)
	tools := c.Tools
	if string(tools[0].Parameters) != `{"type":"object","properties":{"z":{},"a":{}}}` || !*tools[0].Strict || *tools[1].Strict ||
		tools[1].Parameters != nil {
		t.Errorf("%+v", tools[:2])
	}
	for i, want := range map[int]string{
		2: "Edits.\n\nThe input must match this lark grammar:\nstart: \"a\"", 3: "The input must match this regular expression:\na+",
		4: "About all tools of ns: About it.\n\nA.", 5: "B.", 6: "s",
	} {
		if tools[i].Description != want {
			t.Errorf("%d: %q", i, tools[i].Description)
		}
	}
	if string(tools[2].Parameters) != customParameters || tools[2].Kind != llm.ToolFunction ||
		string(tools[6].Parameters) != `{"type":"object","properties":{}}` {
		t.Errorf("%+v", tools)
	}
}

// Tools that come with the input are there from the beginning: no provider takes them later.
func TestToolsOfTheInputJoinTheOthers(t *testing.T) {
	got, c, _ := offered(t, `"tools":[`+aFunction+`],"input":[{"type":"additional_tools","role":"developer","tools":[{"type":"namespace",`+
		`"name":"ns","tools":[`+aFunction+`]}]},{"type":"custom_tool_call","call_id":"1","namespace":"ns","name":"x","input":"i"},`+
		`{"type":"custom_tool_call_output","call_id":"1","output":"o"},{"type":"additional_tools","tools":[{"type":"function","name":"f",`+
		`"description":"newer"},{"type":"custom","name":"late"}]},{"role":"user","content":"a"}]`)
	if want := "f=function_call .f, ns__f=function_call ns.f, late=custom_tool_call .late"; got != want {
		t.Errorf("%s, not %s", got, want)
	}
	if c.Tools[0].Description != "newer" || c.Messages[0].Blocks[0].Call.Name != "ns__x" {
		t.Errorf("%+v", c)
	}
	many := `{"type":"additional_tools","tools":[` + strings.TrimSuffix(strings.Repeat(`{"type":"web_search"},`, 1000), ",") + `]}`
	var list strings.Builder
	for i := range 600 {
		fmt.Fprintf(&list, `,{"type":"function","name":"f%d"}`, i)
	}
	for range 2 {
		many += `,{"type":"additional_tools","tools":[` + list.String()[1:] + `]}`
		list.Reset()
		for i := range 600 {
			fmt.Fprintf(&list, `,{"type":"function","name":"g%d"}`, i)
		}
	}
	_, err := decoded(t, `{"model":"m","input":[`+many+`]}`).Source.Conversation()
	if e := api.AsError(err); err == nil || e.Param != "tools" {
		t.Errorf("%v", err)
	}
}

func TestTheChoiceOfATool(t *testing.T) {
	const tools = `"input":"a","tools":[` + aFunction + `,{"type":"custom","name":"c"},{"type":"namespace","name":"ns","tools":[` +
		`{"type":"function","name":"child"}]},{"type":"shell"},{"type":"web_search"}],"tool_choice":`
	for choice, want := range map[string]string{
		`"auto"`: "{0  [] false}", `"none"`: "{1  [] false}", `"required"`: "{2  [] false}",
		`{"type":"function","name":"f"}`:                      "{3 f [] false}",
		`{"type":"custom","name":"c"}`:                        "{3 c [] false}",
		`{"type":"function","name":"child"}`:                  "{3 ns__child [] false}",
		`{"type":"function","name":"child","namespace":"ns"}`: "{3 ns__child [] false}",
		`{"type":"shell"}`:                                    "{3 shell [] false}",
		`{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"f"},{"type":"shell"},{"type":"web_search"}]}`: "" +
			"{5  [f shell] true}",
		`{"type":"allowed_tools","mode":"auto","tools":[{"type":"custom","name":"c"}]}`: "{5  [c] false}",
	} {
		_, c, _ := offered(t, tools+choice)
		if got := fmt.Sprint(*c.Choice); got != want {
			t.Errorf("%s: %s, not %s", choice, got, want)
		}
	}
	for choice, want := range map[string]string{
		`"some"`: "invalid tool_choice", `7`: "invalid tool_choice", `{"type":"function"}`: "missing tool_choice.name",
		`{"type":"function","name":"g"}`:                                    "invalid tool_choice",
		`{"type":"web_search"}`:                                             "unsupported tool_choice",
		`{"type":"mcp","server_label":"s"}`:                                 "unsupported tool_choice",
		`{"type":"apply_patch"}`:                                            "invalid tool_choice",
		`{"type":"allowed_tools","mode":"some","tools":[]}`:                 "invalid tool_choice.mode",
		`{"type":"allowed_tools","tools":{}}`:                               "invalid tool_choice.tools",
		`{"type":"allowed_tools","tools":[{"type":"web_search"}]}`:          "unsupported tool_choice.tools",
		`{"type":"allowed_tools","tools":[{"type":"function","name":"g"}]}`: "invalid tool_choice.tools[]",
	} {
		_, err := decoded(t, `{"model":"m",`+tools+choice+`}`).Source.Conversation()
		if e := api.AsError(err); err == nil || strings.SplitN(e.Code, "_", 2)[0]+" "+e.Param != want {
			t.Errorf("%s: %+v, not %s", choice, e, want)
		}
	}
}

func TestToolsThatCannotBeTaken(t *testing.T) {
	for tools, want := range map[string]string{
		`{"type":"web_search"}`:                                                 "unsupported tools[0].type",
		`{"type":"computer_use_preview"},{"type":"mcp"}`:                        "unsupported tools[0].type",
		`{"type":"tool_search"}`:                                                "unsupported tools[0].type",
		`{"type":"namespace","name":"n","tools":[{"type":"web_search"}]}`:       "unsupported tools[0].tools[0].type",
		`{"type":"shell","environment":{"type":"container_auto"}},` + aFunction: "unsupported tools[0].environment",
		`1`:                   "invalid tools[0]",
		`{}`:                  "missing tools[0].type",
		`{"type":"function"}`: "missing tools[0].name",
		`{"type":"function","name":"f","parameters":[]}`:                                              "invalid tools[0].parameters",
		`{"type":"namespace","tools":[]}`:                                                             "missing tools[0].name",
		`{"type":"namespace","name":"n","tools":{}}`:                                                  "invalid tools[0].tools",
		`{"type":"namespace","name":"n","tools":[` + aFunction + `,{"type":"namespace","name":"m"}]}`: "invalid tools[0].tools[1].type",
	} {
		_, err := decoded(t, `{"model":"m","input":"a","tools":[`+tools+`]}`).Source.Conversation()
		if e := api.AsError(err); err == nil || strings.SplitN(e.Code, "_", 2)[0]+" "+e.Param != want {
			t.Errorf("%s: %+v, not %s", tools, e, want)
		}
	}
	// A tool that must not be called is no loss.
	if got, c, _ := offered(t, `"input":"a","tools":[{"type":"web_search"}],"tool_choice":"none"`); got != "" || c.Choice != nil {
		t.Errorf("%q, %+v", got, c.Choice)
	}
}
