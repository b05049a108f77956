package responses

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/go-json-experiment/json"

	"modelgateway/catalog"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/openai/openaitest"
	"modelgateway/providers/openai/wire"
	"modelgateway/providers/providertest"
	"modelgateway/providers/upstream"
)

// source is a request of the Responses API.
type source struct{ endpoint string }

func (source) Dialect() llm.Dialect { return llm.Responses }

func (s source) Endpoint() string { return s.endpoint }

func (source) Conversation() (*llm.Conversation, error) { return nil, errors.ErrUnsupported }

func (source) Path(llm.Field, llm.At) string { return "" }

func (source) Ignored([]llm.Field) []string { return nil }

func (source) Texts() iter.Seq[string] { return func(func(string) bool) {} }

func (source) Size() llm.Size { return llm.Size{} }

func (source) Foreign() string { return "" }

func (source) Chooses() string { return "" }

// responsesCall is a call of the Responses API.
func responsesCall(body string, change ...func(*llm.Request)) providers.Call {
	req := &llm.Request{
		Source: source{createPath}, Raw: []byte(body), Stream: strings.Contains(body, `"stream":true`),
		Handle: func(provider, key, id string) string { return id + "_mgw_" + provider + "_" + key },
	}
	for _, c := range change {
		c(req)
	}
	return providers.Call{Request: req, Model: &catalog.Model{Provider: catalog.OpenAI, Upstream: "gpt-up"}}
}

// apiAt is the API at an address.
func apiAt(url string) *API {
	opts := openaitest.Options(url, providers.Server{})
	return New(wire.NewClient(opts), opts)
}

// nativeOf is a native call.
func nativeOf(t testing.TB, body string, change ...func(*llm.Request)) *nativeExchange {
	t.Helper()
	n, err := apiAt("http://127.0.0.1:1").native(responsesCall(body, change...), createPath)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// allTexts are all pieces of text.
func allTexts(p providertest.Passed) string {
	var all strings.Builder
	for i := range p.Events {
		all.WriteString(p.Events[i].Text)
	}
	return all.String()
}

const streaming = `{"model":"m","stream":true,"input":"hi"}`

// passOn sends a stream through a native call.
func passOn(t testing.TB, n *nativeExchange, body io.Reader) providertest.Passed {
	t.Helper()
	stream, err := n.events(t.Context(), upstream.NewEvents(io.NopCloser(body)), "k")
	return providertest.Pass(t, llm.Responses, stream, err)
}

// notKept is in an answer that its provider does not keep.
var notKept = regexp.MustCompile(`"store": ?false`)

// renamed is a text with the ids that clients know.
func renamed(text string, rec providertest.Recording) string {
	if id := idIn(rec); id != "" && !notKept.Match(rec.Body) {
		text = strings.ReplaceAll(text, id, id+"_mgw_openai_k")
	}
	return text
}

// idIn is the id of the response of a recording; empty where it has none.
func idIn(rec providertest.Recording) string {
	return regexp.MustCompile(`resp_[0-9a-z_]+`).FindString(string(rec.Body))
}

// recordings are the answers of the Responses API in the project.
func recordings(t testing.TB) []providertest.Recording {
	t.Helper()
	all := providertest.Responses(t, providertest.Own())
	for _, r := range recorded {
		body, err := os.ReadFile(filepath.Join("testdata", "responses", r.file))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, providertest.Recording{File: r.file, Status: r.status, Stream: strings.HasSuffix(r.file, ".sse"), Body: body})
	}
	return all
}

// alsoKept are recordings, and those of answers that were not kept also as if they had been.
func alsoKept(all []providertest.Recording) []providertest.Recording {
	for _, rec := range all {
		if notKept.Match(rec.Body) {
			rec.File, rec.Body = rec.File+", kept", notKept.ReplaceAll(rec.Body, []byte(`"store":true`))
			all = append(all, rec)
		}
	}
	return all
}

// recordedNatively are the streams of them.
func recordedNatively(t testing.TB) []providertest.Recording {
	t.Helper()
	all := slices.DeleteFunc(recordings(t), func(r providertest.Recording) bool { return !r.Stream })
	if len(all) < 24 {
		t.Fatalf("%d recordings", len(all))
	}
	return all
}

