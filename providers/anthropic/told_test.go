package anthropic

import (
	"slices"
	"strings"
	"testing"

	"modelgateway/dialects/chat"
	"modelgateway/llm"
	"modelgateway/providers/providertest"
)

func TestAWholeMessageInMessageStartIsRead(t *testing.T) {
	const whole = `{"type":"message_start","message":{"id":"msg_1","model":"claude-x","content":[{"type":"text","text":"Hi"},` +
		`{"type":"tool_use","id":"toolu_1","name":"f","input":{"a":1}}],"stop_reason":"tool_use","usage":{"input_tokens":43,"output_tokens":62}}}`
	want := []string{"assistant", "text Hi", "call0 toolu_1 f", `call0 {"a":1}`, "finish tool_calls", done}
	for name, body := range map[string]string{"and its end": events(whole, end), "alone": events(whole)} {
		if got, err := play(t, body, ""); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	got, err := play(t, events(whole, began(2, `{"type":"text","text":"more"}`)), "")
	if want := append(slices.Clone(want[:4]), "text more"); err == nil || !slices.Equal(got, want) {
		t.Errorf("broken off after it: %q, %v", got, err)
	}
	if got, err := play(t, events(strings.Replace(whole, `"text":"Hi"`, `"text":5`, 1), end), ""); err == nil {
		t.Errorf("a block that cannot be read: %q", got)
	}
}

// told is an answer to a request with these fields, as a stream and whole.
func told(t *testing.T, stream, whole, fields string) (streamed, answered *chat.Completion) {
	t.Helper()
	x, req := answering(t, stream, streaming+fields)
	opened, err := x.Open(t.Context(), testKey)
	if err != nil {
		t.Fatal(err)
	}
	if streamed, err = providertest.Collect(providertest.Chunks(req, opened)); err != nil {
		t.Fatal(err)
	}
	x, req = answering(t, whole, fields)
	if opened, err = x.Open(t.Context(), testKey); err != nil {
		t.Fatal(err)
	}
	if answered, err = providertest.Completion(req, opened); err != nil {
		t.Fatal(err)
	}
	return streamed, answered
}

func TestTheEndingIsToldBesideTheFinishReason(t *testing.T) {
	const usage = `{"input_tokens":1,"output_tokens":2,"service_tier":"`
	for _, tt := range []struct{ name, ending, tier, finish, want, wantTier string }{
		{"a stop sequence", `"stop_reason":"stop_sequence","stop_sequence":"END","stop_details":null`, "standard", "stop",
			`{"native_finish_reason":"stop_sequence","stop_reason":"END"}`, "default"},
		{"a refusal", `"stop_reason":"refusal","stop_details":{"type":"refusal","category":"bio","explanation":"No."}`, "priority",
			"content_filter",
			`{"native_finish_reason":"refusal","stop_details":{"type":"refusal","category":"bio","explanation":"No."}}`, "priority"},
		{"odd values", `"stop_reason":"end_turn","stop_sequence":5,"stop_details":"x"`, "batch", "stop",
			`{"native_finish_reason":"end_turn","stop_details":"x"}`, "batch"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			usage := usage + tt.tier + `"}`
			streamed, whole := told(t, events(started(usage), text0, piece(0, words("a")), over(0),
				`{"type":"message_delta","delta":{`+tt.ending+`},"usage":{"output_tokens":2}}`, end),
				`{"type":"message","id":"msg_1","model":"claude-x","content":[{"type":"text","text":"a"}],`+tt.ending+`,"usage":`+usage+`}`, "")
			for _, c := range []*chat.Completion{streamed, whole} {
				choice := c.Choices[0]
				if choice.FinishReason != tt.finish || string(choice.Extra) != tt.want || c.ServiceTier != tt.wantTier {
					t.Errorf("%s %s in the tier %q", choice.FinishReason, choice.Extra, c.ServiceTier)
				}
			}
		})
	}
}

