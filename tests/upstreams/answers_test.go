package upstreams

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

// body returns a script of status 200 with this body.
func body(kind, text string) providertest.Script {
	return providertest.Script{Header: http.Header{"Content-Type": {kind}}, Pieces: [][]byte{[]byte(text)}}
}

// TestUnusableAnswersAreProviderErrors sends bodies that are no answers under a
// status of success.
func TestUnusableAnswersAreProviderErrors(t *testing.T) {
	t.Parallel()
	for _, f := range gatewaytest.Providers() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			u := providertest.Serve(t)
			answer := f.Answer("hello")
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
				{"an unheard-of status", gatewaytest.JSON(999, answer)},
				{"bytes", body("application/json", "\x00\xff\xfe\x1f\x8b")},
				{"half", body("application/json", answer[:len(answer)/2])},
				{"all but the last bracket", body("application/json", answer[:len(answer)-1])},
				{"text that is a number", body("application/json", strings.Replace(answer, `"hello"`, `{"a":5}`, 1))},
				{
					"a list as an object",
					body(
						"application/json",
						strings.NewReplacer(`"choices":[`, `"choices":{"a":[`, `"content":[`, `"content":{"a":[`, `"candidates":[`, `"candidates":{"a":[`, `],"usage"`, `]},"usage"`, `],"stop_reason"`, `]},"stop_reason"`).
							Replace(answer),
					),
				},
				{"nested too deep", body("application/json", strings.Repeat(`{"a":[`, 100_000))},
			}
			for _, value := range []string{"null", "{}", "[]", `"hello"`, "5", "true", `{"choices":[]}`, `{"candidates":[]}`, `{"type":"message"}`, `{"choices":null,"content":null,"candidates":null}`} {
				all = append(all, nonsense{value, body("application/json", value)},
					nonsense{"events of " + value, gatewaytest.Events(providertest.Proper, "data: "+value+"\n\n")})
			}
			for some := range slices.Chunk(all, maxFailures/2) {
				p := startWith(t, f, u.URL)
				for _, tt := range some {
					u.Play(tt.script)
					checkProviderError(t, f, tt.name, p.Chat(t, f.Request("")), 502)
					checkProviderError(t, f, tt.name+", a stream", p.Chat(t, f.Request(gatewaytest.Streaming)), 502)
				}
			}
		})
	}
}

// namedScript is one way to write a stream.
type namedScript struct {
	name   string
	script providertest.Script
}

func equivalentEncodings(f gatewaytest.Provider) []namedScript {
	whole := []string{f.Start, f.Text("a"), f.Text("b"), f.End}
	write := func(change func(string) string) providertest.Script {
		var changed []string
		for _, piece := range whole {
			changed = append(changed, change(piece))
		}
		return gatewaytest.Events(providertest.Proper, changed...)
	}
	replace := func(pairs ...string) providertest.Script { return write(strings.NewReplacer(pairs...).Replace) }
	unix := func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
	before := func(line string) providertest.Script { return write(func(s string) string { return line + s }) }
	all := []namedScript{
		{"as it is", gatewaytest.Events(providertest.Proper, whole...)},
		{"byte by byte", gatewaytest.Events(providertest.Proper, whole...).Bytewise()},
		{"in one piece", gatewaytest.Events(providertest.Proper, strings.Join(whole, ""))},
		{"LF", write(unix)},
		{"CRLF", write(func(s string) string { return strings.ReplaceAll(unix(s), "\n", "\r\n") })},
		{"CR", write(func(s string) string { return strings.ReplaceAll(unix(s), "\n", "\r") })},
		{"a byte order mark", gatewaytest.Events(providertest.Proper, slices.Concat([]string{"\xef\xbb\xbf"}, whole)...)},
		{"comments", before(": ping\n\n:\n\n: data: {\"no\":1}\n\n")},
		{"empty events", before("\n\nevent: x\n\nid\n\n")},
		{"ids and waits", before("id: 7\nretry: 10\n")},
		{"unknown fields", before("x: 1\nfuture\n")},
		{"unknown events", before("event: future\ndata: {\"type\":\"future\",\"x\":[1]}\n\n")},
		{"pings", before("event: ping\ndata: {\"type\":\"ping\"}\n\n")},
		{"no space behind the colon", replace("data: {", "data:{")},
		{"spaces in the JSON", replace(`":`, `" : `, "data: {", "data:  {  ")},
		{"escapes", replace(`"a"`, `"\u0061"`)},
		{"data in several lines", replace(`,"`, ",\ndata: \"")},
		{"no last newline", gatewaytest.Events(providertest.Proper, f.Start, f.Text("a"), f.Text("b"), strings.TrimRight(f.End, "\r\n"))},
		{
			"a type that is no stream's",
			providertest.Script{
				Header: http.Header{"Content-Type": {"application/json"}},
				Pieces: gatewaytest.Events(providertest.Proper, whole...).Pieces,
			},
		},
		{
			"usage and nothing else, first",
			streamWithEvent(
				f,
				`{"choices":[],"candidates":[],"type":"message_delta","usage":{"prompt_tokens":1,"output_tokens":1},"usageMetadata":{"promptTokenCount":1}}`,
			),
		},
	}
	if f.Name != "gemini" { // its streams end with the body
		all = append(
			all,
			namedScript{
				"data behind the end",
				gatewaytest.Events(providertest.Proper, slices.Concat(whole, []string{f.Text("late"), f.ErrorEvent, "data: {\n\n"})...),
			},
			namedScript{"silence behind the end", gatewaytest.Events(providertest.Hold, whole...)},
			namedScript{"a reset behind the end", gatewaytest.Events(providertest.Reset, whole...)},
		)
	}
	return all
}

