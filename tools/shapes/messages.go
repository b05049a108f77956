package main

// messagesShapes are the forms of a request of Anthropic's Messages API.
var messagesShapes = []shape{
	{ofMessages + "one long text", everyModel, own(`"messages":[{"role":"user","content":"`, filled("a"), `"}]`)},
	{ofMessages + "a text of escapes that become one byte", everyModel, own(`"messages":[{"role":"user","content":"`, filled(`\n`), `"}]`)},
	{ofMessages + "empty messages", everyModel[1:2], own(`"messages":[`, repeated(`{}`), `]`)},
	{ofMessages + "10,000 messages, roles in turn", everyModel,
		own(`"messages":[`, spread(5_000, `{"role":"user","content":"`, "a", `"},{"role":"assistant","content":"b"}`), `]`)},
	{ofMessages + "10,000 instructions", everyModel,
		own(`"messages":[{"role":"user","content":"a"},`, spread(9_999, `{"role":"system","content":"`, "a", `"}`), `]`)},
	{ofMessages + "1,000 long blocks", everyModel,
		own(`"messages":[{"role":"user","content":[`, spread(1000, `{"type":"text","text":"`, "a", `"}`), `]}]`)},
	{ofMessages + "empty blocks", everyModel[1:2], own(`"messages":[{"role":"user","content":[`, repeated(`{}`), `]}]`)},
	{ofMessages + "one image in base64", everyModel, own(`"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64",`+
		`"media_type":"image/png","data":"iVBORw0KGgoAAAANSUhEUgAA`, filled("AAAA"), `"}}]}]`)},
	{ofMessages + "1,000 images", everyModel, own(`"messages":[{"role":"user","content":[`,
		spread(1000, `{"type":"image","source":{"type":"url","url":"https://`, "a", `"}}`), `]}]`)},
	{ofMessages + "a document of 1,000 texts", everyModel, own(`"messages":[{"role":"user","content":[{"type":"document","source":{"type":"content",`+
		`"content":[`, spread(1000, `{"type":"text","text":"`, "a", `"}`), `]}}]}]`)},
	{ofMessages + "a call with a long input", everyModel, own(inputBefore, named(`"%s":0`), inputAfter)},
	{ofMessages + "a call with an input of many objects", everyModel, own(inputBefore+`"a":[`, repeated(`{}`), `]`+inputAfter)},
	{ofMessages + "1,000 thoughts", everyModel, own(`"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[`,
		spread(1000, `{"type":"thinking","thinking":"`, "a", `","signature":"a"}`), `]},{"role":"user","content":"a"}]`)},
	{ofMessages + "1,024 tools", everyModel, own(ownUser+`"tools":[`,
		spread(1024, `{"name":"f","input_schema":{"type":"object","properties":{"a":{}}},"description":"`, "a", `"}`), `]`)},
	{ofMessages + "a schema of many properties", everyModel, own(ownUser+`"tools":[{"name":"f","input_schema":{"type":"object","properties":{`,
		named(`"%s":{"type":"string"}`), `}}}]`)},
	{ofMessages + "1,000 blocks of instructions", everyModel, own(ownUser+`"system":[`, spread(1000, `{"type":"text","text":"`, "a", `"}`), `]`)},
	{ofMessages + "many stop sequences", everyModel, own(ownUser+`"stop_sequences":[`, repeated(`"a"`), `]`)},
	{ofMessages + "many unknown members", everyModel, own(ownUser, named(`"%s":0`), ``)},
	{ofMessages + "many unknown members with escapes in their names", everyModel, own(ownUser, named(`"\u0061%s":0`), ``)},
	{ofMessages + "many unknown members of a block", everyModel,
		own(`"messages":[{"role":"user","content":[{"type":"text","text":"a",`, named(`"%s":1`), `}]}]`)},
	{ofMessages + "many unknown elements", everyModel, own(ownUser+`"a":[`, repeated(`0`), `]`)},
}

const (
	ownUser     = `"messages":[{"role":"user","content":"a"}],`
	inputBefore = `"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{`
	inputAfter  = `}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"b"}]}]`
)

// own is a request of the Messages API.
func own(before string, fill filler, after string) func(string, int) string {
	return top(`"max_tokens":100,`+before, fill, after)
}
