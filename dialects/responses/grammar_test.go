package responses_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// answered is a response as a client has it.
type answered struct {
	ID          string         `json:"id"`
	Object      string         `json:"object"`
	CreatedAt   int64          `json:"created_at"`
	CompletedAt *int64         `json:"completed_at"`
	Status      string         `json:"status"`
	Error       *failure       `json:"error"`
	Incomplete  *incompletion  `json:"incomplete_details"`
	Model       string         `json:"model"`
	Output      []item         `json:"output"`
	Usage       *usage         `json:"usage"`
	Tools       jsontext.Value `json:"tools"`

	raw    string
	opened string // the JSON of the response in response.created, without what changes
	events []string
	told   *failure // of the event error
}

type failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type incompletion struct {
	Reason string `json:"reason"`
}

type item struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Status  string `json:"status"`
	Role    string `json:"role"`
	Content []part `json:"content"`

	Summary   []part  `json:"summary"`
	Encrypted *string `json:"encrypted_content"`

	CallID    string         `json:"call_id"`
	Name      string         `json:"name"`
	Namespace string         `json:"namespace"`
	Arguments jsontext.Value `json:"arguments"`
	Input     string         `json:"input"`
	Action    jsontext.Value `json:"action"`
	Operation jsontext.Value `json:"operation"`
	Execution string         `json:"execution"`
	Result    *string        `json:"result"`
	Format    string         `json:"output_format"`
}

// arguments are those of a function, as a text.
func (i *item) arguments() string {
	var text string
	_ = json.Unmarshal(i.Arguments, &text)
	return text
}

type part struct {
	Type        string           `json:"type"`
	Text        string           `json:"text"`
	Refusal     string           `json:"refusal"`
	Annotations []jsontext.Value `json:"annotations"`
	Logprobs    []jsontext.Value `json:"logprobs"`
}