// streamWithEvent is a stream with an event of this data after its start.
func streamWithEvent(f gatewaytest.Provider, data string) providertest.Script {
	return gatewaytest.Events(providertest.Proper, f.Start, "data: "+data+"\n\n", f.Text("a"), f.Text("b"), f.End)
}

func TestEquivalentStreamEncodingsGiveTheSameAnswer(t *testing.T) {
	t.Parallel()
	gatewaytest.EachProvider(t, func(t *testing.T, f gatewaytest.Provider, u *providertest.Upstream, p *gatewaytest.Program) {
		for _, tt := range equivalentEncodings(f) {
			u.Play(tt.script)
			s := p.Chat(t, f.Request(gatewaytest.Streaming+`,"stream_options":{"include_usage":true}`))
			var text, reason string
			var usage int
			for _, c := range chunks(t, s) {
				for _, choice := range c.Choices {
					text += choice.Delta.Content
					reason += choice.FinishReason
				}
				usage += c.Usage.Total
			}
			if s.Err != nil || text != "ab" || reason != "stop" || usage != 7 || !strings.HasSuffix(s.Body, "data: [DONE]\n\n") {
				t.Errorf("%s: %v %s", tt.name, s.Err, s.Body)
			}
		}
	})
}

// chunk holds the members of a chunk that the tests check.
type chunk struct {
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

// chunks decodes the chunks of a stream, without its last event and its comments.
func chunks(t testing.TB, s gatewaytest.Answer) []chunk {
	t.Helper()
	var all []chunk
	for line := range strings.Lines(s.Body) {
		data, ok := strings.CutPrefix(line, "data: {")
		if !ok {
			continue
		}
		var c chunk
		if err := json.Unmarshal([]byte("{"+data), &c); err != nil {
			t.Errorf("%v: %s", err, line)
		}
		all = append(all, c)
	}
	return all
}

// TestMalformedStreamNeverLooksComplete sends malformed data after a valid part.
func TestMalformedStreamNeverLooksComplete(t *testing.T) {
	t.Parallel()
	for _, f := range gatewaytest.Providers() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			u := providertest.Serve(t)
			var all []namedScript
			for name, data := range map[string]string{
				"half a JSON": `{"choices":[{"delta":{"content":"x`, "no JSON": "hello", "HTML": "<html><body>504</body></html>", "a number": "5", "a list": `["a"]`,
				"bytes": "\x00\x01\xff", "nested too deep": strings.Repeat(`{"a":[`, 20_000), "a text that is a number": strings.TrimSpace(strings.ReplaceAll(f.Text("5"), `"5"`, "5")),
			} {
				data = data[strings.LastIndex(data, "data: ")+1:]
				all = append(
					all,
					namedScript{
						name,
						gatewaytest.Events(providertest.Proper, f.Start, f.Text("par"),
							"data: "+strings.TrimPrefix(data, "ata: ")+"\n\n", f.Text("no"), f.End),
					},
				)
			}
			all = append(all,
				namedScript{"an error event", gatewaytest.Events(providertest.Proper, f.Start, f.Text("par"), f.ErrorEvent, f.End)},
				namedScript{"no end", gatewaytest.Events(providertest.Proper, f.Start, f.Text("par"))},
				namedScript{"half an end", gatewaytest.Events(providertest.Proper, f.Start, f.Text("par"), f.End[:len(f.End)/4])},
				namedScript{"an end of another protocol", gatewaytest.Events(providertest.Proper, f.Start, f.Text("par"), "data: [DONE\n\n")},
			)
			for some := range slices.Chunk(all, maxFailures) {
				p := startWith(t, f, u.URL)
				for _, tt := range some {
					u.Play(tt.script)
					s := p.Chat(t, f.Request(gatewaytest.Streaming))
					checkInterrupted(t, tt.name, s)
					if !strings.Contains(s.Body, `"content":"par"`) || strings.Contains(s.Body, `"no"`) {
						t.Errorf("%s: %s", tt.name, s.Body)
					}
				}
			}
		})
	}
}

