package cloudtest

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/reply"
	"modelgateway/providers/simulator/wire"
)

// conversation is a request of Converse. It is read more strictly than Amazon does, which
// leaves out members that it does not know: a name that is spelt wrongly shall not pass.
type conversation struct {
	Messages []struct {
		Role    string  `json:"role"`
		Content []block `json:"content"`
	} `json:"messages"`
	System    []block `json:"system"`
	Inference struct {
		MaxTokens     int      `json:"maxTokens"`
		Temperature   *float64 `json:"temperature"`
		TopP          *float64 `json:"topP"`
		StopSequences []string `json:"stopSequences"`
	} `json:"inferenceConfig"`
	Tools *struct {
		Tools []struct {
			Spec *struct {
				Name        string `json:"name"`
				Description string `json:"description"`
				Strict      bool   `json:"strict"`
				InputSchema struct {
					JSON jsontext.Value `json:"json"`
				} `json:"inputSchema"`
			} `json:"toolSpec"`
			CachePoint jsontext.Value `json:"cachePoint"`
		} `json:"tools"`
		Choice struct {
			Auto, Any *struct{}
			Tool      *struct{ Name string }
		} `json:"toolChoice"`
	} `json:"toolConfig"`
	Output      jsontext.Value `json:"outputConfig"`
	Additional  jsontext.Value `json:"additionalModelRequestFields"`
	Paths       []string       `json:"additionalModelResponseFieldPaths"`
	Guardrail   jsontext.Value `json:"guardrailConfig"`
	Metadata    jsontext.Value `json:"requestMetadata"`
	Performance jsontext.Value `json:"performanceConfig"`
	Tier        jsontext.Value `json:"serviceTier"`
}

// block is a block of a message, of the system text or of a tool's result.
type block struct {
	Text     *string        `json:"text"`
	JSON     jsontext.Value `json:"json"`
	Image    *media         `json:"image"`
	Document *media         `json:"document"`
	ToolUse  *struct {
		ID    string         `json:"toolUseId"`
		Name  string         `json:"name"`
		Input jsontext.Value `json:"input"`
	} `json:"toolUse"`
	ToolResult *struct {
		ID      string  `json:"toolUseId"`
		Content []block `json:"content"`
		Status  string  `json:"status"`
	} `json:"toolResult"`
	Reasoning  jsontext.Value `json:"reasoningContent"`
	CachePoint jsontext.Value `json:"cachePoint"`
}

type media struct {
	Format string `json:"format"`
	Name   string `json:"name"`
	Source struct {
		Bytes []byte `json:"bytes"`
		Text  string `json:"text"`
	} `json:"source"`
}

const alternate = "A conversation must start with a user message and alternate between user and assistant roles. Make sure the " +
	"conversation alternates between user and assistant roles and try again."

var (
	conversing   = regexp.MustCompile(`^(amazon\.nova-|meta\.|mistral\.|deepseek\.)`)
	toolName     = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	documentName = regexp.MustCompile(`^[a-zA-Z0-9()\[\]-]+( [a-zA-Z0-9()\[\]-]+)*$`)
)