// isWhole says whether a recorded stream ends well.
func isWhole(rec providertest.Recording) bool {
	all := providertest.Events(rec.Body)
	last := string(all[len(all)-1])
	return strings.Contains(last, `"response.completed"`) || strings.Contains(last, `"response.incomplete"`)
}

func TestRecordedStreamsComeBackByteForByteButForTheirIDs(t *testing.T) {
	whole, named := 0, 0
	for _, rec := range alsoKept(recordedNatively(t)) {
		got := passOn(t, nativeOf(t, streaming), bytes.NewReader(rec.Body))
		want := renamed(string(rec.Body), rec)
		if !isWhole(rec) {
			if got.Err == nil || !providertest.Begins(want, got.Bytes) {
				t.Errorf("%s: it is not whole: %v", rec.File, got.Err)
			}
			continue
		}
		if whole++; got.Bytes != string(rec.Body) {
			named++
		}
		if got.Err != nil || got.Bytes != want {
			t.Errorf("%s: %v, %d bytes of %d", rec.File, got.Err, len(got.Bytes), len(want))
		}
		if head := got.Events[0].Head; head.ID != renamed(idIn(rec), rec) || rec.Model != "" && head.Model != rec.Model {
			t.Errorf("%s: %+v", rec.File, head)
		}
	}
	if whole < 20 || named < 20 || named == whole {
		t.Errorf("%d whole streams, %d with another id", whole, named)
	}
}

// lastResponse is what the last event of a stream tells.
type lastResponse struct {
	Output []struct {
		Type, Name, Arguments, Input string
		Content                      []struct{ Text string }
	} `json:"output"`
	Usage struct {
		Input   int64 `json:"input_tokens"`
		Output  int64 `json:"output_tokens"`
		Details struct {
			Cached int64 `json:"cached_tokens"`
		} `json:"input_tokens_details"`
	} `json:"usage"`
}

// What the last event of a stream tells has been found in the events before it.
func TestRecordedStreamsAreMeteredBesideTheirBytes(t *testing.T) {
	for _, rec := range recordedNatively(t) {
		if !isWhole(rec) {
			continue
		}
		got := passOn(t, nativeOf(t, streaming), bytes.NewReader(rec.Body))
		all := providertest.Events(rec.Body)
		_, data, _ := bytes.Cut(all[len(all)-1], []byte("data: "))
		var want struct{ Response lastResponse }
		if err := json.Unmarshal(bytes.TrimSpace(data), &want, json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Fatal(err)
		}
		u, told := got.Usage(), want.Response.Usage
		if u == nil || u.Input != told.Input || u.Input == 0 || u.Output != told.Output || u.Cached != told.Details.Cached {
			t.Errorf("%s: %+v, not %+v", rec.File, u, told)
		}
		var text, rest strings.Builder
		for i := range got.Events {
			if e := &got.Events[i]; e.Kind == llm.EventText {
				text.WriteString(e.Text)
			} else {
				rest.WriteString(e.Text)
			}
		}
		wanted, finish := "", llm.FinishStop
		for _, item := range want.Response.Output {
			for _, part := range item.Content {
				wanted += part.Text
			}
			if strings.HasSuffix(item.Type, "tool_call") || item.Type == "function_call" {
				finish = llm.FinishToolCalls
			}
			if calls := rest.String(); !strings.Contains(calls, item.Name) || !strings.Contains(calls, item.Arguments+item.Input) {
				t.Errorf("%s: %+v is not in %s", rec.File, item, calls)
			}
		}
		if strings.Contains(string(data), `"reason":"max_output_tokens"`) {
			finish = llm.FinishLength
		}
		if last := got.Events[len(got.Events)-1]; text.String() != wanted || last.Kind != llm.EventFinish || last.Finish != finish {
			t.Errorf("%s: %q, not %q; %v %s", rec.File, text.String(), wanted, last.Kind, last.Finish)
		}
	}
}

