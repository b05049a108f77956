package cloudtest

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream/eventstreamapi"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/jsonbytes"
	"modelgateway/providers/simulator/rawjson"
)

// betas are the features that Claude on Bedrock has; any other value makes it refuse the
// request. Sources: "Anthropic Claude Messages API" in the user guide of Bedrock, and
// anthropic_beta_headers_config.json of LiteLLM (2026-09).
const betas = " computer-use-2024-10-22 computer-use-2025-01-24 computer-use-2025-11-24 token-efficient-tools-2025-02-19 " +
	"interleaved-thinking-2025-05-14 output-128k-2025-02-19 dev-full-thinking-2025-05-14 context-1m-2025-08-07 " +
	"context-management-2025-06-27 effort-2025-11-24 tool-search-tool-2025-10-19 tool-examples-2025-10-29 " +
	"fine-grained-tool-streaming-2025-05-14 compact-2026-01-12 dangerous-tool-use-2026-09-03 " +
	"thinking-binding-controls-2026-08-01 thinking-display-updates-2026-08-18 mid-conversation-output-config-2026-07-01 " +
	"mid-conversation-tool-changes-2026-07-01 "

// onlyAnthropic are members of the Messages API that Bedrock refuses: what is said elsewhere,
// and what only Anthropic's own API has.
var onlyAnthropic = []string{"model", "stream", "service_tier", "container", "mcp_servers", "inference_geo"}

// invoke is InvokeModel, for Claude and for embeddings.
func (a *AWS) invoke(w http.ResponseWriter, r *http.Request) {
	name, profile := model(r.PathValue("id"))
	vendor, name, _ := strings.Cut(name, ".")
	members, ok := readObject(r)
	switch {
	case !ok:
		invalid(malformed).write(w)
	case vendor != "anthropic":
		a.embed(w, r.PathValue("id"), members)
	case !profile && name != "claude-3-haiku-20240307":
		invalid("Invocation of model ID %s with on-demand throughput isn’t supported. Retry your request with the ID or ARN of an "+
			"inference profile that contains this model.", r.PathValue("id")).write(w)
	default:
		header, refusal := claudeRequest(members)
		if refusal != nil {
			refusal.write(w)
			return
		}
		members["model"] = text(name)
		out := &frames{w: w}
		if strings.HasSuffix(r.URL.Path, "-stream") {
			members["stream"] = jsontext.Value("true")
		}
		a.ask(out, r, "/v1/messages", rawjson.Encode(members), header)
		out.end()
	}
}

// claudeRequest turns a request into one of Anthropic's own API, with its headers.
func claudeRequest(members map[string]jsontext.Value) (http.Header, *awsRefusal) {
	for _, name := range onlyAnthropic {
		if members[name] != nil {
			return nil, invalid("%s: Extra inputs are not permitted", name)
		}
	}
	if v := jsonbytes.Text(members["anthropic_version"]); v != "bedrock-2023-05-31" {
		return nil, invalid("anthropic_version: Input should be 'bedrock-2023-05-31'")
	}
	var given []string
	if beta := members["anthropic_beta"]; beta != nil && json.Unmarshal(beta, &given) != nil {
		return nil, invalid("anthropic_beta: Input should be a valid list")
	}
	for _, beta := range given {
		if !strings.Contains(betas, " "+beta+" ") {
			return nil, invalid("invalid beta flag")
		}
	}
	index := 0
	for tool := range jsonbytes.Elements(members["tools"]) {
		kind := jsonbytes.Text(jsonbytes.Member(tool, "type"))
		for _, hosted := range []string{"web_search", "web_fetch", "code_execution"} {
			if strings.HasPrefix(kind, hosted) {
				return nil, invalid("tools.%d: Input tag '%s' found using 'type' does not match any of the expected tags", index, kind)
			}
		}
		index++
	}
	delete(members, "anthropic_version")
	delete(members, "anthropic_beta")
	return asAnthropic(given...), nil
}

// counted are the models of Claude that CountTokens knows: none of the newest.
var counted = regexp.MustCompile(`^claude-(3|sonnet-4|haiku-4|opus-4-([1-6]$|[1-6]-20|20))`)

// countTokens is CountTokens. It knows models by their own id only, not by that of a profile.
// Source: pydantic/pydantic-ai#4001 and #3367.
func (a *AWS) countTokens(w http.ResponseWriter, r *http.Request) {
	name, profile := model(r.PathValue("id"))
	name, claude := strings.CutPrefix(name, "anthropic.")
	if profile || claude && !counted.MatchString(name) {
		invalid("The provided model doesn't support counting tokens.").write(w)
		return
	}
	var asked struct {
		Input struct {
			InvokeModel *struct{ Body []byte }
			Converse    jsontext.Value
		}
	}
	members := map[string]jsontext.Value{}
	err := json.Unmarshal(readBody(r), &asked, json.MatchCaseInsensitiveNames(true))
	switch in := asked.Input; {
	case err == nil && !claude && in.Converse != nil:
		a.countConverse(w, name, in.Converse)
		return
	case err != nil || in.InvokeModel == nil || json.Unmarshal(in.InvokeModel.Body, &members) != nil:
		invalid(malformed).write(w)
		return
	}
	if members["max_tokens"] == nil {
		invalid("max_tokens: Field required").write(w) // the body is one of InvokeModel
		return
	}
	header, refusal := claudeRequest(members)
	if refusal != nil {
		refusal.write(w)
		return
	}
	for _, name := range []string{"max_tokens", "temperature", "top_p", "top_k", "stop_sequences", "metadata"} {
		delete(members, name)
	}
	members["model"] = text(name)
	answer := a.whole(r, "/v1/messages/count_tokens", rawjson.Encode(members), header)
	out := &frames{w: w}
	out.WriteHeader(answer.Code)
	_, _ = out.Write(bytes.Replace(answer.Body.Bytes(), []byte("input_tokens"), []byte("inputTokens"), 1)) // into memory
	out.end()
}