// TestChunksOfOneStreamShareIDModelAndTime has an upstream whose events name
// different answers.
func TestChunksOfOneStreamShareIDModelAndTime(t *testing.T) {
	t.Parallel()
	gatewaytest.EachProvider(t, func(t *testing.T, f gatewaytest.Provider, u *providertest.Upstream, p *gatewaytest.Program) {
		other := func(s, id string) string {
			return strings.NewReplacer(`"id":"x"`, `"id":"`+id+`"`, `"responseId":"x"`, `"responseId":"`+id+`"`, `"created":5`, `"created":`+strconv.Itoa(len(id)),
				`"model":"gpt-4-0613"`, `"model":"m-`+id+`"`, `"model":"claude-haiku-4-5-20251001"`, `"model":"m-`+id+`"`, `"modelVersion":"gemini-2.5-flash"`, `"modelVersion":"m-`+id+`"`).
				Replace(s)
		}
		for name, script := range map[string]providertest.Script{
			"each another":       gatewaytest.Events(providertest.Proper, f.Start, other(f.Start, "y"), other(f.Text("a"), "zz"), other(f.Text("b"), ""), other(f.End, "www")),
			"the first has none": gatewaytest.Events(providertest.Proper, other(f.Start, ""), f.Text("a"), other(f.Text("b"), "y"), other(f.End, "zz")),
		} {
			u.Play(script)
			s := p.Chat(t, f.Request(gatewaytest.Streaming+`,"stream_options":{"include_usage":true}`))
			all := chunks(t, s)
			if s.Err != nil || len(all) < 4 || all[0].ID == "" || all[0].Model == "" || all[0].Created <= 0 {
				t.Errorf("%s: %v %s", name, s.Err, s.Body)
				continue
			}
			for _, c := range all {
				if c.ID != all[0].ID || c.Model != all[0].Model || c.Created != all[0].Created || c.Object != "chat.completion.chunk" {
					t.Errorf("%s: %s", name, s.Body)
				}
			}
		}
	})
}

// withUsage replaces the usage in a provider's text, or removes it where usage is
// empty.
func withUsage(f gatewaytest.Provider, text, usage string) string {
	name := map[string]string{"gemini": "usageMetadata"}[f.Name]
	if name == "" {
		name = "usage"
	}
	member := regexp.MustCompile(`,"` + name + `":\{[^}]*\}`)
	if usage == "" {
		return member.ReplaceAllString(text, "")
	}
	return member.ReplaceAllString(text, `,"`+name+`":`+usage)
}

// usageOf is a usage in which every counter of every provider is n.
func usageOf(n string) string {
	var members []string
	for _, name := range []string{
		"prompt_tokens", "completion_tokens", "total_tokens", "input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens",
		"promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "toolUsePromptTokenCount", "cachedContentTokenCount", "totalTokenCount",
	} {
		members = append(members, gatewaytest.Quote(name)+":"+n)
	}
	return "{" + strings.Join(
		members, ",",
	) + `,"prompt_tokens_details":{"cached_tokens":` + n + `},"completion_tokens_details":{"reasoning_tokens":` + n + `}}`
}

