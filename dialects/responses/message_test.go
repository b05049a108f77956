package responses_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

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

func TestTextsAreThePartsOfOneMessage(t *testing.T) {
	r := dialect.Both(t, anyRequest(), answers(func(e *llm.Emitter) {
		e.Text(0, "a")
		e.Block(0)
		e.Text(0, "b")
		e.Refusal(0, "no")
		e.Refusal(0, "pe")
		finish(e, llm.FinishStop)
	}))
	c := r.Output[0].Content
	if kinds(r) != "message" || len(c) != 3 || c[0].Text != "a" || c[1].Text != "b" || c[2].Type != "refusal" || c[2].Refusal != "nope" ||
		r.Status != "completed" {
		t.Errorf("%s", r.raw)
	}
}

// Other endings are in tests/responses.
func TestUnknownEndingsAreCompleteAndAFilteredAnswerMayBeEmpty(t *testing.T) {
	const usage = `"usage":{"input_tokens":42,"input_tokens_details":{"cached_tokens":30,"cache_write_tokens":2},"output_tokens":9,` +
		`"output_tokens_details":{"reasoning_tokens":4},"total_tokens":51}`
	for reason, want := range map[llm.Finish]string{"": "completed", "other": "completed", llm.FinishContentFilter: "incomplete"} {
		r := dialect.Both(t, anyRequest(), answers(func(e *llm.Emitter) { finish(e, reason) }))
		if len(r.Output) != 0 || r.Status != want || !strings.Contains(r.raw, usage) {
			t.Errorf("%q: %s", reason, r.raw)
		}
	}
}

func TestCitationsStandInTheTextThatTheyAreOf(t *testing.T) {
	r := dialect.Both(t, anyRequest(), answers(func(e *llm.Emitter) {
		e.Text(0, "Grün")
		e.Citations(0, []llm.Citation{{Start: 0, End: 4, URL: "https://example.com/g", Title: "G \"g\""}})
		e.Block(0)
		e.Text(0, " ist")
		e.Citations(0, []llm.Citation{
			{Start: 5, End: 8, URL: "https://example.com/a"}, {Start: 4, End: 8, Title: "no address"}, {URL: "https://example.com/b", Title: "B"},
		})
		finish(e, llm.FinishStop)
	}))
	want := [][]string{
		{`{"type":"url_citation","start_index":0,"end_index":4,"url":"https://example.com/g","title":"G \"g\""}`},
		{
			`{"type":"url_citation","start_index":1,"end_index":4,"url":"https://example.com/a","title":""}`,
			`{"type":"url_citation","start_index":0,"end_index":0,"url":"https://example.com/b","title":"B"}`,
		},
	}
	for i, part := range r.Output[0].Content {
		var got []string
		for _, a := range part.Annotations {
			got = append(got, string(a))
		}
		if strings.Join(got, "\n") != strings.Join(want[i], "\n") {
			t.Errorf("%q, not %q", got, want[i])
		}
	}
	dialect.Streamed(t, anyRequest(), answers(func(e *llm.Emitter) { // there is no text left to hold them
		e.Text(0, "a")
		e.Call(0, &llm.CallStart{ID: "a", Name: "f", Arguments: "{}"})
		e.Citations(0, []llm.Citation{{URL: "https://example.com/a"}})
		finish(e, llm.FinishToolCalls)
	}))
}

func TestProbabilitiesOfTokensStandInDeltasAndInTheirText(t *testing.T) {
	token := func(text string) jsontext.Value {
		return jsontext.Value(`{"content":[{"token":"` + text + `","logprob":-0.1,"bytes":[97],` + "\n" + `"top_logprobs":[]}],"refusal":null}`)
	}
	r := dialect.Both(t, anyRequest(), answers(func(e *llm.Emitter) {
		e.Logprobs(token("a"))
		e.Text(0, "a")
		e.Text(0, "b")
		e.Logprobs(token("c"))
		e.Text(0, "c")
		finish(e, llm.FinishStop)
	}))
	if p := r.Output[0].Content[0].Logprobs; len(p) != 2 || string(p[1]) != `{"token":"c","logprob":-0.1,"bytes":[97],"top_logprobs":[]}` {
		t.Errorf("%s", r.raw)
	}
	r = dialect.Both(t, anyRequest(), answers(func(e *llm.Emitter) { // they come before their text
		e.Logprobs(token("a"))
		e.Text(0, "")
		e.Text(0, "a")
		finish(e, llm.FinishStop)
	}))
	if len(r.Output[0].Content[0].Logprobs) != 1 {
		t.Errorf("%s", r.raw)
	}
}