// read reads a conversation, with the messages of Amazon for what it refuses.
func (q *conversation) read(body []byte, name string) (*reply.Prompt, *awsRefusal) {
	err := json.Unmarshal(body, q, json.RejectUnknownMembers(true), json.MatchCaseInsensitiveNames(true))
	switch {
	case err != nil:
		return nil, invalid("%v", err)
	case len(q.Messages) == 0:
		return nil, invalid(alternate)
	}
	p := reply.New("bedrock", name)
	p.MaxTokens, p.Stops = q.Inference.MaxTokens, q.Inference.StopSequences
	if q.Tools != nil {
		for _, t := range q.Tools.Tools {
			if t.Spec != nil && !toolName.MatchString(t.Spec.Name) {
				return nil, invalid("Value '%s' at 'toolConfig.tools.1.member.toolSpec.name' failed to satisfy constraint: "+
					"Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+", t.Spec.Name)
			}
			if t.Spec != nil {
				p.AddTool(reply.Tool{Name: t.Spec.Name, Schema: t.Spec.InputSchema.JSON})
			}
		}
		switch c := q.Tools.Choice; {
		case c.Tool != nil:
			p.Choice = reply.ToolChoice{Mode: reply.ChoiceForced, Names: []string{c.Tool.Name}}
		case c.Any != nil:
			p.Choice.Mode = reply.ChoiceForced
		}
	}
	for _, b := range q.System {
		if b.Text != nil {
			p.AddSystem(*b.Text)
		}
	}
	open, known := map[string]string{}, map[string]string{}
	for i, m := range q.Messages {
		if want := [2]string{"user", "assistant"}[i%2]; m.Role != want {
			return nil, invalid(alternate)
		}
		p.BeginMessage(m.Role)
		answered := 0
		for j, b := range m.Content {
			if b.ToolResult != nil && open[b.ToolResult.ID] != "" {
				answered++
			}
			if refusal := q.addBlock(p, m.Role, fmt.Sprintf("messages.%d.content.%d", i, j), b, known); refusal != nil {
				return nil, refusal
			}
		}
		if answered != len(open) {
			return nil, invalid("Expected toolResult blocks at messages.%d.content for all toolUse blocks of the turn before", i)
		}
		open = map[string]string{}
		for _, b := range m.Content {
			if b.ToolUse != nil {
				open[b.ToolUse.ID] = b.ToolUse.Name
			}
		}
	}
	return p, nil
}

func (q *conversation) addBlock(p *reply.Prompt, role, at string, b block, known map[string]string) *awsRefusal {
	switch {
	case (b.ToolUse != nil || b.ToolResult != nil) && q.Tools == nil:
		return invalid("The toolConfig field must be defined when using toolUse and toolResult content blocks.")
	case b.Text != nil && strings.TrimSpace(*b.Text) == "":
		return invalid("The text field in the ContentBlock object at %s is blank. Add text to the text field, and try again.", at)
	case b.Text != nil && role == "assistant":
		p.AddAssistant(*b.Text)
	case b.Text != nil:
		p.AddUser(*b.Text)
	case b.Image != nil:
		if !slices.Contains([]string{"png", "jpeg", "gif", "webp"}, b.Image.Format) || len(b.Image.Source.Bytes) == 0 {
			return invalid("The image at %s is not one that the model can read", at)
		}
		p.AddImage(string(b.Image.Source.Bytes))
	case b.Document != nil:
		if !documentName.MatchString(b.Document.Name) {
			return invalid("The document file name at %s can only contain alphanumeric characters, whitespace characters, hyphens, parentheses, "+
				"and square brackets. The name can't contain more than one consecutive whitespace character.", at)
		}
		p.AddFile(string(b.Document.Source.Bytes) + b.Document.Source.Text)
	case b.ToolUse != nil:
		if b.ToolUse.Input.Kind() != '{' {
			return invalid("The format of the value at %s.toolUse.input is invalid. Provide a json object for the field and try again.", at)
		}
		known[b.ToolUse.ID] = b.ToolUse.Name
		p.AddCall(b.ToolUse.Name, string(b.ToolUse.Input))
	case b.ToolResult != nil:
		var result string
		for _, part := range b.ToolResult.Content {
			if part.Text != nil {
				result += *part.Text
			}
			result += string(part.JSON)
		}
		p.AddResult(known[b.ToolResult.ID], result)
	case b.Reasoning == nil && b.CachePoint == nil:
		return invalid("The content block at %s is empty", at)
	}
	return nil
}

