package gemini

import (
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"
	"testing/iotest"

	"modelgateway/dialects/chat"
	"modelgateway/llm"
	"modelgateway/providers/providertest"
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

// answerWith is an answer of candidate 0 with these parts and more of its members.
func answerWith(parts, more string) string {
	return `{"candidates":[{"content":{"parts":[` + parts + `],"role":"model"}` + more + `}]}`
}

const stop = `,"finishReason":"STOP"`

// show reads a body as a stream and shows a summary of each chunk. The
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
	for c, err := range chunks(x, s) {
		if err != nil {
			return out.String() + " error", err
		}
		out.WriteString(summary(t, c))
	}
	return strings.TrimSpace(out.String()), nil
}

// chunks are what a client sees that asks for the usage as well.
func chunks(x *exchange, s *stream) iter.Seq2[*chat.Chunk, error] {
	req := *x.call.Request
	req.Usage = true
	return providertest.Chunks(&req, s.run)
}

func summary(t testing.TB, c *chat.Chunk) string {
	t.Helper()
	if c.ID == "" || c.Object != chat.ObjectChunk || c.Model == "" || c.Created != 1760000000 {
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
		b.Write(d.Extra)
		if choice.FinishReason != nil {
			b.WriteString("." + *choice.FinishReason)
		}
	}
	return b.String()
}

// streamCase is a body and a summary of the chunks that it becomes.
type streamCase struct{ name, body, want string }