type usage struct {
	Input        *int64 `json:"input_tokens"`
	InputDetails *struct {
		Cached  *int64 `json:"cached_tokens"`
		Written *int64 `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	Output        *int64 `json:"output_tokens"`
	OutputDetails *struct {
		Reasoning *int64 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	Total *int64 `json:"total_tokens"`
}

func (u *usage) whole() bool {
	return u != nil && u.Input != nil && u.InputDetails != nil && u.InputDetails.Cached != nil && u.InputDetails.Written != nil &&
		u.Output != nil && u.OutputDetails != nil && u.OutputDetails.Reasoning != nil && u.Total != nil
}

type wireEvent struct {
	Type        string         `json:"type"`
	Sequence    *int64         `json:"sequence_number"`
	Response    jsontext.Value `json:"response"`
	OutputIndex *int           `json:"output_index"`
	Item        jsontext.Value `json:"item"`
	ItemID      string         `json:"item_id"`

	ContentIndex    *int            `json:"content_index"`
	SummaryIndex    *int            `json:"summary_index"`
	AnnotationIndex *int            `json:"annotation_index"`
	Part            *part           `json:"part"`
	Annotation      jsontext.Value  `json:"annotation"`
	Delta           string          `json:"delta"`
	Text            *string         `json:"text"`
	Refusal         *string         `json:"refusal"`
	Arguments       *string         `json:"arguments"`
	Name            *string         `json:"name"`
	Input           *string         `json:"input"`
	Logprobs        *jsontext.Value `json:"logprobs"`

	Code    string   `json:"code"`
	Message string   `json:"message"`
	Error   *failure `json:"error"`
}

// members are those that a response always has.
var members = []string{
	"id", "object", "created_at", "completed_at", "status", "background", "error", "incomplete_details", "instructions",
	"max_output_tokens", "max_tool_calls", "metadata", "model", "output", "parallel_tool_calls", "previous_response_id",
	"prompt_cache_key", "reasoning", "safety_identifier", "service_tier", "store", "temperature", "text", "tool_choice", "tools",
	"top_logprobs", "top_p", "truncation", "usage", "user",
}

// grammar checks the order of the events of a stream.
type grammar struct {
	answered
	sequence int64
	begun    bool
	ended    bool
	done     []string // the JSON of the items
	items    []item

	open    bool // the last item
	body    string
	part    *part // the open part
	partEnd bool  // its text is done
	parts   int
	cited   int
	faults  []error
}

func (g *grammar) demand(ok bool, format string, args ...any) {
	if !ok {
		g.faults = append(g.faults, fmt.Errorf(format, args...))
	}
}

// check puts a stream together. Its error names the rules of the API that it breaks.
func check(text string) (*answered, error) {
	g := &grammar{}
	body, whole := strings.CutSuffix(text, "\n\n")
	g.demand(whole, "the stream does not end with an empty line: %q", text)
	for event := range strings.SplitSeq(body, "\n\n") {
		if event != "" && event != ": ping" {
			g.event(event)
		}
	}
	g.demand(g.ended, "the stream has no end")
	return &g.answered, errors.Join(g.faults...)
}

func (g *grammar) event(text string) {
	head, data, two := strings.Cut(text, "\n")
	name, named := strings.CutPrefix(head, "event: ")
	data, said := strings.CutPrefix(data, "data: ")
	g.demand(two && named && said && !strings.ContainsAny(data, "\r\n"), "not an event line and a data line: %q", text)
	g.demand(!g.ended, "%s follows the end", name)
	var e wireEvent
	if err := json.Unmarshal([]byte(data), &e); err != nil {
		g.demand(false, "%s: %w", data, err)
		return
	}
	g.events = append(g.events, name)
	g.demand(e.Type == name, "the event %s is of type %s", name, e.Type)
	g.demand(e.Sequence != nil && *e.Sequence == g.sequence, "sequence_number of %s is not %d", data, g.sequence)
	g.sequence++
	g.demand(g.begun || name == "response.created", "%s before response.created", name)
	g.demand(g.told == nil || name == "response.failed", "%s follows an error", name)
	if e.Response != nil {
		g.response(name, e.Response)
		return
	}
	if name == "error" {
		g.told = &failure{e.Code, e.Message}
		g.demand(e.Error != nil && *e.Error == *g.told && e.Code != "" && e.Message != "", "error: %s", data)
		return
	}
	g.demand(e.OutputIndex != nil, "%s has no output_index", data)
	if e.Item != nil {
		g.item(name, &e)
		return
	}
	if g.demand(g.open && e.ItemID == g.items[len(g.items)-1].ID && *e.OutputIndex == len(g.items)-1, "%s is of no open item", data); g.open {
		g.inside(name, &e)
	}
}

func (g *grammar) response(name string, raw jsontext.Value) {
	var r answered
	var all map[string]jsontext.Value
	if err := errors.Join(json.Unmarshal(raw, &r), json.Unmarshal(raw, &all)); err != nil {
		g.demand(false, "%s: %w", raw, err)
		return
	}
	for _, m := range members {
		g.demand(all[m] != nil, "%s lacks %s", name, m)
	}
	opened := fmt.Sprint(r.ID, r.Object, r.CreatedAt, r.Tools)
	switch name {
	case "response.created":
		g.demand(!g.begun, "response.created comes again")
		g.begun, g.opened = true, opened
		fallthrough
	case "response.in_progress":
		g.demand(r.Status == "in_progress" && len(r.Output) == 0 && r.Usage == nil && r.CompletedAt == nil, "%s: %s", name, raw)
		g.demand(len(g.events) != 2 || name == "response.in_progress", "response.in_progress is not the second event")
	case "response.completed", "response.incomplete", "response.failed":
		g.ended = true
		g.demand(name == "response."+r.Status, "%s: %s", name, raw)
		g.demand((r.Status == "failed") == (r.Error != nil) && (r.Status == "incomplete") == (r.Incomplete != nil), "%s: %s", name, raw)
		g.demand((g.told != nil) == (r.Status == "failed"), "%s after the error %v", name, g.told)
		if r.Status != "failed" {
			g.demand(!g.open && r.Usage.whole() && r.CompletedAt != nil, "an open item, or usage that is not whole: %s", raw)
		}
		output := strings.Join(g.done, ",")
		g.demand(string(all["output"]) == "["+output+"]", "the items are done as [%s], and the response has %s", output, all["output"])
		events, told := g.events, g.told
		r.opened = g.opened
		g.answered = r
		g.events, g.told, g.raw = events, told, string(raw)
	default:
		g.demand(false, "unknown event %s", name)
	}
	g.demand(r.ID != "" && strings.HasPrefix(r.ID, "resp_") && r.Object == "response" && r.Model != "" && r.CreatedAt > 0, "%s: %s", name, raw)
	g.demand(opened == g.opened, "the response changes: %s, then %s", g.opened, opened)
}

func (g *grammar) item(name string, e *wireEvent) {
	var i item
	if err := json.Unmarshal(e.Item, &i); err != nil {
		g.demand(false, "%s: %w", e.Item, err)
		return
	}
	switch name {
	case "response.output_item.added":
		g.demand(!g.open && *e.OutputIndex == len(g.items), "item %d begins as number %d", *e.OutputIndex, len(g.items))
		g.demand(!slices.ContainsFunc(g.items, func(o item) bool { return o.ID == i.ID }), "two items are called %s", i.ID)
		g.demand(len(i.Content) == 0 && len(i.Summary) == 0 && i.arguments() == "" && i.Input == "", "an item begins with content: %s", e.Item)
		g.items, g.open, g.body, g.part, g.parts = append(g.items, i), true, "", nil, 0
	case "response.output_item.done":
		last := &g.items[len(g.items)-1]
		g.demand(g.open && *e.OutputIndex == len(g.items)-1 && i.ID == last.ID && i.Type == last.Type, "item %d is done twice or changes", *e.OutputIndex)
		g.demand(g.part == nil, "a part of %s is open", e.Item)
		g.demand(i.CallID == last.CallID && i.Name == last.Name && i.Namespace == last.Namespace, "%s has other names than %+v", e.Item, last)
		g.whole(&i)
		last.Content, last.Summary = nil, nil
		g.open, g.done = false, append(g.done, string(e.Item))
	default:
		g.demand(false, "unknown event %s", name)
	}
}

// whole checks an item that is done.
func (g *grammar) whole(i *item) {
	begun := g.items[len(g.items)-1]
	status := i.Status == "completed" || i.Status == "incomplete"
	switch i.Type {
	case "message":
		g.demand(status && i.Role == "assistant" && len(i.Content) > 0 && slices.EqualFunc(i.Content, begun.Content, samePart), "message: %+v, its events said %+v", i, begun)
	case "reasoning":
		g.demand(i.Summary != nil && slices.EqualFunc(i.Summary, begun.Summary, samePart), "reasoning: %+v, its events said %+v", i, begun)
	case "function_call":
		g.demand(status && i.CallID != "" && i.Name != "" && g.body == "done "+i.arguments(), "%+v, its events said %q", i, g.body)
	case "custom_tool_call":
		g.demand(status && i.CallID != "" && i.Name != "" && g.body == "done "+i.Input, "%+v, its events said %q", i, g.body)
	case "local_shell_call", "shell_call":
		g.demand(status && i.CallID != "" && i.Action.Kind() == '{', "%+v", i)
	case "apply_patch_call":
		g.demand(status && i.CallID != "" && i.Operation.Kind() == '{', "%+v", i)
	case "tool_search_call":
		g.demand(status && i.CallID != "" && i.Execution == "client" && i.Arguments.Kind() == '{', "%+v", i)
	case "image_generation_call":
		g.demand(status && i.Result != nil, "%+v", i)
	case "compaction":
		g.demand(i.Encrypted != nil && *i.Encrypted != "", "%+v", i)
	default:
		g.demand(false, "unknown item %s", i.Type)
	}
}

func samePart(a, b part) bool {
	return a.Type == b.Type && a.Text == b.Text && a.Refusal == b.Refusal && fmt.Sprint(a.Annotations, a.Logprobs) == fmt.Sprint(b.Annotations, b.Logprobs)
}

// inside checks an event about what the open item holds.
func (g *grammar) inside(name string, e *wireEvent) {
	i := &g.items[len(g.items)-1]
	short := strings.TrimPrefix(name, "response.")
	owners := map[string]string{
		"content_part": "message", "output_text": "message", "refusal": "message", "reasoning_summary_part": "reasoning",
		"reasoning_summary_text": "reasoning", "function_call_arguments": "function_call", "custom_tool_call_input": "custom_tool_call",
	}
	subject, step, _ := strings.Cut(short, ".")
	g.demand(owners[subject] == i.Type, "%s inside %s", name, i.Type)
	index, list := e.ContentIndex, &i.Content
	if i.Type == "reasoning" {
		index, list = e.SummaryIndex, &i.Summary
	}
	if i.Type == "message" || i.Type == "reasoning" {
		if index == nil {
			g.demand(false, "%s has no index of its part", name)
			return
		}
		want := g.parts - 1
		if step == "added" && strings.HasSuffix(subject, "_part") {
			want++
		}
		g.demand(*index == want, "%s of part %d, not %d", name, *index, want)
	}
	switch short {
	case "content_part.added", "reasoning_summary_part.added":
		g.demand(g.part == nil && e.Part != nil && e.Part.Text+e.Part.Refusal == "", "%s: %+v", name, e.Part)
		p := *e.Part
		g.part, g.partEnd, g.cited = &p, false, 0
		g.parts++
	case "output_text.delta", "reasoning_summary_text.delta", "refusal.delta":
		g.demand(g.part != nil && !g.partEnd && e.Delta != "", "%s outside of a part, or empty", name)
		if g.part == nil {
			return
		}
		if short == "refusal.delta" {
			g.part.Refusal += e.Delta
			return
		}
		g.part.Text += e.Delta
		if short == "output_text.delta" {
			g.part.Logprobs = append(g.part.Logprobs, e.logprobs(g)...)
		}
	case "output_text.annotation.added":
		g.demand(g.part != nil && !g.partEnd && e.AnnotationIndex != nil && *e.AnnotationIndex == g.cited, "%s: %+v", name, e)
		g.cited++
		g.part.Annotations = append(g.part.Annotations, e.Annotation)
	case "output_text.done", "reasoning_summary_text.done":
		g.demand(g.part != nil && !g.partEnd && e.Text != nil && *e.Text == g.part.Text && *e.Text != "", "%s: %+v", name, e)
		if short == "output_text.done" && g.part != nil {
			g.demand(fmt.Sprint(e.logprobs(g)) == fmt.Sprint(g.part.Logprobs), "%s: %v", name, g.part.Logprobs)
		}
		g.partEnd = true
	case "refusal.done":
		g.demand(g.part != nil && !g.partEnd && e.Refusal != nil && *e.Refusal == g.part.Refusal && *e.Refusal != "", "%s: %+v", name, e)
		g.partEnd = true
	case "content_part.done", "reasoning_summary_part.done":
		g.demand(g.part != nil && g.partEnd && e.Part != nil && samePart(*e.Part, *g.part), "%s: %+v, not %+v", name, e.Part, g.part)
		if g.part != nil {
			*list = append(*list, *g.part)
		}
		g.part = nil
	case "function_call_arguments.delta", "custom_tool_call_input.delta":
		g.demand(e.Delta != "" && !strings.HasPrefix(g.body, "done "), "%s: %+v", name, e)
		g.body += e.Delta
	case "function_call_arguments.done":
		g.demand(e.Arguments != nil && *e.Arguments == g.body && e.Name != nil && *e.Name == i.Name, "%s: %+v, not %q", name, e, g.body)
		g.body = "done " + g.body
	case "custom_tool_call_input.done":
		g.demand(e.Input != nil && *e.Input == g.body, "%s: %+v, not %q", name, e, g.body)
		g.body = "done " + g.body
	default:
		g.demand(false, "unknown event %s", name)
	}
}

func (e *wireEvent) logprobs(g *grammar) (all []jsontext.Value) {
	g.demand(e.Logprobs != nil && json.Unmarshal(*e.Logprobs, &all) == nil, "%s has no logprobs", e.Type)
	return all
}
