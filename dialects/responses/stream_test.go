package responses_test

import (
	"regexp"
	"strings"
	"testing"

	"modelgateway/llm"
)

var madeAnew = regexp.MustCompile(`(rs)_[A-Z2-7]{26}|,"sequence_number":\d+`)

// The other events are in tests/archive, whose clients ask for no summaries.
func TestSummariesAreWrittenInTheOrderOfTheAPI(t *testing.T) {
	stream := answers(func(e *llm.Emitter) {
		e.Thought(0, "The user", nil)
		e.Thought(0, " asks", nil)
		e.Text(0, "Hello")
		finish(e, llm.FinishStop)
	})
	const of = `"item_id":"rs_0","output_index":0,"summary_index":0,`
	const part = `{"type":"summary_text","text":"The user asks"}`
	const thought = `{"id":"rs_0","type":"reasoning","summary":[` + part + `],"encrypted_content":null}`
	want := strings.Join([]string{
		`output_item.added "output_index":0,"item":{"id":"rs_0","type":"reasoning","summary":[],"encrypted_content":null}`,
		`reasoning_summary_part.added ` + of + `"part":{"type":"summary_text","text":""}`,
		`reasoning_summary_text.delta ` + of + `"delta":"The user"`,
		`reasoning_summary_text.delta ` + of + `"delta":" asks"`,
		`reasoning_summary_text.done ` + of + `"text":"The user asks"`,
		`reasoning_summary_part.done ` + of + `"part":` + part,
		`output_item.done "output_index":0,"item":` + thought,
		`output_item.added "output_index":1,`,
	}, "\n")
	plain := func(text string) string { return madeAnew.ReplaceAllString(text, "$1") }
	var got strings.Builder
	for event := range strings.SplitSeq(plain(dialect.Written(t, anyRequest(), stream)), "}\n\n") {
		name, data, _ := strings.Cut(strings.TrimPrefix(event, "event: response."), "\ndata: ")
		got.WriteString(name + " " + strings.TrimPrefix(data, `{"type":"response.`+name+`",`) + "\n")
	}
	if !strings.Contains(got.String(), want) {
		t.Errorf("got\n%s\nwant\n%s", &got, want)
	}
	if got := plain(dialect.Collected(t, anyRequest(), stream).raw); !strings.Contains(got, `"output":[`+thought+`,{`) {
		t.Errorf("got\n%s\nwant\n%s", got, thought)
	}
}
