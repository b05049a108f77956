package gemini

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"modelgateway/models/api"
	"modelgateway/providers/chunk"
)

const ask = `{"model":"m","messages":[{"role":"user","content":"q"}]}`

// eventsOf writes answers as Google does.
func eventsOf(answers ...string) string {
	var b strings.Builder
	for _, a := range answers {
		b.WriteString("data: " + a + "\r\n\r\n")
	}
	return b.String()
}

// said is an answer of candidate 0 with these parts and more of its members.
func said(parts, more string) string {
	return `{"candidates":[{"content":{"parts":[` + parts + `],"role":"model"}` + more + `}]}`
}

const stop = `,"finishReason":"STOP"`

// show runs a body through the machine and shows each chunk in short. The
// error may come before the stream or at its end.
func show(t testing.TB, request string, body io.Reader) (string, error) {
	t.Helper()
	x, err := prepare(t, "gemini-2.5-flash", request)
	if err != nil {
		t.Fatal(err)
	}
	s, err := x.start(t.Context(), body)
	if err != nil {
		return "refused", err
	}
	var out strings.Builder
	for c, err := range s.run {
		if err != nil {
			return out.String() + " error", err
		}
		out.WriteString(short(t, c))
	}
	return strings.TrimSpace(out.String()), nil
}

func short(t testing.TB, c *api.ChatChunk) string {
	t.Helper()
	if c.ID == "" || c.Object != api.ObjectChunk || c.Model == "" || c.Created != 1760000000 {
		t.Errorf("head of a chunk: %+v", c)
	}
	if u := c.Usage; u != nil {
		return fmt.Sprintf(" usage=%d+%d=%d(%d,%d)", u.PromptTokens, u.CompletionTokens, u.TotalTokens,
			u.PromptTokensDetails.CachedTokens, u.CompletionTokensDetails.ReasoningTokens)
	}
	var b strings.Builder
	for _, choice := range c.Choices {
		fmt.Fprintf(&b, " %d:", choice.Index)
		d := choice.Delta
		if d.Role != "" {
			b.WriteString("role")
			continue
		}
		if d.Content != nil {
			fmt.Fprintf(&b, "%q", *d.Content)
		}
		if d.Refusal != nil {
			fmt.Fprintf(&b, "refusal%q", *d.Refusal)
		}
		if d.ReasoningContent != "" {
			fmt.Fprintf(&b, "~%s~", d.ReasoningContent)
		}
		for _, r := range d.ReasoningDetails {
			fmt.Fprintf(&b, "#%d(%s %s %s)", r.Index, r.Type, r.Format, r.Data)
		}
		for _, call := range d.ToolCalls {
			fmt.Fprintf(&b, "call%d(%s %s)", call.Index, call.Function.Name, call.Function.Arguments)
			if call.ID == "" || call.Type != "function" {
				t.Errorf("call %+v", call)
			}
			if call.ExtraContent != nil {
				b.WriteString("+" + call.ExtraContent.Google.ThoughtSignature)
			}
		}
		if f := d.FunctionCall; f != nil {
			fmt.Fprintf(&b, "function(%s %s)", f.Name, f.Arguments)
		}
		for _, i := range d.Images {
			fmt.Fprintf(&b, "%s(%s)", i.Type, i.ImageURL.URL)
		}
		b.Write(choice.Logprobs)
		if choice.FinishReason != nil {
			b.WriteString("." + *choice.FinishReason)
		}
	}
	return b.String()
}

