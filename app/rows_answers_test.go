package app

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"modelgateway/providers/providertest"
)

// body is a script of status 200 with this body.
func body(kind, text string) providertest.Script {
	return providertest.Script{Header: http.Header{"Content-Type": {kind}}, Pieces: [][]byte{[]byte(text)}}
}

// TestU6WhatIsNoAnswerIsAProviderError has bodies under a status of success that
// are of no use.
func TestU6WhatIsNoAnswerIsAProviderError(t *testing.T) {
	for _, f := range families() {
		t.Run(f.name, func(t *testing.T) {
			u := providertest.Serve(t)
			answer := f.answer("hello")
			type nonsense struct {
				name   string
				script providertest.Script
			}
			all := []nonsense{
				{"HTML", body("text/html", "<!DOCTYPE html>\n<html><body>Welcome to nginx!</body></html>\n")},
				{"HTML that says it is JSON", body("application/json", "<html>{}</html>")},
				{"text", body("text/plain", "upstream connect error or disconnect/reset before headers")},
				{"nothing", body("application/json", "")},
				{"spaces", body("application/json", " \r\n\t ")},
				{"no content", providertest.Script{Status: 204}},
				{"nothing has changed", providertest.Script{Status: 304}},
				{"an unheard-of status", jsonScript(999, answer)},
				{"bytes", body("application/json", "\x00\xff\xfe\x1f\x8b")},
				{"half", body("application/json", answer[:len(answer)/2])},
				{"all but the last bracket", body("application/json", answer[:len(answer)-1])},
				{"text that is a number", body("application/json", strings.Replace(answer, `"hello"`, `{"a":5}`, 1))},
				{"a list as an object", body("application/json", strings.NewReplacer(`"choices":[`, `"choices":{"a":[`, `"content":[`, `"content":{"a":[`, `"candidates":[`, `"candidates":{"a":[`, `],"usage"`, `]},"usage"`, `],"stop_reason"`, `]},"stop_reason"`).Replace(answer))},
				{"nested too deep", body("application/json", strings.Repeat(`{"a":[`, 100_000))},
			}
			for _, value := range []string{"null", "{}", "[]", `"hello"`, "5", "true", `{"choices":[]}`, `{"candidates":[]}`, `{"type":"message"}`, `{"choices":null,"content":null,"candidates":null}`} {
				all = append(all, nonsense{value, body("application/json", value)}, nonsense{"events of " + value, events(providertest.Proper, "data: "+value+"\n\n")})
			}
			for some := range slices.Chunk(all, fewFailures/2) {
				p := f.alone(t, u.URL)
				for _, tt := range some {
					u.Play(tt.script)
					f.refused(t, tt.name, p.chat(t, f.request("")), 502)
					f.refused(t, tt.name+", a stream", p.chat(t, f.request(streaming)), 502)
				}
			}
		})
	}
}

// odd is a way of writing a stream that changes nothing of what it says.
type odd struct {
	name   string
	script providertest.Script
}

func (f family) odds() []odd {
	whole := []string{f.start, f.text("a"), f.text("b"), f.end}
	write := func(change func(string) string) providertest.Script {
		var changed []string
		for _, piece := range whole {
			changed = append(changed, change(piece))
		}
		return events(providertest.Proper, changed...)
	}
	replace := func(pairs ...string) providertest.Script { return write(strings.NewReplacer(pairs...).Replace) }
	unix := func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
	before := func(line string) providertest.Script { return write(func(s string) string { return line + s }) }
	all := []odd{
		{"as it is", events(providertest.Proper, whole...)},
		{"byte by byte", events(providertest.Proper, whole...).Bytewise()},
		{"in one piece", events(providertest.Proper, strings.Join(whole, ""))},
		{"LF", write(unix)},
		{"CRLF", write(func(s string) string { return strings.ReplaceAll(unix(s), "\n", "\r\n") })},
		{"CR", write(func(s string) string { return strings.ReplaceAll(unix(s), "\n", "\r") })},
		{"a byte order mark", events(providertest.Proper, slices.Concat([]string{"\xef\xbb\xbf"}, whole)...)},
		{"comments", before(": ping\n\n:\n\n: data: {\"no\":1}\n\n")},
		{"empty events", before("\n\nevent: x\n\nid\n\n")},
		{"ids and waits", before("id: 7\nretry: 10\n")},
		{"fields nobody knows", before("x: 1\nfuture\n")},
		{"events nobody knows", before("event: future\ndata: {\"type\":\"future\",\"x\":[1]}\n\n")},
		{"pings", before("event: ping\ndata: {\"type\":\"ping\"}\n\n")},
		{"no space behind the colon", replace("data: {", "data:{")},
		{"spaces in the JSON", replace(`":`, `" : `, "data: {", "data:  {  ")},
		{"escapes", replace(`"a"`, `"\u0061"`)},
		{"data in several lines", replace(`,"`, ",\ndata: \"")},
		{"no last newline", events(providertest.Proper, f.start, f.text("a"), f.text("b"), strings.TrimRight(f.end, "\r\n"))},
		{"a type that is no stream's", providertest.Script{Header: http.Header{"Content-Type": {"application/json"}}, Pieces: events(providertest.Proper, whole...).Pieces}},
		{"usage and nothing else, first", f.withFirst(`{"choices":[],"candidates":[],"type":"message_delta","usage":{"prompt_tokens":1,"output_tokens":1},"usageMetadata":{"promptTokenCount":1}}`)},
	}
	if f.name != "gemini" { // its streams have no end mark but that of the body
		all = append(all, odd{"data behind the end", events(providertest.Proper, slices.Concat(whole, []string{f.text("late"), f.fault, "data: {\n\n"})...)},
			odd{"silence behind the end", events(providertest.Hold, whole...)},
			odd{"a reset behind the end", events(providertest.Reset, whole...)})
	}
	return all
}

