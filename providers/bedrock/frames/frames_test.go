package frames_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"modelgateway/providers/bedrock/frames"
)

// frame is a message of these headers, in pairs, and a payload.
func frame(t testing.TB, payload string, headers ...string) []byte {
	t.Helper()
	m := eventstream.Message{Payload: []byte(payload)}
	for i := 0; i < len(headers); i += 2 {
		m.Headers.Set(headers[i], eventstream.StringValue(headers[i+1]))
	}
	var out bytes.Buffer
	if err := eventstream.NewEncoder().Encode(&out, m); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func event(t testing.TB, name, payload string) []byte {
	t.Helper()
	return frame(t, payload, ":event-type", name, ":content-type", "application/json", ":message-type", "event")
}

func chunk(t testing.TB, text string) []byte {
	t.Helper()
	return event(t, "chunk", `{"bytes":"`+base64.StdEncoding.EncodeToString([]byte(text))+`","p":"abcdefg"}`)
}

func exception(t testing.TB, name, message string) []byte {
	t.Helper()
	return frame(t, `{"message":"`+message+`"}`, ":exception-type", name, ":content-type", "application/json", ":message-type", "exception")
}

// read is what a stream says, and its error where that is not the end.
func read(frame io.Reader) (string, error) {
	text, err := io.ReadAll(frames.Framing().ToSSE(frame))
	return string(text), err
}

const delta = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"é\n"}}`

func TestFramesBecomeEvents(t *testing.T) {
	for _, tt := range []struct {
		name  string
		frame []byte
		want  string
	}{
		{"chunk", chunk(t, delta), "event: content_block_delta\ndata: " + delta + "\n\n"},
		{"chunk, its members the other way round", event(t, "chunk", `{"p":"ab\"c","bytes":"eyJ0eXBlIjoicGluZyJ9"}`),
			"event: ping\ndata: {\"type\":\"ping\"}\n\n"},
		{"chunk with escapes", event(t, "chunk", `{"bytes":"eyJ0eXBlIjoiPz8\/In0\u003d"}`), "event: ???\ndata: {\"type\":\"???\"}\n\n"},
		{"end of an answer", chunk(t, `{"type":"message_stop","amazon-bedrock-invocationMetrics":{"inputTokenCount":9}}`),
			"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"},
		{"line breaks", chunk(t, "{\n\"type\":\r\n\"ping\"}"), "event: ping\ndata: { \"type\":  \"ping\"}\n\n"},
		{"converse", event(t, "contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"a"},"p":"x"}`),
			"event: contentBlockDelta\ndata: {\"contentBlockIndex\":0,\"delta\":{\"text\":\"a\"},\"p\":\"x\"}\n\n"},
		{"name with a line break", event(t, "a\ndata: b", `{}`), "data: {}\n\n"},
		{"throttling", exception(t, "throttlingException", "Too many tokens, sk-1234567890"), failure("rate_limit_error", "Too many tokens, [redacted]")},
		{"validation", exception(t, "validationException", "bad"), failure("invalid_request_error", "bad")},
		{"time-out", exception(t, "modelTimeoutException", "slow"), failure("timeout_error", "slow")},
		{"unavailable", exception(t, "serviceUnavailableException", "down"), failure("overloaded_error", "down")},
		{"internal", exception(t, "internalServerException", "oops"), failure("api_error", "oops")},
		{"model", exception(t, "modelStreamErrorException", "oops"), failure("api_error", "oops")},
		{"unknown", exception(t, "newException", ""), failure("api_error", "newException")},
		{"exception without JSON", frame(t, "x", ":message-type", "exception", ":exception-type", "throttlingException"),
			failure("rate_limit_error", "throttlingException")},
		{"error", frame(t, "", ":message-type", "error", ":error-code", "InternalFailure", ":error-message", "oh \"no\""),
			failure("api_error", `oh \"no\"`)},
		{"other message", frame(t, "x", ":message-type", "ping"), ""},
		{"nothing", nil, ""},
	} {
		if got, err := read(bytes.NewReader(tt.frame)); err != nil || got != tt.want {
			t.Errorf("%s: %v\ngot  %q\nwant %q", tt.name, err, got, tt.want)
		}
	}
}

func failure(kind, message string) string {
	return `event: error` + "\n" + `data: {"type":"error","error":{"type":"` + kind + `","message":"` + message + `"}}` + "\n\n"
}