// TestAbsurdUsageDoesNotSpoilAnAnswer sends counters that are not valid. The
// answer is delivered, with a valid usage or without one.
func TestAbsurdUsageDoesNotSpoilAnAnswer(t *testing.T) {
	t.Parallel()
	gatewaytest.EachProvider(t, func(t *testing.T, f gatewaytest.Provider, u *providertest.Upstream, p *gatewaytest.Program) {
		for _, usage := range []string{
			"", "null", "{}", usageOf("-1"), usageOf("-9223372036854775808"), usageOf("0"), usageOf("9223372036854775807"), usageOf("18446744073709551616"),
			usageOf("1e30"), usageOf("1.5"), usageOf(`"7"`), usageOf("null"), usageOf("true"), usageOf("{}"), `{"prompt_tokens":3,"input_tokens":3,"promptTokenCount":3}`,
		} {
			u.Play(gatewaytest.JSON(200, withUsage(f, f.Answer("hello"), usage)))
			a := p.Chat(t, f.Request(""))
			var whole chunk
			if err := json.Unmarshal([]byte(a.Body), &whole); err != nil || a.Status != 200 ||
				!strings.Contains(a.Body, `"content":"hello"`) {
				t.Errorf("%.60s: %d %v %s", usage, a.Status, err, a.Body)
			}
			checkUsage(t, usage, whole)
			u.Play(gatewaytest.Events(providertest.Proper, withUsage(f, f.Start, usage), f.Text("hello"), withUsage(f, f.End, usage)))
			s := p.Chat(t, f.Request(gatewaytest.Streaming+`,"stream_options":{"include_usage":true}`))
			if s.Err != nil || !strings.Contains(s.Body, `"content":"hello"`) || !strings.HasSuffix(s.Body, "[DONE]\n\n") {
				t.Errorf("%.60s, a stream: %v %s", usage, s.Err, s.Body)
			}
			for _, c := range chunks(t, s) {
				checkUsage(t, usage, c)
			}
		}
		for name, n := range gatewaytest.ParseMetrics(t, p.Get(t, "/metrics").Body) {
			if strings.HasPrefix(name, "modelgateway_tokens_total") && (n < 0 || n > 1e18) {
				t.Errorf("%s is %v", name, n)
			}
		}
	})
}

func checkUsage(t testing.TB, usage string, s chunk) {
	t.Helper()
	if u := s.Usage; u.Prompt < 0 || u.Completion < 0 || u.Total < 0 || u.Total < u.Prompt || u.Total < u.Completion {
		t.Errorf("%.60s became %+v", usage, u)
	}
}

// Go's HTTP client prints the bytes behind an answer to the standard logger.
func TestBytesBehindAnAnswerAreNotLogged(t *testing.T) {
	t.Parallel()
	const secret = "the-rest-of-an-answer"
	for _, format := range []string{"json", "text"} {
		u, f := newRawUpstream(t), gatewaytest.Providers()[0]
		u.serve(func(c *net.TCPConn) {
			readRequest(c)
			answer := f.Answer("fine")
			_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s%s\n\"%s\"",
				len(answer), answer, secret, secret)
			<-u.over
		})
		p := gatewaytest.Launch(t, nil, f.EnvPrefix+"_API_KEY=k", f.EnvPrefix+"_BASE_URL="+u.url, "LOG_FORMAT="+format)
		if a := p.Chat(t, f.Request("")); a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		gatewaytest.Until(t, "the log says that there were more bytes", func() bool {
			return strings.Contains(p.Log.String(), "Unsolicited response received on idle HTTP channel")
		})
		if printed := p.Log.String() + p.Stderr.String(); strings.Contains(printed, "rest-of") {
			t.Errorf("the log has bytes of an answer: %s", printed)
		}
		for line := range strings.Lines(p.Log.String()) {
			if format == "json" && !json.Valid([]byte(line)) {
				t.Errorf("the log has a line that is no JSON: %s", line)
			}
		}
	}
}