// frames turns the simulator's answer into Bedrock's: its events into frames of Amazon's event
// stream, its errors into Amazon's.
type frames struct {
	w         http.ResponseWriter
	header    http.Header
	status    int
	rest      []byte // what is not sent: a whole answer, or a part of an event
	in, out   int64
	streaming bool
}

// Header is that of the simulator, of which nothing reaches the client.
func (f *frames) Header() http.Header {
	if f.header == nil {
		f.header = http.Header{}
	}
	return f.header
}

// WriteHeader begins a stream.
func (f *frames) WriteHeader(status int) {
	f.status, f.streaming = status, strings.HasPrefix(f.Header().Get("Content-Type"), "text/event-stream")
	if f.streaming {
		f.w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
		f.w.Header().Set("X-Amzn-Bedrock-Content-Type", "application/json")
		f.w.WriteHeader(status)
	}
}

// Write sends the events that have come to their end.
func (f *frames) Write(p []byte) (int, error) {
	if f.status == 0 {
		f.WriteHeader(http.StatusOK)
	}
	f.rest = append(f.rest, p...)
	for f.streaming {
		event, rest, whole := bytes.Cut(f.rest, []byte("\n\n"))
		if !whole {
			break
		}
		f.rest = rest
		for line := range bytes.SplitSeq(event, []byte("\n")) {
			if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
				if err := f.send(data); err != nil {
					return 0, err
				}
			}
		}
	}
	return len(p), nil
}

// FlushError sends what is buffered.
func (f *frames) FlushError() error { return http.NewResponseController(f.w).Flush() }

func (f *frames) send(data jsontext.Value) error {
	number := func(object, member string) int64 {
		n, _ := jsonbytes.Integer(jsonbytes.Member(jsonbytes.Member(data, object), member))
		return n
	}
	switch jsonbytes.Text(jsonbytes.Member(data, "type")) {
	case "ping":
		return nil // which Bedrock does not send
	case "error":
		message := jsonbytes.Text(jsonbytes.Member(jsonbytes.Member(data, "error"), "message"))
		return writeFrame(f.w, "serviceUnavailableException", rawjson.Object{"message", message})
	case "message_start":
		f.in, _ = jsonbytes.Integer(jsonbytes.Member(jsonbytes.Member(jsonbytes.Member(data, "message"), "usage"), "input_tokens"))
	case "message_delta":
		f.out = number("usage", "output_tokens")
	case "message_stop":
		data = fmt.Appendf(nil, `{"type":"message_stop","amazon-bedrock-invocationMetrics":{"inputTokenCount":%d,"outputTokenCount":%d,`+
			`"invocationLatency":2,"firstByteLatency":1}}`, f.in, f.out)
	}
	return writeFrame(f.w, "chunk", rawjson.Object{"bytes", base64.StdEncoding.EncodeToString(data), "p", "abcdefghij"[:1+len(data)%10]})
}

// end sends an answer that is not a stream.
func (f *frames) end() {
	switch {
	case f.streaming:
	case f.status < http.StatusBadRequest:
		f.w.Header().Set("Content-Type", "application/json")
		_, _ = f.w.Write(f.rest) // it fails only when the client has disconnected
	default:
		status := f.status
		if awsKinds[status] == "" {
			status = http.StatusServiceUnavailable
		}
		message := jsonbytes.Text(jsonbytes.Member(jsonbytes.Member(f.rest, "error"), "message"))
		(&awsRefusal{status, awsKinds[status], message}).write(f.w)
	}
}

// writeFrame sends an event, or an exception, which is named so.
func writeFrame(w http.ResponseWriter, name string, payload any) error {
	var header eventstream.Headers
	if strings.HasSuffix(name, "Exception") {
		header.Set(eventstreamapi.MessageTypeHeader, eventstream.StringValue(eventstreamapi.ExceptionMessageType))
		header.Set(eventstreamapi.ExceptionTypeHeader, eventstream.StringValue(name))
	} else {
		header.Set(eventstreamapi.MessageTypeHeader, eventstream.StringValue(eventstreamapi.EventMessageType))
		header.Set(eventstreamapi.EventTypeHeader, eventstream.StringValue(name))
	}
	header.Set(eventstreamapi.ContentTypeHeader, eventstream.StringValue("application/json"))
	if err := eventstream.NewEncoder().Encode(w, eventstream.Message{Headers: header, Payload: rawjson.Encode(payload)}); err != nil {
		return err
	}
	return http.NewResponseController(w).Flush()
}