func checkStreams(t *testing.T, cases []streamCase) {
	t.Helper()
	for _, tt := range cases {
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

func TestTextAndUsageBecomeChunks(t *testing.T) {
	const usage = `"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":3,"thoughtsTokenCount":20,"toolUsePromptTokenCount":5,` +
		`"cachedContentTokenCount":4,"totalTokenCount":38}`
	checkStreams(t, []streamCase{
		{"text", eventsOf(answerWith(`{"text":"a"}`, ""), answerWith(`{"text":"b"}`, stop)), `0:role 0:"a" 0:"b" 0:.stop`},
		{"text in the finish chunk", eventsOf(answerWith(`{"text":"a"}`, stop)), `0:role 0:"a" 0:.stop`},
		{"several parts are not joined", eventsOf(answerWith(`{"text":"a"},{"text":"b"}`, stop)), `0:role 0:"a" 0:"b" 0:.stop`},
		{"an empty last chunk", eventsOf(answerWith(`{"text":"a"}`, ""), answerWith(`{"text":""}`, stop)), `0:role 0:"a" 0:.stop`},
		{"no parts in the last chunk", eventsOf(answerWith(`{"text":"a"}`, ""), `{"candidates":[{"finishReason":"STOP"}]}`),
			`0:role 0:"a" 0:.stop`},
		{"empties of every kind", eventsOf(`{}`, `{"candidates":[]}`, `{"candidates":null}`, `{"candidates":[{}]}`,
			`{"candidates":[{"content":{}}]}`,
			`{"candidates":[{"content":null}]}`, answerWith(``, ""), answerWith(`{}`, ""), answerWith(`{"text":""}`, ""),
			`{"candidates":[{"content":{"role":"model"},"finishReason":"STOP"}]}`), `0:role 0:.stop`},
		{"usage is the last", eventsOf(`{"usageMetadata":{"promptTokenCount":1,"totalTokenCount":1},`+answerWith(`{"text":"a"}`,
			stop)[1:], `{`+usage+`}`),
			`0:role 0:"a" 0:.stop usage=15+23=38(4,20)`},
		{"absurd counts", eventsOf(`{"usageMetadata":{"promptTokenCount":-1,"candidatesTokenCount":1e99,"thoughtsTokenCount":"7",` +
			`"totalTokenCount":null,"cachedContentTokenCount":9},` + answerWith(`{"text":"a"}`, stop)[1:]),
			`0:role 0:"a" 0:.stop usage=0+0=0(0,0)`},
		{"a missing total", eventsOf(`{"usageMetadata":{"promptTokenCount":2,"candidatesTokenCount":3},` + answerWith(`{"text":"a"}`,
			stop)[1:]), `0:role 0:"a" 0:.stop usage=2+3=5(0,0)`},
		{"usage that is none", eventsOf(`{"usageMetadata":[1],` + answerWith(`{"text":"a"}`, stop)[1:]), `0:role 0:"a" 0:.stop`},
	})
}

func TestThoughtsCallsAndImagesBecomeChunks(t *testing.T) {
	checkStreams(t, []streamCase{
		{"thoughts", eventsOf(answerWith(`{"text":"hm","thought":true}`, ""), answerWith(`{"text":"","thought":true},{"text":"a"}`,
			stop)), `0:role 0:~hm~ 0:"a" 0:.stop`},
		{"a signature on text", eventsOf(answerWith(`{"text":"a","thoughtSignature":"s1"}`, ""),
			answerWith(`{"text":"","thoughtSignature":"s2"}`, stop)),
			`0:role 0:"a" 0:#0(reasoning.encrypted google-gemini-v1 gemini-2.5-flash|s1)` +
				` 0:#1(reasoning.encrypted google-gemini-v1 gemini-2.5-flash|s2) 0:.stop`},
		{"a call", eventsOf(answerWith(`{"functionCall":{"name":"f","args":{"a": 1.0, "b" : [12345678901234567890, "<\u003e"]}}}`, stop)),
			`0:role 0:call0(f {"a":1.0,"b":[12345678901234567890,"<>"]}) 0:.tool_calls`},
		{"a call without arguments", eventsOf(answerWith(`{"functionCall":{"name":"f"}},{"functionCall":{"name":"g","args":{}}},`+
			`{"functionCall":{"name":"h","args":null}}`, stop)),
			`0:role 0:call0(f {}) 0:call1(g {}) 0:call2(h {}) 0:.tool_calls`},
		{"calls over several chunks", eventsOf(answerWith(`{"text":"now"},{"functionCall":{"name":"f","args":{"x":1}},`+
			`"thoughtSignature":"s"}`, ""), answerWith(`{"functionCall":{"name":"f","args":{"x":2}}}`, ""), answerWith(`{"text":""}`,
			stop)),
			`0:role 0:"now" 0:#0(reasoning.encrypted google-gemini-v1 gemini-2.5-flash|s) 0:call0(f {"x":1})+s 0:call1(f {"x":2})` +
				` 0:.tool_calls`},
		{"a call cut by the limit", eventsOf(answerWith(`{"functionCall":{"name":"f"}}`, `,"finishReason":"MAX_TOKENS"`)),
			`0:role 0:call0(f {}) 0:.length`},
		{"parts of tools at Google", eventsOf(answerWith(`{"executableCode":{"language":"PYTHON","code":"1"},"thoughtSignature":"s"},`+
			`{"codeExecutionResult":{"outcome":"OUTCOME_OK"}},{"toolCall":{"id":"a"}},{"text":"a"},{"brandNew":{"x":[1]}}`, stop)),
			`0:role 0:#0(reasoning.encrypted google-gemini-v1 gemini-2.5-flash|s) 0:"a" 0:.stop`},
		{"images", eventsOf(answerWith(`{"inlineData":{"mimeType":"image/png","data":"AAAA"},"thought":true},{"text":"see"},`+
			`{"inlineData":{"mimeType":"image/png","data":"BBBB"}}`, stop)),
			`0:role 0:"see" 0:image_url(data:image/png;base64,BBBB) 0:.stop`},
		{"logprobs", eventsOf(answerWith(`{"text":"hi"}`, `,"finishReason":"STOP","logprobsResult":{"chosenCandidates":[{"token":"h",`+
			`"tokenId":1,"logProbability":-0.5},{"token":"é","logProbability":-1}],"topCandidates":[{"candidates":[{"token":"H",`+
			`"logProbability":-2}]}]}`)),
			`0:role 0:"hi"{"content":[{"token":"h","logprob":-0.5,"bytes":[104],"top_logprobs":[{"token":"H","logprob":-2,` +
				`"bytes":[72]}]},{"token":"é","logprob":-1,"bytes":[195,169],"top_logprobs":[]}],"refusal":null} 0:.stop`},
		{"logprobs without text", eventsOf(answerWith(`{"text":""}`, `,"logprobsResult":{"chosenCandidates":[{"token":"a",`+
			`"logProbability":-1}]}`), answerWith(`{"text":"b"}`, ""),
			answerWith(`{"text":"hm","thought":true}`, `,"logprobsResult":{"chosenCandidates":[{"token":"hm","logProbability":-3}]}`),
			`{"candidates":[{"finishReason":"STOP","logprobsResult":{"chosenCandidates":[{"token":"c","logProbability":-2}]}}]}`),
			`0:role 0:{"content":[{"token":"a","logprob":-1,"bytes":[97],"top_logprobs":[]}],` +
				`"refusal":null} 0:"b" 0:~hm~ 0:{"content":[{"token":"c","logprob":-2,"bytes":[99],"top_logprobs":[]}],` +
				`"refusal":null} 0:.stop`},
		{"signatures on images", eventsOf(answerWith(`{"inlineData":{"mimeType":"image/png","data":"AAAA"},"thoughtSignature":"s0"},`+
			`{"text":"see","thoughtSignature":"st"}`, ""), answerWith(`{"inlineData":{"mimeType":"image/png","data":"BBBB"},`+
			`"thoughtSignature":"s1"}`, stop)),
			`0:role 0:image_url(data:image/png;base64,AAAA) 0:#0(reasoning.encrypted google-gemini-v1 gemini-2.5-flash|0|s0) 0:"see"` +
				` 0:#1(reasoning.encrypted google-gemini-v1 gemini-2.5-flash|st) 0:image_url(data:image/png;base64,BBBB)` +
				` 0:#2(reasoning.encrypted google-gemini-v1 gemini-2.5-flash|1|s1) 0:.stop`},
	})
}

func TestEndingsBecomeFinishReasons(t *testing.T) {
	checkStreams(t, []streamCase{
		{"candidates side by side", eventsOf(`{"candidates":[{"index":1,"content":{"parts":[{"text":"b"}]}},`+
			`{"content":{"parts":[{"text":"a"}]}}]}`,
			`{"candidates":[{"finishReason":"STOP","content":{"parts":[{"functionCall":{"name":"f"}}]}},`+
				`{"index":1,"finishReason":"MAX_TOKENS"}]}`),
			`1:role 1:"b" 0:role 0:"a" 0:call0(f {}) 1:.length 0:.tool_calls`},

		{"a blocked prompt", eventsOf(`{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":4,` +
			`"totalTokenCount":4}}`), `0:role 0:.content_filter usage=4+0=4(0,0)`},
		{"a blocked prompt that says why", eventsOf(`{"promptFeedback":{"blockReason":"OTHER","blockReasonMessage":"no"}}`),
			`0:role 0:refusal"no" 0:.content_filter`},
		{"blocked while it answered", eventsOf(answerWith(`{"text":"a"}`, ""), `{"promptFeedback":{"blockReason":"OTHER"}}`),
			`0:role 0:"a" 0:.content_filter`},
		{"filtered while it answered", eventsOf(answerWith(`{"text":"a"}`, ""), `{"candidates":[{"content":{},`+
			`"finishReason":"SAFETY"}]}`), `0:role 0:"a" 0:.content_filter`},

		{"a malformed call after text", eventsOf(answerWith(`{"text":"a"}`, ""),
			`{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}]}`), `0:role 0:"a" 0:.stop`},
		{"a malformed call after a good one", eventsOf(answerWith(`{"functionCall":{"name":"f"}}`, ""),
			`{"candidates":[{"finishReason":"UNEXPECTED_TOOL_CALL"}]}`), `0:role 0:call0(f {}) 0:.tool_calls`},
	})
}

func TestStreamsAreReadInEveryForm(t *testing.T) {
	checkStreams(t, []streamCase{
		{"lines end in LF", strings.ReplaceAll(eventsOf(answerWith(`{"text":"a"}`, stop)), "\r\n", "\n"), `0:role 0:"a" 0:.stop`},
		{"no final line ending", strings.TrimSpace(eventsOf(answerWith(`{"text":"a"}`, stop))), `0:role 0:"a" 0:.stop`},
		{"comments and spaces first", "\r\n : \r\n: ping\r\n\r\n" + eventsOf(answerWith(`{"text":"a"}`, stop)), `0:role 0:"a" 0:.stop`},
		{"a byte order mark", "\xef\xbb\xbf" + eventsOf(answerWith(`{"text":"a"}`, stop)), `0:role 0:"a" 0:.stop`},
		{"bytes that are no text", eventsOf(answerWith("{\"text\":\"a\xff\"}", stop)), "0:role 0:\"a�\" 0:.stop"},
		{"a name twice", eventsOf(`{"modelVersion":"x","modelVersion":"y",` + answerWith(`{"text":"a"}`, stop)[1:]),
			`0:role 0:"a" 0:.stop`},
		{"an array", "[" + answerWith(`{"text":"a"}`, "") + "\r\n,\r\n" + answerWith(`{"text":"b"}`, stop) + "]",
			`0:role 0:"a" 0:"b" 0:.stop`},
		{"an array behind a byte order mark", "\xef\xbb\xbf\n [" + answerWith(`{"text":"a"}`, stop) + "]\n", `0:role 0:"a" 0:.stop`},
		{"one object", " " + answerWith(`{"text":"a"}`, stop), `0:role 0:"a" 0:.stop`},
	})
}

func TestFinishReasonsAreThoseOfOpenAI(t *testing.T) {
	for want, reasons := range map[llm.Finish]string{
		llm.FinishStop: "STOP OTHER FINISH_REASON_UNSPECIFIED LANGUAGE NO_IMAGE IMAGE_OTHER CONTINUATION BRAND_NEW" +
			" MALFORMED_FUNCTION_CALL UNEXPECTED_TOOL_CALL TOO_MANY_TOOL_CALLS MISSING_THOUGHT_SIGNATURE MALFORMED_RESPONSE",
		llm.FinishLength: "MAX_TOKENS",
		llm.FinishContentFilter: "SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT SPII IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT" +
			" IMAGE_RECITATION",
	} {
		for reason := range strings.FieldsSeq(reasons) {
			got, err := show(t, ask, strings.NewReader(eventsOf(answerWith(`{"text":"a"}`, `,"finishReason":"`+reason+`"`))))
			if err != nil || got != `0:role 0:"a" 0:.`+string(want) {
				t.Errorf("%s: %s, %v", reason, got, err)
			}
		}
	}
}

func TestEventsAreSentWhenTheyArrive(t *testing.T) {
	for name, parts := range map[string][]string{
		"events": {eventsOf(answerWith(`{"text":"a"}`, "")), eventsOf(answerWith(`{"text":"b"}`, stop))},
		"array":  {"[" + answerWith(`{"text":"a"}`, ""), "," + answerWith(`{"text":"b"}`, stop) + "]"},
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
			for c, err := range chunks(x, s) {
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

func TestIDAndModelAreTheUpstreams(t *testing.T) {
	for body, want := range map[string]string{
		eventsOf(answerWith(`{"text":"a"}`, stop)): "chatcmpl- gemini-2.5-flash",
		eventsOf(`{"responseId":"r","modelVersion":"models/gemini-2.5-flash-001",` + answerWith(`{"text":"a"}`,
			stop)[1:]): "r gemini-2.5-flash-001",
		eventsOf(`{"responseId":"r"}`, `{"responseId":"s","modelVersion":"later",`+answerWith(`{"text":"a"}`,
			stop)[1:]): "r later",
		eventsOf(`{"responseId":"r","modelVersion":"m","promptFeedback":{"blockReason":"SAFETY"}}`): "r m",
		eventsOf(answerWith(`{"text":"a"}`, ""), `{"responseId":"late","modelVersion":"late",`+answerWith(`{"text":"a"}`,
			stop)[1:]): "chatcmpl- gemini-2.5-flash",
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
		for c, err := range chunks(x, s) {
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

func TestClientsOfFunctionsSeeOneCall(t *testing.T) {
	const functions = `{"model":"m","messages":[{"role":"user","content":"q"}],"functions":[{"name":"f"}]}`
	body := eventsOf(answerWith(`{"functionCall":{"name":"f","args":{"a":1}},"thoughtSignature":"s"},{"functionCall":{"name":"f",`+
		`"args":{"a":2}},"thoughtSignature":"t"}`, stop))
	got, err := show(t, functions, strings.NewReader(body))
	if want := `0:role 0:#0(reasoning.encrypted google-gemini-v1 gemini-2.5-flash|s) 0:function(f {"a":1})` +
		` 0:.function_call`; got != want || err != nil {
		t.Errorf("got  %s\nwant %s\n%v", got, want, err)
	}
	answer := complete(t, "gemini-2.5-flash", functions, body)
	m := answer.Choices[0].Message
	if m.Content != nil || m.FunctionCall == nil || m.FunctionCall.Arguments != `{"a":1}` || len(m.ToolCalls) > 0 {
		t.Errorf("message %+v", m)
	}
}

func TestTheAnswerNamesItsServiceTier(t *testing.T) {
	body := eventsOf(`{"usageMetadata":{"promptTokenCount":1,"serviceTier":"standard"},` + answerWith(`{"text":"a"}`, stop)[1:])
	if answer := complete(t, "gemini-2.5-flash", ask, body); answer.ServiceTier != "default" {
		t.Errorf("tier %q", answer.ServiceTier)
	}
}

// complete puts a body together the way Complete does.
func complete(t testing.TB, id, request, body string) *chat.Completion {
	t.Helper()
	x, err := prepare(t, id, request)
	if err != nil {
		t.Fatal(err)
	}
	s, err := x.start(t.Context(), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := providertest.Completion(x.call.Request, s.run)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestLeavingTheLoopEndsTheStream(t *testing.T) {
	body := longStream + longStream
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
		s.run(func(*llm.Event, error) bool {
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

func TestWholeAnswersThatSayLittleAboutTheirEnd(t *testing.T) {
	for body, want := range map[string]string{
		answerWith(`{"text":"a"}`, ""):                                                 `0:role 0:"a" 0:.stop`,
		answerWith(`{"functionCall":{"name":"f"}}`, ""):                                `0:role 0:call0(f {}) 0:.tool_calls`,
		`{"promptFeedback":{"blockReasonMessage":"not this"}}`:                         `0:role 0:refusal"not this" 0:.content_filter`,
		`{"candidates":[{"finishReason":"OTHER","content":{"parts":[{"text":"a"}]}}]}`: `0:role 0:"a" 0:.stop`,
	} {
		if got, err := show(t, ask, strings.NewReader(body)); got != want || err != nil {
			t.Errorf("%s\ngot  %s, %v\nwant %s", body, got, err, want)
		}
	}
	for _, reason := range []string{"OTHER", "NO_IMAGE", "IMAGE_OTHER"} {
		_, err := show(t, ask, strings.NewReader(`{"candidates":[{"finishReason":"`+reason+`","finishMessage":"could not draw that"}]}`))
		if e, ok := clientError(err); !ok || e.Status != 502 || !strings.Contains(e.Message, "could not draw that") {
			t.Errorf("%s: %v", reason, err)
		}
	}
}