const (
	webCitation = `{"type":"web_search_result_location","cited_text":"six","url":"https://example.com/a","title":null,"encrypted_index":"E"}`
	pageOf      = `{"type":"page_location","cited_text":"p","document_index":0,"document_title":"log.pdf","start_page_number":1,` +
		`"end_page_number":2}`
	resultOf = `{"type":"search_result_location","cited_text":"r","source":"https://example.com/r","title":"R","search_result_index":0}`
)

func TestCitationsBecomeAnnotationsOfTheirBlock(t *testing.T) {
	cite := func(c string) string { return piece(1, `{"type":"citations_delta","citation":`+c+`}`) }
	streamed, whole := told(t, events(start, text0, piece(0, words("Zé 🎉: ")), over(0),
		began(1, `{"type":"text","text":"","citations":[]}`), cite(webCitation), piece(1, words("at ")), cite(`{"cited_text":[]`+
			`,"url":7}`), cite(`"x"`), piece(1, words("six")), cite(pageOf), cite(resultOf), over(1), stopped("end_turn"), end),
		`{"type":"message","id":"msg_1","model":"claude-x","content":[{"type":"text","text":"Zé 🎉: ","citations":null},`+
			`{"type":"text","text":"at six","citations":[`+webCitation+`,{"cited_text":[],"url":7},"x",`+pageOf+`,`+resultOf+`]}],`+
			`"stop_reason":"end_turn","usage":{}}`, "")
	const at = `"start_index":6,"end_index":12`
	const want = `{"annotations":[` +
		`{"type":"url_citation","url_citation":{` + at + `,"title":"","url":"https://example.com/a","content":"six"}},` +
		`{"type":"file_citation","file_citation":{` + at + `,"title":"log.pdf","content":"p","location":` + pageOf + `}},` +
		`{"type":"url_citation","url_citation":{` + at + `,"title":"R","url":"https://example.com/r","content":"r"}}]}`
	for _, c := range []*chat.Completion{streamed, whole} {
		if m := c.Choices[0].Message; *m.Content != "Zé 🎉: at six" || string(m.Extra) != want {
			t.Errorf("%s\n%s\nwant\n%s", *m.Content, m.Extra, want)
		}
	}
}

func TestCitationsOfTextBesideAnAnswerByTool(t *testing.T) {
	const fields = `"response_format":{"type":"json_schema","json_schema":{"name":"f","schema":{"type":"object"}}},`
	text := []string{start, text0, piece(0, `{"type":"citations_delta","citation":`+webCitation+`}`), piece(0, words("Sure: ")), over(0)}
	got, err := play(t, events(append(slices.Clone(text), began(1, toolBlock), piece(1, arguments(`{"a":1}`)), over(1), stopped("tool_use"),
		end)...), fields)
	if want := []string{"assistant", `text {"a":1}`, "finish stop", done}; err != nil || !slices.Equal(got, want) {
		t.Errorf("before the answer: %q, %v", got, err)
	}
	got, err = play(t, events(append(text, stopped("end_turn"), end)...), fields)
	if err != nil || len(got) != 5 || got[1] != "text Sure: " || !strings.Contains(got[2], `"start_index":0,"end_index":6`) {
		t.Errorf("in place of the answer: %q, %v", got, err)
	}
}

func TestTheCommonFormHasTheEndingAndTheCitations(t *testing.T) {
	x, _ := answering(t, events(start, text0, piece(0, `{"type":"citations_delta","citation":`+webCitation+`}`), piece(0, words("ab")),
		over(0),
		`{"type":"message_delta","delta":{"stop_reason":"stop_sequence","stop_sequence":"END"},"usage":{"output_tokens":2}}`, end), streaming)
	stream, err := x.Open(t.Context(), testKey)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := llm.Collect(stream)
	if err != nil {
		t.Fatal(err)
	}
	c := answer.Choices[0]
	if c.Finish != llm.FinishStop || c.NativeReason != "stop_sequence" || c.StopSequence != "END" || len(c.Citations) != 1 ||
		c.Citations[0].URL != "https://example.com/a" || c.Citations[0].End != 2 || c.Citations[0].Quote != "six" {
		t.Errorf("%+v", c)
	}
}