// Case 33: nothing but the last event ends a stream well, whose empty line may be missing, and no part of an
// event is passed on.
func TestAStreamOfResponsesThatIsCutAtAnyByteEndsWithAnError(t *testing.T) {
	n, cuts := nativeOf(t, streaming), 0
	for _, rec := range alsoKept(recordedNatively(t)) {
		if !isWhole(rec) {
			continue
		}
		step, want := 1, renamed(string(rec.Body), rec)
		if !strings.HasSuffix(rec.File, "incomplete_stream.sse") { // one of them at every byte
			step = 1 + len(rec.Body)/64
		}
		ends := len(bytes.TrimRight(rec.Body, "\r\n"))
		for at := 0; at < ends; at += step {
			cuts++
			got := passOn(t, n, bytes.NewReader(rec.Body[:at]))
			if _, ok := errors.AsType[*providers.Refusal](got.Err); !ok || !providertest.Begins(want, got.Bytes) {
				t.Fatalf("%s, cut at byte %d of %d: %v", rec.File, at, len(rec.Body), got.Err)
			}
		}
		if got := passOn(t, n, bytes.NewReader(rec.Body[:ends])); got.Err != nil || !providertest.EndsFrame([]byte(got.Bytes)) {
			t.Errorf("%s, without the empty line at its end: %v", rec.File, got.Err)
		}
	}
	t.Logf("%d cuts", cuts)
}

// Case 34.
func TestStreamsOfResponsesWithAnyLineEndingsAreSplitAnywhere(t *testing.T) {
	n := nativeOf(t, streaming)
	odd := func(size int) string {
		return ": a comment\n\nevent: response.created\nid: 7\ndata:" + firstEvent + "    \n\n: between\n" +
			"event: keepalive\ndata: {\"type\":\"keepalive\",\"sequence_number\":1}\n\n" +
			"\n\nevent: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\ndata: \"delta\":\"zwei\"}\n\n" +
			"event: response.image_generation_call.partial_image\ndata: {\"type\":\"response.image_generation_call.partial_image\"," +
			"\"partial_image_b64\":\"" + strings.Repeat("x", size) + "\"}\n\n" +
			"retry: 1\nevent: response.completed\ndata:  " + lastEvent + "\n\n"
	}
	check := func(how, body string, r io.Reader) {
		t.Helper()
		got := passOn(t, n, r)
		want := strings.ReplaceAll(body, "resp_0123456789", "resp_0123456789_mgw_openai_k")
		if u := got.Usage(); got.Err != nil || got.Bytes != want || u == nil || u.Input != 4 || u.Output != 9 || allTexts(got) != "zwei" {
			t.Errorf("%s: %v, %d bytes of %d, %+v", how, got.Err, len(got.Bytes), len(want), u)
		}
	}
	for name, ending := range map[string]string{"LF": "\n", "CRLF": "\r\n", "CR": "\r"} {
		body := strings.ReplaceAll(odd(5), "\n", ending)
		for at := range len(body) {
			check(name+", in two pieces", body, io.MultiReader(strings.NewReader(body[:at]), strings.NewReader(body[at:])))
		}
		check(name+", byte by byte", body, iotest.OneByteReader(strings.NewReader(body)))
		long := strings.ReplaceAll(odd(80<<10), "\n", ending)
		for at := 1000; at < len(long); at += 4096 - 1 {
			check(name+", long", long, io.MultiReader(strings.NewReader(long[:at]), strings.NewReader(long[at:])))
		}
	}
}

// Servers that copy the API may leave out what its clients seldom need.
func TestResponsesWithoutIdAndObjectArePassedOn(t *testing.T) {
	bare := func(text string) string {
		return strings.ReplaceAll(strings.ReplaceAll(text, `"id":"resp_0123456789"`, `"id":""`), `"object":"response",`, "")
	}
	events := "data: " + bare(firstEvent) + "\n\ndata: " + bare(lastEvent) + "\n\n"
	if got := passOn(t, nativeOf(t, streaming), strings.NewReader(events)); got.Err != nil || got.Bytes != events || got.Usage() == nil {
		t.Errorf("%v, %s", got.Err, got.Bytes)
	}
	if answer, err := askNatively(t, plainRequest, jsonScript(200, bare(wholeResponse))); err != nil || string(answer.Raw) != bare(wholeResponse) {
		t.Errorf("%v, %+v", err, answer)
	}
}