// converse is Converse and ConverseStream.
func (a *AWS) converse(w http.ResponseWriter, r *http.Request) {
	name, _ := model(r.PathValue("id"))
	if !conversing.MatchString(name) {
		invalid(unknownModel).write(w)
		return
	}
	var q conversation
	p, refusal := q.read(readBody(r), name)
	if refusal != nil {
		refusal.write(w)
		return
	}
	fault := p.Trigger()
	if kind := awsKinds[fault.Status]; fault.Fault == reply.FaultError && kind != "" {
		(&awsRefusal{fault.Status, kind, "simulated: " + kind}).write(w)
		return
	}
	answer := p.Reply(0)
	if strings.HasSuffix(r.URL.Path, "-stream") {
		streamAnswer(w, p, answer, fault.Fault)
		return
	}
	var content []rawjson.Object
	if answer.Text != "" {
		content = append(content, rawjson.Object{"text", answer.Text})
	}
	for _, c := range answer.Calls {
		content = append(content, rawjson.Object{"toolUse", rawjson.Object{
			"input", jsontext.Value(c.Arguments), "name", c.Name, "toolUseId", wire.NewID("tooluse_"),
		}})
	}
	wire.WriteJSON(w, http.StatusOK, rawjson.Object{
		"metrics", rawjson.Object{"latencyMs", 2}, "output", rawjson.Object{"message", rawjson.Object{"content", content, "role", "assistant"}},
		"stopReason", ends[answer.End], "usage", usage(p, answer),
	})
}

var ends = map[reply.End]string{
	reply.EndTurn: "end_turn", reply.EndStop: "stop_sequence", reply.EndLength: "max_tokens", reply.EndCalls: "tool_use",
}

func usage(p *reply.Prompt, answer reply.Reply) rawjson.Object {
	in, out := p.Tokens(), answer.AnswerTokens()
	return rawjson.Object{"inputTokens", in, "outputTokens", out, "totalTokens", in + out}
}

// streamAnswer sends the frames of ConverseStream, with the fault that the prompt asks for in
// the middle. A block of text has no contentBlockStart.
func streamAnswer(w http.ResponseWriter, p *reply.Prompt, answer reply.Reply, fault reply.Fault) {
	type frame struct {
		name    string
		payload rawjson.Object
	}
	all, index := []frame{{"messageStart", rawjson.Object{"p", "abc", "role", "assistant"}}}, 0
	delta := func(member string, value any) {
		all = append(all, frame{"contentBlockDelta", rawjson.Object{"contentBlockIndex", index, "delta", rawjson.Object{member, value}, "p", "ab"}})
	}
	stop := func() {
		all = append(all, frame{"contentBlockStop", rawjson.Object{"contentBlockIndex", index, "p", "abcd"}})
		index++
	}
	if answer.Text != "" {
		for _, token := range reply.Split(answer.Text) {
			delta("text", token)
		}
		stop()
	}
	for _, c := range answer.Calls {
		all = append(all, frame{"contentBlockStart", rawjson.Object{"contentBlockIndex", index, "start", rawjson.Object{
			"toolUse", rawjson.Object{"name", c.Name, "toolUseId", wire.NewID("tooluse_")},
		}}})
		for _, piece := range reply.Fragments(c.Arguments) {
			delta("toolUse", rawjson.Object{"input", piece})
		}
		stop()
	}
	all = append(all, frame{"messageStop", rawjson.Object{"p", "a", "stopReason", ends[answer.End]}},
		frame{"metadata", rawjson.Object{"metrics", rawjson.Object{"latencyMs", 2}, "p", "ab", "usage", usage(p, answer)}})
	w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
	for i, f := range all {
		switch {
		case fault == reply.FaultMidstream && i == len(all)/2:
			_ = writeFrame(w, "modelStreamErrorException", rawjson.Object{"message", "simulated: the stream broke off"}) // nothing follows
			return
		case fault == reply.FaultTruncation && i == len(all)/2:
			panic(http.ErrAbortHandler)
		}
		if writeFrame(w, f.name, f.payload) != nil {
			return
		}
	}
}

// countConverse is CountTokens for a conversation. Of Amazon's own models only some count.
func (a *AWS) countConverse(w http.ResponseWriter, name string, body jsontext.Value) {
	var q conversation
	p, refusal := q.read(body, name)
	if refusal != nil {
		refusal.write(w)
		return
	}
	wire.WriteJSON(w, http.StatusOK, rawjson.Object{"inputTokens", p.Tokens()})
}
