package main

// responsesShapes are the forms of a request of OpenAI's Responses API.
var responsesShapes = []shape{
	{ofResponses + "one long text", everyModel, top(`"input":"`, filled("a"), `"`)},
	{ofResponses + "a text of escapes that become one byte", everyModel, top(`"input":"`, filled(`\n`), `"`)},
	{ofResponses + "empty items", everyModel[1:2], top(`"input":[`, repeated(`{}`), `]`)},
	{ofResponses + "10,000 messages, roles in turn", everyModel,
		top(`"input":[`, spread(5_000, `{"role":"user","content":"`, "a", `"},{"role":"assistant","content":"b"}`), `]`)},
	{ofResponses + "10,000 instructions", everyModel,
		top(`"input":[{"role":"user","content":"a"},`, spread(9_999, `{"role":"developer","content":"`, "a", `"}`), `]`)},
	{ofResponses + "1,000 long parts", everyModel,
		top(`"input":[{"role":"user","content":[`, spread(1000, `{"type":"input_text","text":"`, "a", `"}`), `]}]`)},
	{ofResponses + "empty parts", everyModel[1:2], top(`"input":[{"role":"user","content":[`, repeated(`{}`), `]}]`)},
	{ofResponses + "one image in base64", everyModel, top(`"input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,`+
		`iVBORw0KGgoAAAANSUhEUgAA`, filled("AAAA"), `"}]}]`)},
	{ofResponses + "1,000 images", everyModel, top(`"input":[{"role":"user","content":[`,
		spread(1000, `{"type":"input_image","image_url":"https://`, "a", `"}`), `]}]`)},
	{ofResponses + "a call with long arguments", everyModel, top(callBefore, filled(`\\n`), callAfter)},
	{ofResponses + "an input of a custom tool", everyModel, top(
		`"input":[{"role":"user","content":"a"},{"type":"custom_tool_call","call_id":"a","name":"f","input":"`, filled(`\n`),
		`"},{"type":"custom_tool_call_output","call_id":"a","output":"b"}]`)},
	{ofResponses + "1,000 results in parts", everyModel, top(`"input":[{"role":"user","content":"a"},{"type":"function_call","call_id":"a","name":"f",`+
		`"arguments":"{}"},{"type":"function_call_output","call_id":"a","output":[`, spread(1000, `{"type":"input_text","text":"`, "a", `"}`), `]}]`)},
	{ofResponses + "1,000 thoughts", everyModel, top(`"input":[{"role":"user","content":"a"},`,
		spread(1000, `{"type":"reasoning","summary":[],"encrypted_content":"`, "a", `"}`), `,{"role":"user","content":"a"}]`)},
	{ofResponses + "unknown items", everyModel, top(`"input":[{"role":"user","content":"a"},`, repeated(`{"type":"a"}`), `,{"role":"user","content":"a"}]`)},
	{ofResponses + "1,024 tools", everyModel, top(responsesUser+`"tools":[`,
		spread(1024, `{"type":"function","name":"f","parameters":{"type":"object","properties":{"a":{}}},"description":"`, "a", `"}`), `]`)},
	{ofResponses + "a namespace of 1,024 tools", everyModel, top(responsesUser+`"tools":[{"type":"namespace","name":"n","tools":[`,
		spread(1024, `{"type":"function","name":"f","parameters":{"type":"object"},"description":"`, "a", `"}`), `]}]`)},
	{ofResponses + "tools that join with the input", everyModel, top(`"input":[{"type":"additional_tools","tools":[`,
		spread(1024, `{"type":"function","name":"f","description":"`, "a", `"}`), `]},{"role":"user","content":"a"}]`)},
	{ofResponses + "many tools", everyModel, top(responsesUser+`"tools":[`, repeated(`{"type":"function","name":"f"}`), `]`)},
	{ofResponses + "a long grammar", everyModel,
		top(responsesUser+`"tools":[{"type":"custom","name":"f","format":{"type":"grammar","syntax":"lark","definition":"`, filled(`\n`), `"}}]`)},
	{ofResponses + "a schema of many properties", everyModel, top(responsesUser+`"tools":[{"type":"function","name":"f","parameters":{"type":"object",`+
		`"properties":{`, named(`"%s":{"type":"string"}`), `}}}]`)},
	{ofResponses + "long instructions", everyModel, top(responsesUser+`"instructions":"`, filled(`\n`), `"`)},
	{ofResponses + "many of include", everyModel, top(responsesUser+`"include":[`, repeated(`"a"`), `]`)},
	{ofResponses + "many members of metadata", everyModel, top(responsesUser+`"metadata":{`, named(`"%s":"a"`), `}`)},
	{ofResponses + "many unknown members", everyModel, top(responsesUser, named(`"%s":0`), ``)},
	{ofResponses + "many unknown members with escapes in their names", everyModel, top(responsesUser, named(`"\u0061%s":0`), ``)},
	{ofResponses + "many unknown members of an item", everyModel, top(`"input":[{"role":"user","content":"a",`, named(`"%s":1`), `}]`)},
	{ofResponses + "many unknown elements", everyModel, top(responsesUser+`"a":[`, repeated(`0`), `]`)},
}

const (
	responsesUser = `"input":[{"role":"user","content":"a"}],`
	callBefore    = `"input":[{"role":"user","content":"a"},{"type":"function_call","call_id":"a","name":"f","arguments":"{\"a\":\"`
	callAfter     = `\"}"},{"type":"function_call_output","call_id":"a","output":"b"}]`
)