// withFirst is a stream with an event of this data right behind its start.
func (f family) withFirst(data string) providertest.Script {
	return events(providertest.Proper, f.start, "data: "+data+"\n\n", f.text("a"), f.text("b"), f.end)
}

func TestU7HowAStreamIsWrittenChangesNothing(t *testing.T) {
	each(t, func(t *testing.T, f family, u *providertest.Upstream, p *program) {
		for _, tt := range f.odds() {
			u.Play(tt.script)
			s := p.chat(t, f.request(streaming+`,"stream_options":{"include_usage":true}`))
			var text, reason string
			var usage int
			for _, c := range chunks(t, s) {
				for _, choice := range c.Choices {
					text += choice.Delta.Content
					reason += choice.FinishReason
				}
				usage += c.Usage.Total
			}
			if s.err != nil || text != "ab" || reason != "stop" || usage != 7 || !strings.HasSuffix(s.body, "data: [DONE]\n\n") {
				t.Errorf("%s: %v %s", tt.name, s.err, s.body)
			}
		}
	})
}

// shown is what the tests look at in a chunk.
type shown struct {
	ID, Model, Object string
	Created           int64
	Choices           []struct {
		Delta        struct{ Content string }
		FinishReason string `json:"finish_reason"`
	}
	Usage struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Total      int `json:"total_tokens"`
	}
}

// chunks are those of a stream, without its last event and its comments.
func chunks(t testing.TB, s answer) []shown {
	t.Helper()
	var all []shown
	for line := range strings.Lines(s.body) {
		data, ok := strings.CutPrefix(line, "data: {")
		if !ok {
			continue
		}
		var c shown
		if err := json.Unmarshal([]byte("{"+data), &c); err != nil {
			t.Errorf("%v: %s", err, line)
		}
		all = append(all, c)
	}
	return all
}

// TestU7AMalformedStreamIsNeverShownAsWhole has what no reader can make sense
// of, behind a part that was sound.
func TestU7AMalformedStreamIsNeverShownAsWhole(t *testing.T) {
	for _, f := range families() {
		t.Run(f.name, func(t *testing.T) {
			u := providertest.Serve(t)
			var all []odd
			for name, data := range map[string]string{
				"half a JSON": `{"choices":[{"delta":{"content":"x`, "no JSON": "hello", "HTML": "<html><body>504</body></html>", "a number": "5", "a list": `["a"]`,
				"bytes": "\x00\x01\xff", "nested too deep": strings.Repeat(`{"a":[`, 20_000), "a text that is a number": strings.TrimSpace(strings.ReplaceAll(f.text("5"), `"5"`, "5")),
			} {
				data = data[strings.LastIndex(data, "data: ")+1:]
				all = append(all, odd{name, events(providertest.Proper, f.start, f.text("par"), "data: "+strings.TrimPrefix(data, "ata: ")+"\n\n", f.text("no"), f.end)})
			}
			all = append(all,
				odd{"an error event", events(providertest.Proper, f.start, f.text("par"), f.fault, f.end)},
				odd{"no end", events(providertest.Proper, f.start, f.text("par"))},
				odd{"half an end", events(providertest.Proper, f.start, f.text("par"), f.end[:len(f.end)/4])},
				odd{"an end of another protocol", events(providertest.Proper, f.start, f.text("par"), "data: [DONE\n\n")},
			)
			for some := range slices.Chunk(all, fewFailures) {
				p := f.alone(t, u.URL)
				for _, tt := range some {
					u.Play(tt.script)
					s := p.chat(t, f.request(streaming))
					brokeOff(t, tt.name, s)
					if !strings.Contains(s.body, `"content":"par"`) || strings.Contains(s.body, `"no"`) {
						t.Errorf("%s: %s", tt.name, s.body)
					}
				}
			}
		})
	}
}