func TestStream(t *testing.T) {
	const usage = `"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":3,"thoughtsTokenCount":20,"toolUsePromptTokenCount":5,"cachedContentTokenCount":4,"totalTokenCount":38}`
	for _, tt := range []struct{ name, body, want string }{
		{"text", eventsOf(said(`{"text":"a"}`, ""), said(`{"text":"b"}`, stop)), `0:role 0:"a" 0:"b" 0:.stop`},
		{"text in the finish chunk", eventsOf(said(`{"text":"a"}`, stop)), `0:role 0:"a" 0:.stop`},
		{"several parts are not joined", eventsOf(said(`{"text":"a"},{"text":"b"}`, stop)), `0:role 0:"a" 0:"b" 0:.stop`},
		{"an empty last chunk", eventsOf(said(`{"text":"a"}`, ""), said(`{"text":""}`, stop)), `0:role 0:"a" 0:.stop`},
		{"no parts in the last chunk", eventsOf(said(`{"text":"a"}`, ""), `{"candidates":[{"finishReason":"STOP"}]}`), `0:role 0:"a" 0:.stop`},
		{"empties of every kind", eventsOf(`{}`, `{"candidates":[]}`, `{"candidates":null}`, `{"candidates":[{}]}`, `{"candidates":[{"content":{}}]}`,
			`{"candidates":[{"content":null}]}`, said(``, ""), said(`{}`, ""), said(`{"text":""}`, ""), `{"candidates":[{"content":{"role":"model"},"finishReason":"STOP"}]}`), `0:role 0:.stop`},
		{"usage is the last", eventsOf(`{"usageMetadata":{"promptTokenCount":1,"totalTokenCount":1},`+said(`{"text":"a"}`, stop)[1:], `{`+usage+`}`),
			`0:role 0:"a" 0:.stop usage=15+23=38(4,20)`},
		{"absurd counts", eventsOf(`{"usageMetadata":{"promptTokenCount":-1,"candidatesTokenCount":1e99,"thoughtsTokenCount":"7","totalTokenCount":null,"cachedContentTokenCount":9},` + said(`{"text":"a"}`, stop)[1:]),
			`0:role 0:"a" 0:.stop usage=0+0=0(0,0)`},
		{"a missing total", eventsOf(`{"usageMetadata":{"promptTokenCount":2,"candidatesTokenCount":3},` + said(`{"text":"a"}`, stop)[1:]), `0:role 0:"a" 0:.stop usage=2+3=5(0,0)`},
		{"usage that is none", eventsOf(`{"usageMetadata":[1],` + said(`{"text":"a"}`, stop)[1:]), `0:role 0:"a" 0:.stop`},

		{"thoughts", eventsOf(said(`{"text":"hm","thought":true}`, ""), said(`{"text":"","thought":true},{"text":"a"}`, stop)), `0:role 0:~hm~ 0:"a" 0:.stop`},
		{"a signature on text", eventsOf(said(`{"text":"a","thoughtSignature":"s1"}`, ""), said(`{"text":"","thoughtSignature":"s2"}`, stop)),
			`0:role 0:"a" 0:#0(reasoning.encrypted google-gemini-v1 gemini-2.5-flash|s1) 0:#1(reasoning.encrypted google-gemini-v1 gemini-2.5-flash|s2) 0:.stop`},
		{"a call", eventsOf(said(`{"functionCall":{"name":"f","args":{"a": 1.0, "b" : [12345678901234567890, "<\u003e"]}}}`, stop)), `0:role 0:call0(f {"a":1.0,"b":[12345678901234567890,"<>"]}) 0:.tool_calls`},
		{"a call without arguments", eventsOf(said(`{"functionCall":{"name":"f"}},{"functionCall":{"name":"g","args":{}}},{"functionCall":{"name":"h","args":null}}`, stop)),
			`0:role 0:call0(f {}) 0:call1(g {}) 0:call2(h {}) 0:.tool_calls`},
		{"calls over several chunks", eventsOf(said(`{"text":"now"},{"functionCall":{"name":"f","args":{"x":1}},"thoughtSignature":"s"}`, ""), said(`{"functionCall":{"name":"f","args":{"x":2}}}`, ""), said(`{"text":""}`, stop)),
			`0:role 0:"now" 0:#0(reasoning.encrypted google-gemini-v1 gemini-2.5-flash|s) 0:call0(f {"x":1})+s 0:call1(f {"x":2}) 0:.tool_calls`},
		{"a call cut by the limit", eventsOf(said(`{"functionCall":{"name":"f"}}`, `,"finishReason":"MAX_TOKENS"`)), `0:role 0:call0(f {}) 0:.length`},
		{"parts of tools at Google", eventsOf(said(`{"executableCode":{"language":"PYTHON","code":"1"},"thoughtSignature":"s"},{"codeExecutionResult":{"outcome":"OUTCOME_OK"}},{"toolCall":{"id":"a"}},{"text":"a"},{"brandNew":{"x":[1]}}`, stop)),
			`0:role 0:#0(reasoning.encrypted google-gemini-v1 gemini-2.5-flash|s) 0:"a" 0:.stop`},
		{"pictures", eventsOf(said(`{"inlineData":{"mimeType":"image/png","data":"AAAA"},"thought":true},{"text":"see"},{"inlineData":{"mimeType":"image/png","data":"BBBB"}}`, stop)),
			`0:role 0:"see" 0:image_url(data:image/png;base64,BBBB) 0:.stop`},
		{"logprobs", eventsOf(said(`{"text":"hi"}`, `,"finishReason":"STOP","logprobsResult":{"chosenCandidates":[{"token":"h","tokenId":1,"logProbability":-0.5},{"token":"é","logProbability":-1}],"topCandidates":[{"candidates":[{"token":"H","logProbability":-2}]}]}`)),
			`0:role 0:"hi"{"content":[{"token":"h","logprob":-0.5,"bytes":[104],"top_logprobs":[{"token":"H","logprob":-2,"bytes":[72]}]},{"token":"é","logprob":-1,"bytes":[195,169],"top_logprobs":[]}],"refusal":null} 0:.stop`},
		{"logprobs without text", eventsOf(said(`{"text":""}`, `,"logprobsResult":{"chosenCandidates":[{"token":"a","logProbability":-1}]}`), said(`{"text":"b"}`, ""),
			said(`{"text":"hm","thought":true}`, `,"logprobsResult":{"chosenCandidates":[{"token":"hm","logProbability":-3}]}`),
			`{"candidates":[{"finishReason":"STOP","logprobsResult":{"chosenCandidates":[{"token":"c","logProbability":-2}]}}]}`),
			`0:role 0:{"content":[{"token":"a","logprob":-1,"bytes":[97],"top_logprobs":[]}],"refusal":null} 0:"b" 0:~hm~ 0:{"content":[{"token":"c","logprob":-2,"bytes":[99],"top_logprobs":[]}],"refusal":null} 0:.stop`},
		{"signatures on pictures", eventsOf(said(`{"inlineData":{"mimeType":"image/png","data":"AAAA"},"thoughtSignature":"s0"},{"text":"see","thoughtSignature":"st"}`, ""), said(`{"inlineData":{"mimeType":"image/png","data":"BBBB"},"thoughtSignature":"s1"}`, stop)),
			`0:role 0:image_url(data:image/png;base64,AAAA) 0:#0(reasoning.encrypted google-gemini-v1 gemini-2.5-flash|0|s0) 0:"see" 0:#1(reasoning.encrypted google-gemini-v1 gemini-2.5-flash|st) 0:image_url(data:image/png;base64,BBBB) 0:#2(reasoning.encrypted google-gemini-v1 gemini-2.5-flash|1|s1) 0:.stop`},

		{"candidates side by side", eventsOf(`{"candidates":[{"index":1,"content":{"parts":[{"text":"b"}]}},{"content":{"parts":[{"text":"a"}]}}]}`,
			`{"candidates":[{"finishReason":"STOP","content":{"parts":[{"functionCall":{"name":"f"}}]}},{"index":1,"finishReason":"MAX_TOKENS"}]}`),
			`1:role 1:"b" 0:role 0:"a" 0:call0(f {}) 1:.length 0:.tool_calls`},

		{"a blocked prompt", eventsOf(`{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":4,"totalTokenCount":4}}`), `0:role 0:.content_filter usage=4+0=4(0,0)`},
		{"a blocked prompt that says why", eventsOf(`{"promptFeedback":{"blockReason":"OTHER","blockReasonMessage":"no"}}`), `0:role 0:refusal"no" 0:.content_filter`},
		{"blocked while it answered", eventsOf(said(`{"text":"a"}`, ""), `{"promptFeedback":{"blockReason":"OTHER"}}`), `0:role 0:"a" 0:.content_filter`},
		{"filtered while it answered", eventsOf(said(`{"text":"a"}`, ""), `{"candidates":[{"content":{},"finishReason":"SAFETY"}]}`), `0:role 0:"a" 0:.content_filter`},

		{"a botched call after text", eventsOf(said(`{"text":"a"}`, ""), `{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}]}`), `0:role 0:"a" 0:.stop`},
		{"a botched call after a good one", eventsOf(said(`{"functionCall":{"name":"f"}}`, ""), `{"candidates":[{"finishReason":"UNEXPECTED_TOOL_CALL"}]}`), `0:role 0:call0(f {}) 0:.tool_calls`},

		{"lines end in LF", strings.ReplaceAll(eventsOf(said(`{"text":"a"}`, stop)), "\r\n", "\n"), `0:role 0:"a" 0:.stop`},
		{"no final line ending", strings.TrimSpace(eventsOf(said(`{"text":"a"}`, stop))), `0:role 0:"a" 0:.stop`},
		{"comments and spaces first", "\r\n : \r\n: ping\r\n\r\n" + eventsOf(said(`{"text":"a"}`, stop)), `0:role 0:"a" 0:.stop`},
		{"a byte order mark", "\xef\xbb\xbf" + eventsOf(said(`{"text":"a"}`, stop)), `0:role 0:"a" 0:.stop`},
		{"bytes that are no text", eventsOf(said("{\"text\":\"a\xff\"}", stop)), "0:role 0:\"a�\" 0:.stop"},
		{"a name twice", eventsOf(`{"modelVersion":"x","modelVersion":"y",` + said(`{"text":"a"}`, stop)[1:]), `0:role 0:"a" 0:.stop`},
		{"an array", "[" + said(`{"text":"a"}`, "") + "\r\n,\r\n" + said(`{"text":"b"}`, stop) + "]", `0:role 0:"a" 0:"b" 0:.stop`},
		{"an array behind a byte order mark", "\xef\xbb\xbf\n [" + said(`{"text":"a"}`, stop) + "]\n", `0:role 0:"a" 0:.stop`},
		{"one object", " " + said(`{"text":"a"}`, stop), `0:role 0:"a" 0:.stop`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for how, body := range map[string]io.Reader{
				"whole":           strings.NewReader(tt.body),
				"byte by byte":    iotest.OneByteReader(strings.NewReader(tt.body)),
				"data with error": iotest.DataErrReader(strings.NewReader(tt.body)),
			} {
				got, err := show(t, ask, body)
				if got != tt.want || err != nil {
					t.Errorf("%s\ngot  %s\nwant %s\n%v", how, got, tt.want, err)
				}
			}
		})
	}
}