func TestHeadersOfOtherTypesArePassedOver(t *testing.T) {
	var out bytes.Buffer
	headers := eventstream.Headers{
		{Name: "a", Value: eventstream.BoolValue(true)}, {Name: "b", Value: eventstream.Int8Value(1)},
		{Name: "c", Value: eventstream.Int16Value(1)}, {Name: "d", Value: eventstream.Int32Value(1)},
		{Name: "e", Value: eventstream.Int64Value(1)}, {Name: "f", Value: eventstream.BytesValue("xyz")},
		{Name: "g", Value: eventstream.TimestampValue(time.Unix(1, 0))}, {Name: "h", Value: eventstream.UUIDValue{1}},
		{Name: ":message-type", Value: eventstream.StringValue("event")}, {Name: ":event-type", Value: eventstream.StringValue("metadata")},
	}
	if err := eventstream.NewEncoder().Encode(&out, eventstream.Message{Headers: headers, Payload: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	if got, err := read(&out); err != nil || got != "event: metadata\ndata: {}\n\n" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestStreamsThatAreCut cuts a stream at every byte: what came whole is given, and only a cut
// between two frames is an end.
func TestStreamsThatAreCut(t *testing.T) {
	first, second := chunk(t, delta), exception(t, "throttlingException", "wait")
	all := append(bytes.Clone(first), second...)
	for at := range len(all) + 1 {
		got, err := read(iotest.OneByteReader(bytes.NewReader(all[:at])))
		ends := at == 0 || at == len(first) || at == len(all)
		if ends != (err == nil) || !ends && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut at %d of %d: %v", at, len(all), err)
		}
		if events := strings.Count(got, "\n\n"); at >= len(first) != (events >= 1) || at == len(all) != (events == 2) {
			t.Errorf("cut at %d of %d: %q", at, len(all), got)
		}
	}
}

func TestAnyChangedByteIsAFault(t *testing.T) {
	whole := chunk(t, delta)
	for at := range whole {
		changed := bytes.Clone(whole)
		changed[at] ^= 1
		if got, err := read(bytes.NewReader(changed)); err == nil || got != "" {
			t.Errorf("byte %d: %q, %v", at, got, err)
		}
	}
}

func TestFramesThatCannotBeAreFaults(t *testing.T) {
	prelude := func(size, headers uint32) []byte {
		p := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, size), headers)
		return binary.BigEndian.AppendUint32(p, crc32.ChecksumIEEE(p))
	}
	sealed := func(headers string) []byte {
		f := append(prelude(uint32(16+len(headers)), uint32(len(headers))), headers...)
		return binary.BigEndian.AppendUint32(f, crc32.ChecksumIEEE(f))
	}
	for name, frame := range map[string][]byte{
		"too long":             prelude(16<<20+1, 0),
		"longest":              prelude(1<<32-1, 0),
		"nothing":              prelude(0, 0),
		"shorter than a frame": prelude(15, 0),
		"headers too long":     prelude(20, 5),
		"headers much longer":  prelude(20, 1<<32-1),
		"name cut":             sealed("\x05ab"),
		"no type":              sealed("\x01a"),
		"unknown type":         sealed("\x01a\x0a"),
		"length cut":           sealed("\x01a\x07\x00"),
		"value cut":            sealed("\x01a\x07\x00\x05ab"),
		"chunk without JSON":   event(t, "chunk", "x"),
		"chunk without bytes":  event(t, "chunk", `{"p":"a"}`),
		"chunk of a number":    event(t, "chunk", `{"bytes":5}`),
		"chunk without base64": event(t, "chunk", `{"bytes":"%%"}`),
		"empty chunk":          event(t, "chunk", ``),
	} {
		if got, err := read(io.MultiReader(bytes.NewReader(chunk(t, delta)), bytes.NewReader(frame))); err == nil || strings.Count(got, "\n\n") != 1 {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestEachFrameIsGivenWhenItHasCome reads one event before the next frame is written.
func TestEachFrameIsGivenWhenItHasCome(t *testing.T) {
	from, to := io.Pipe()
	events := frames.Framing().ToSSE(from)
	got := make([]byte, 4<<10)
	for i := range 3 {
		piece := chunk(t, delta)
		go func() {
			_, _ = to.Write(piece[:7])
			_, _ = to.Write(piece[7:])
		}()
		n, err := events.Read(got)
		if err != nil || strings.Count(string(got[:n]), "\n\n") != 1 {
			t.Fatalf("frame %d: %q, %v", i, got[:n], err)
		}
	}
}

func FuzzFrames(f *testing.F) {
	f.Add(chunk(f, delta), 3)
	f.Add(append(event(f, "metadata", `{"usage":{}}`), exception(f, "validationException", "x")...), 1)
	f.Add(frame(f, "", ":message-type", "error", ":error-code", "x"), 100)
	f.Add([]byte{0, 0, 0, 16, 0, 0, 0, 0, 5, 0xc2, 0x48, 0xeb, 0x7d, 0x98, 0xc8, 0xff}, 5)
	f.Fuzz(func(t *testing.T, stream []byte, piece int) {
		whole, err := read(bytes.NewReader(stream))
		pieces, inPieces := read(&pieceReader{stream, max(piece, 1)})
		if whole != pieces || (err == nil) != (inPieces == nil) {
			t.Errorf("whole %q, %v; in pieces %q, %v", whole, err, pieces, inPieces)
		}
		if strings.HasSuffix(whole, "\n\n") != (whole != "") || strings.Contains(whole, "\r") {
			t.Errorf("not events: %q", whole)
		}
		if err != nil {
			return
		}
		// What is read here, the decoder of the SDK reads too.
		for left := bytes.NewReader(stream); left.Len() > 0; {
			if _, err := eventstream.NewDecoder().Decode(left, nil); err != nil {
				t.Fatalf("the SDK does not read it: %v", err)
			}
		}
	})
}

// pieceReader reads so many bytes at a time.
type pieceReader struct {
	text []byte
	most int
}

func (p *pieceReader) Read(to []byte) (int, error) {
	if len(p.text) == 0 {
		return 0, io.EOF
	}
	n := copy(to[:min(len(to), p.most)], p.text)
	p.text = p.text[n:]
	return n, nil
}

// BenchmarkChunk is one chunk on its way to a server-sent event.
func BenchmarkChunk(b *testing.B) {
	text := bytes.Repeat(chunk(b, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" quick brown"}         }`), 64)
	b.ReportAllocs()
	for n := 0; n < b.N; n += 64 {
		if _, err := io.Copy(io.Discard, frames.Framing().ToSSE(bytes.NewReader(text))); err != nil {
			b.Fatal(err)
		}
	}
}
