package faults

import (
	"bufio"
	"fmt"
	"iter"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// dialect is one provider's wire format, as far as texts need it.
type dialect struct {
	head   []string                 // the events ahead of the first text
	delta  func(text string) string // the event of one fragment
	tail   []string                 // the events behind the last text
	answer func(text string) string // a whole answer
	fault  func(status int) string  // the body of an error
	needed int                      // how many events of the tail make the stream whole
}

// events are the events of a whole stream, each made when it is needed: a
// stream may be longer than memory.
func (d dialect) events(s script) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, e := range d.head {
			if !yield(e) {
				return
			}
		}
		for i := range s.chunks {
			if !yield(d.delta(s.piece(i))) {
				return
			}
		}
		for _, e := range d.tail {
			if !yield(e) {
				return
			}
		}
	}
}

const (
	openAIChunk = `data: {"id":"x","object":"chat.completion.chunk","created":5,"model":"gpt-4-0613",`
	geminiUsage = `"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":4,"totalTokenCount":7},"modelVersion":"gemini-2.5-flash","responseId":"x"}`
)

var openAI = dialect{
	head: []string{openAIChunk + `"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}` + "\n\n"},
	delta: func(text string) string {
		return openAIChunk + `"choices":[{"index":0,"delta":{"content":` + quote(text) + `},"finish_reason":null}]}` + "\n\n"
	},
	tail: []string{
		openAIChunk + `"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n",
		openAIChunk + `"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}` + "\n\n",
		"data: [DONE]\n\n",
	},
	needed: 2, // compatible servers have no [DONE]
	answer: func(text string) string {
		return `{"id":"x","object":"chat.completion","created":5,"model":"gpt-4-0613","choices":[{"index":0,"message":{"role":"assistant","content":` + quote(text) +
			`},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}`
	},
	fault: func(int) string {
		return `{"error":{"message":"The server had an error","type":"server_error","param":null,"code":null}}`
	},
}

func anthropicEvent(name, members string) string {
	return "event: " + name + "\ndata: {\"type\":\"" + name + "\"" + members + "}\n\n"
}

var anthropic = dialect{
	head: []string{
		anthropicEvent(
			"message_start",
			`,"message":{"id":"x","type":"message","role":"assistant","model":"claude-haiku-4-5-20251001","content":[],"stop_reason":null,"usage":{"input_tokens":3,"output_tokens":1}}`,
		),
		anthropicEvent("content_block_start", `,"index":0,"content_block":{"type":"text","text":""}`),
	},
	delta: func(text string) string {
		return anthropicEvent("content_block_delta", `,"index":0,"delta":{"type":"text_delta","text":`+quote(text)+`}`)
	},
	tail: []string{
		anthropicEvent("content_block_stop", `,"index":0`),
		anthropicEvent("message_delta", `,"delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":4}`),
		anthropicEvent("message_stop", ""),
	},
	needed: 2, // message_stop adds nothing
	answer: func(text string) string {
		return `{"id":"x","type":"message","role":"assistant","model":"claude-haiku-4-5-20251001","content":[{"type":"text","text":` + quote(text) +
			`}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":4}}`
	},
	fault: func(int) string {
		return `{"type":"error","error":{"type":"api_error","message":"Internal server error"}}`
	},
}

func geminiCandidate(text, finish string) string {
	return `{"candidates":[{"content":{"parts":[{"text":` + quote(text) + `}],"role":"model"},` + finish + `"index":0}],` + geminiUsage
}

var gemini = dialect{
	delta:  func(text string) string { return "data: " + geminiCandidate(text, "") + "\r\n\r\n" },
	tail:   []string{"data: " + geminiCandidate("", `"finishReason":"STOP",`) + "\r\n\r\n"},
	needed: 1,
	answer: func(text string) string { return geminiCandidate(text, `"finishReason":"STOP",`) },
	fault: func(status int) string {
		return fmt.Sprintf(`{"error":{"code":%d,"message":"An internal error has occurred","status":"INTERNAL"}}`, status)
	},
}

// broken answers up to the script's cut, and ends the connection there.
func (p *upstreamCall) broken(stream bool) error {
	conn, out, err := http.NewResponseController(p.w).Hijack()
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	whole := p.answer(p.text())
	pieces, kind := slices.Values([]string{whole}), "application/json"
	if stream {
		pieces, kind = p.events(p.script), "text/event-stream"
	}
	head := "HTTP/1.1 200 OK\r\nContent-Type: " + kind + "\r\n"
	chunked := false
	switch {
	case p.frame == frameClose:
		head += "Connection: close\r\n\r\n"
	case stream, p.frame == frameEnded:
		chunked = true
		head += "Transfer-Encoding: chunked\r\n\r\n"
	default:
		head += "Content-Length: " + strconv.Itoa(len(whole)) + "\r\n\r\n"
	}
	if _, err := out.WriteString(head); err != nil {
		return err
	}
	if err := p.upTo(out.Writer, pieces, chunked); err != nil || !p.reset {
		return err
	}
	return reset(conn.(*net.TCPConn))
}

// upTo writes the bytes before the cut.
func (p *upstreamCall) upTo(out *bufio.Writer, pieces iter.Seq[string], chunked bool) error {
	left := p.cut
	for piece := range pieces {
		part := piece[:min(left, len(piece))]
		left -= len(part)
		if part == "" {
			break // the cut was just before it
		}
		size, end := len(piece), "\r\n"
		if p.frame == frameEnded {
			size = len(part)
		}
		if len(part) < size {
			end = ""
		}
		text := part
		if chunked {
			text = fmt.Sprintf("%x\r\n%s%s", size, part, end)
		}
		_, _ = out.WriteString(text) // Flush says it
		if err := out.Flush(); err != nil {
			return err
		}
		p.rest(p.every)
	}
	if chunked && p.frame == frameEnded {
		_, _ = out.WriteString("0\r\n\r\n")
	}
	return out.Flush()
}

// reset closes a connection with a RST after what was written has arrived: the
// kernel would drop it.
func reset(conn *net.TCPConn) error {
	for range 1000 {
		n, err := unacknowledged(conn)
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if err := conn.SetLinger(0); err != nil {
		return err
	}
	return conn.Close()
}