func TestEveryFinishReason(t *testing.T) {
	for want, reasons := range map[string]string{
		api.FinishStop:          "STOP OTHER FINISH_REASON_UNSPECIFIED LANGUAGE NO_IMAGE IMAGE_OTHER CONTINUATION BRAND_NEW MALFORMED_FUNCTION_CALL UNEXPECTED_TOOL_CALL TOO_MANY_TOOL_CALLS MISSING_THOUGHT_SIGNATURE MALFORMED_RESPONSE",
		api.FinishLength:        "MAX_TOKENS",
		api.FinishContentFilter: "SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT SPII IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION",
	} {
		for reason := range strings.FieldsSeq(reasons) {
			got, err := show(t, ask, strings.NewReader(eventsOf(said(`{"text":"a"}`, `,"finishReason":"`+reason+`"`))))
			if err != nil || got != `0:role 0:"a" 0:.`+want {
				t.Errorf("%s: %s, %v", reason, got, err)
			}
		}
	}
}

func TestEventsAreSentWhenTheyArrive(t *testing.T) {
	for name, parts := range map[string][]string{
		"events": {eventsOf(said(`{"text":"a"}`, "")), eventsOf(said(`{"text":"b"}`, stop))},
		"array":  {"[" + said(`{"text":"a"}`, ""), "," + said(`{"text":"b"}`, stop) + "]"},
	} {
		t.Run(name, func(t *testing.T) {
			x, err := prepare(t, "gemini-2.5-flash", ask)
			if err != nil {
				t.Fatal(err)
			}
			r, w := io.Pipe()
			first := make(chan struct{})
			go func() {
				_, _ = io.WriteString(w, parts[0])
				<-first // a reader that waits for more than the first event waits for ever
				_, _ = io.WriteString(w, parts[1])
				_ = w.Close()
			}()
			s, err := x.start(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			var text string
			for c, err := range s.run {
				if err != nil {
					t.Fatal(err)
				}
				for _, choice := range c.Choices {
					if choice.Delta.Content != nil {
						text += *choice.Delta.Content
					}
				}
				if text == "a" {
					close(first)
					text = "a…"
				}
			}
			if text != "a…b" {
				t.Errorf("text %q", text)
			}
		})
	}
}

func TestTheHeadIsTheUpstreams(t *testing.T) {
	for body, want := range map[string]string{
		eventsOf(said(`{"text":"a"}`, stop)): "chatcmpl- gemini-2.5-flash",
		eventsOf(`{"responseId":"r","modelVersion":"models/gemini-2.5-flash-001",` + said(`{"text":"a"}`, stop)[1:]):     "r gemini-2.5-flash-001",
		eventsOf(`{"responseId":"r"}`, `{"responseId":"s","modelVersion":"later",`+said(`{"text":"a"}`, stop)[1:]):       "r later",
		eventsOf(`{"responseId":"r","modelVersion":"m","promptFeedback":{"blockReason":"SAFETY"}}`):                      "r m",
		eventsOf(said(`{"text":"a"}`, ""), `{"responseId":"late","modelVersion":"late",`+said(`{"text":"a"}`, stop)[1:]): "chatcmpl- gemini-2.5-flash",
	} {
		x, err := prepare(t, "gemini-2.5-flash", ask)
		if err != nil {
			t.Fatal(err)
		}
		s, err := x.start(t.Context(), strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		heads := map[string]bool{}
		for c, err := range s.run {
			if err != nil {
				t.Fatal(err)
			}
			id := c.ID
			if strings.HasPrefix(id, "chatcmpl-") && len(id) > 20 {
				id = "chatcmpl-"
			}
			heads[id+" "+c.Model] = true
		}
		if len(heads) != 1 || !heads[want] {
			t.Errorf("%s: heads %v, want %s", body, heads, want)
		}
	}
}

func TestOneFunctionCallForClientsOfFunctions(t *testing.T) {
	const functions = `{"model":"m","messages":[{"role":"user","content":"q"}],"functions":[{"name":"f"}]}`
	body := eventsOf(said(`{"functionCall":{"name":"f","args":{"a":1}},"thoughtSignature":"s"},{"functionCall":{"name":"f","args":{"a":2}},"thoughtSignature":"t"}`, stop))
	got, err := show(t, functions, strings.NewReader(body))
	if want := `0:role 0:#0(reasoning.encrypted google-gemini-v1 gemini-2.5-flash|s) 0:function(f {"a":1}) 0:.function_call`; got != want || err != nil {
		t.Errorf("got  %s\nwant %s\n%v", got, want, err)
	}
	answer := complete(t, "gemini-2.5-flash", functions, body)
	m := answer.Choices[0].Message
	if m.Content != nil || m.FunctionCall == nil || m.FunctionCall.Arguments != `{"a":1}` || len(m.ToolCalls) > 0 {
		t.Errorf("message %+v", m)
	}
}

func TestTheTierThatServedIsTold(t *testing.T) {
	body := eventsOf(`{"usageMetadata":{"promptTokenCount":1,"serviceTier":"standard"},` + said(`{"text":"a"}`, stop)[1:])
	if answer := complete(t, "gemini-2.5-flash", ask, body); answer.ServiceTier != "default" {
		t.Errorf("tier %q", answer.ServiceTier)
	}
}

// complete puts a body together the way Complete does.
func complete(t testing.TB, id, request, body string) *api.ChatCompletion {
	t.Helper()
	x, err := prepare(t, id, request)
	if err != nil {
		t.Fatal(err)
	}
	s, err := x.start(t.Context(), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := chunk.Collect(s.run)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestLeavingTheLoopEndsIt(t *testing.T) {
	body := long + long
	for most := 1; ; most++ {
		x, err := prepare(t, "gemini-2.5-flash", ask)
		if err != nil {
			t.Fatal(err)
		}
		s, err := x.start(t.Context(), strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		s.run(func(*api.ChatChunk, error) bool {
			n++
			return n < most
		})
		if n < most {
			return // all of it has been seen
		}
		if n > most {
			t.Fatalf("%d chunks after the consumer left at %d", n, most)
		}
	}
}