func TestMediaThatTheModelMade(t *testing.T) {
	r := dialect.Both(t, anyRequest(), answers(func(e *llm.Emitter) {
		e.Text(0, "a")
		e.Media(0, &llm.Media{Kind: llm.Image, URL: "data:image/jpeg;base64,AAAA"})
		e.Media(0, &llm.Media{Kind: llm.Image, URL: "data:;base64,CCCC"})
		e.Media(0, &llm.Media{Kind: llm.Image, URL: "https://example.com/a.png"})
		e.Media(0, &llm.Media{Kind: llm.Audio, Data: "BBBB", Format: "wav"})
		e.Media(0, &llm.Media{Kind: llm.File, URL: "data:video/mp4;base64,CCCC"})
		e.Text(0, "b")
		finish(e, llm.FinishStop)
	}))
	if kinds(r) != "message image_generation_call image_generation_call message" || *r.Output[1].Result != "AAAA" ||
		r.Output[1].Format != "jpeg" || *r.Output[2].Result != "CCCC" || r.Output[2].Format != "png" || r.Output[1].Status != "completed" {
		t.Fatalf("%s", r.raw)
	}
	var texts []string
	for _, p := range r.Output[3].Content {
		texts = append(texts, p.Text)
	}
	want := "![image](https://example.com/a.png) [audio left out: wav, 1 KB, for which this API has no form] " +
		"[file left out: video/mp4, 1 KB, for which this API has no form] b"
	if strings.Join(texts, " ") != want {
		t.Errorf("%q", texts)
	}
}

func TestImageComesBackAsItWas(t *testing.T) {
	for _, address := range []string{"data:image/jpeg;base64,AAAA", "data:image/png;base64,AAAA", "data:image/webp;base64,AAAA"} {
		r := dialect.Both(t, anyRequest(), answers(func(e *llm.Emitter) {
			e.Media(0, &llm.Media{Kind: llm.Image, URL: address})
			finish(e, llm.FinishStop)
		}))
		c, err := asked(t, `{"model":"m","input":[{"role":"user","content":"x"},{"type":"image_generation_call","id":"`+r.Output[0].ID+
			`","output_format":"`+r.Output[0].Format+`","result":"`+*r.Output[0].Result+`"}]}`).Source.Conversation()
		if err != nil || c.Messages[1].Blocks[0].Media.URL != address {
			t.Errorf("%s: %v, %+v", address, err, c)
		}
	}
}

// The response repeats the client's settings as they were written, on one line.
func TestSettingsOfTheRequestAreRepeated(t *testing.T) {
	req := asked(t, `{"model":"m","input":"x","instructions":"Be\nbrief.","tools":[{"type": "function",`+"\n"+
		`"name":"f","parameters":{"b":1,"a":{"const":1.50}},"strict":null},{"type":"web_search"}],"temperature":0.50,"top_p":null,`+
		`"metadata":{"k":"v"},"reasoning":{"effort":"low"},"text":{"verbosity":"low"},"tool_choice":{"type":"function","name":"f"},`+
		`"parallel_tool_calls":false,"prompt_cache_key":"p","safety_identifier":"s","user":"u","max_output_tokens":100,"top_logprobs":0,`+
		`"truncation":"auto","max_tool_calls":3,"store":true,"service_tier":"auto"}`)
	r := dialect.Both(t, req, answers(func(e *llm.Emitter) {
		e.Head().ServiceTier = "priority"
		e.Text(0, "a")
		finish(e, llm.FinishStop)
	}))
	for _, want := range []string{
		`"instructions":"Be\nbrief."`, `"temperature":0.50`, `"top_p":1.0`, `"metadata":{"k":"v"}`, `"reasoning":{"effort":"low"}`,
		`"tools":[{"type":"function","name":"f","parameters":{"b":1,"a":{"const":1.50}},"strict":null},{"type":"web_search"}]`,
		`"text":{"verbosity":"low"}`, `"tool_choice":{"type":"function","name":"f"}`, `"parallel_tool_calls":false`, `"prompt_cache_key":"p"`,
		`"safety_identifier":"s"`, `"user":"u"`, `"max_output_tokens":100`, `"truncation":"auto"`, `"max_tool_calls":3`, `"store":false`,
		`"service_tier":"priority"`, `"previous_response_id":null`,
	} {
		if !strings.Contains(r.raw, want) {
			t.Errorf("no %s in %s", want, r.raw)
		}
	}
	req.Keep, req.Continues = true, "resp_before"
	if r = dialect.Both(t, req, answers(func(e *llm.Emitter) { finish(e, llm.FinishStop) })); !strings.Contains(r.raw, `"store":true,"previous_response_id":"resp_before"`) {
		t.Errorf("%s", r.raw)
	}
}