// TestU13ChunksOfOneStreamAgree has an upstream whose every event claims to be of
// another answer.
func TestU13ChunksOfOneStreamAgree(t *testing.T) {
	each(t, func(t *testing.T, f family, u *providertest.Upstream, p *program) {
		other := func(s, id string) string {
			return strings.NewReplacer(`"id":"x"`, `"id":"`+id+`"`, `"responseId":"x"`, `"responseId":"`+id+`"`, `"created":5`, `"created":`+strconv.Itoa(len(id)),
				`"model":"gpt-4-0613"`, `"model":"m-`+id+`"`, `"model":"claude-haiku-4-5-20251001"`, `"model":"m-`+id+`"`, `"modelVersion":"gemini-2.5-flash"`, `"modelVersion":"m-`+id+`"`).Replace(s)
		}
		for name, script := range map[string]providertest.Script{
			"each another":       events(providertest.Proper, f.start, other(f.start, "y"), other(f.text("a"), "zz"), other(f.text("b"), ""), other(f.end, "www")),
			"the first has none": events(providertest.Proper, other(f.start, ""), f.text("a"), other(f.text("b"), "y"), other(f.end, "zz")),
		} {
			u.Play(script)
			s := p.chat(t, f.request(streaming+`,"stream_options":{"include_usage":true}`))
			all := chunks(t, s)
			if s.err != nil || len(all) < 4 || all[0].ID == "" || all[0].Model == "" || all[0].Created <= 0 {
				t.Errorf("%s: %v %s", name, s.err, s.body)
				continue
			}
			for _, c := range all {
				if c.ID != all[0].ID || c.Model != all[0].Model || c.Created != all[0].Created || c.Object != "chat.completion.chunk" {
					t.Errorf("%s: %s", name, s.body)
				}
			}
		}
	})
}

// withUsage is what the family says with another usage in it.
func (f family) withUsage(text, usage string) string {
	name := map[string]string{"gemini": "usageMetadata"}[f.name]
	if name == "" {
		name = "usage"
	}
	member := regexp.MustCompile(`,"` + name + `":\{[^}]*\}`)
	if usage == "" {
		return member.ReplaceAllString(text, "")
	}
	return member.ReplaceAllString(text, `,"`+name+`":`+usage)
}

// counts is a usage in which every count of every provider is n.
func counts(n string) string {
	var members []string
	for _, name := range []string{
		"prompt_tokens", "completion_tokens", "total_tokens", "input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens",
		"promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "toolUsePromptTokenCount", "cachedContentTokenCount", "totalTokenCount",
	} {
		members = append(members, quote(name)+":"+n)
	}
	return "{" + strings.Join(members, ",") + `,"prompt_tokens_details":{"cached_tokens":` + n + `},"completion_tokens_details":{"reasoning_tokens":` + n + `}}`
}

// TestU14AbsurdUsageCostsNoAnswer has counts that are none. The answer was
// good, and was paid for: it comes, with counts that make sense or without any.
func TestU14AbsurdUsageCostsNoAnswer(t *testing.T) {
	each(t, func(t *testing.T, f family, u *providertest.Upstream, p *program) {
		for _, usage := range []string{
			"", "null", "{}", counts("-1"), counts("-9223372036854775808"), counts("0"), counts("9223372036854775807"), counts("18446744073709551616"),
			counts("1e30"), counts("1.5"), counts(`"7"`), counts("null"), counts("true"), counts("{}"), `{"prompt_tokens":3,"input_tokens":3,"promptTokenCount":3}`,
		} {
			u.Play(jsonScript(200, f.withUsage(f.answer("hello"), usage)))
			a := p.chat(t, f.request(""))
			var whole shown
			if err := json.Unmarshal([]byte(a.body), &whole); err != nil || a.status != 200 || !strings.Contains(a.body, `"content":"hello"`) {
				t.Errorf("%.60s: %d %v %s", usage, a.status, err, a.body)
			}
			sensible(t, usage, whole)
			u.Play(events(providertest.Proper, f.withUsage(f.start, usage), f.text("hello"), f.withUsage(f.end, usage)))
			s := p.chat(t, f.request(streaming+`,"stream_options":{"include_usage":true}`))
			if s.err != nil || !strings.Contains(s.body, `"content":"hello"`) || !strings.HasSuffix(s.body, "[DONE]\n\n") {
				t.Errorf("%.60s, a stream: %v %s", usage, s.err, s.body)
			}
			for _, c := range chunks(t, s) {
				sensible(t, usage, c)
			}
		}
		for name, n := range figures(t, p.get(t, "/metrics").body) {
			if strings.HasPrefix(name, "modelgateway_tokens_total") && (n < 0 || n > 1e18) {
				t.Errorf("%s is %v", name, n)
			}
		}
	})
}

func sensible(t testing.TB, usage string, s shown) {
	t.Helper()
	if u := s.Usage; u.Prompt < 0 || u.Completion < 0 || u.Total < 0 || u.Total < u.Prompt || u.Total < u.Completion {
		t.Errorf("%.60s became %+v", usage, u)
	}
}
