package responses

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
	"modelgateway/llm/roundtrip"
)

// compacted is the format of a sealed summary, which every provider reads.
const compacted = "compaction"

// sealSummary is the encrypted content of a compaction item.
func sealSummary(text string) string {
	return roundtrip.SealWhole(&llm.Thought{Format: compacted, Text: strings.ToValidUTF8(text, "\uFFFD")})
}

var errNoSummary = &api.Error{
	Status: http.StatusBadGateway, Type: api.TypeAPI, Code: api.CodeProviderError,
	Message: "the model wrote no summary of the conversation",
}

// unfinished says whether the answer lacks the summary that it should be.
func (it *items) unfinished() bool {
	return it.request.summary && len(bytes.TrimSpace(it.summary)) == 0
}

// compact writes the summary as the one item of the answer.
func (it *items) compact() {
	if it.unfinished() {
		return
	}
	sealed := sealSummary(string(it.summary))
	rest := func(w jsonbytes.Writer) jsonbytes.Writer { return w.Text("encrypted_content", sealed) }
	it.start(itemCompaction, rest)
	it.finish(rest)
}

// keptBytes are how much of the user's messages stays beside a summary: about 20,000 tokens.
const keptBytes = 20_000 * 4

// appendCompaction writes the answer of /v1/responses/compact: the user's last messages as
// they are, and the summary.
func (r *response) appendCompaction(dst, summary []byte, u *llm.Usage) []byte {
	w := jsonbytes.Writer(dst).Object().Text("id", "resp_"+r.stem).Text("object", "response.compaction").Int("created_at", r.created).
		ListAt("output")
	for i, message := range userMessages(r.request.members[memberInput]) {
		if message.Kind() == jsontext.KindString {
			message = jsontext.Value(`[{"type":"input_text","text":` + string(message) + `}]`)
		}
		w = w.Object().Text("id", "msg_"+r.stem+"_in_"+strconv.Itoa(i)).Text("type", "message").Text("status", "completed")
		w = appendLine(w.Name("content"), message).Text("role", "user").EndObject()
	}
	return withUsage(append(w.Comma(), summary...).EndList(), u).EndObject()
}

// userMessages are the contents of the user's last messages, as far as they are kept: the
// input itself where that is a text.
func userMessages(input jsontext.Value) []jsontext.Value {
	var last []jsontext.Value
	size := 0
	add := func(content jsontext.Value) {
		if !llm.Given(content) {
			return
		}
		last, size = append(last, content), size+len(content)
		for size > keptBytes {
			size -= len(last[0])
			last = last[1:]
		}
	}
	switch input.Kind() {
	case jsontext.KindString:
		add(input)
	case jsontext.KindBeginArray:
		for item := range jsonbytes.Elements(input) {
			add(userContent(item))
		}
	}
	return last
}

// userContent is what an item holds that is a message of the user's, else nil.
func userContent(item jsontext.Value) (content jsontext.Value) {
	message, user := true, false
	if item.Kind() != jsontext.KindBeginObject {
		return nil
	}
	for name, value := range jsonbytes.Members(item) {
		switch {
		case name.Is("type"):
			message = string(value) == `"message"`
		case name.Is("role"):
			user = string(value) == `"user"`
		case name.Is("content"):
			content = value
		}
	}
	if !message || !user {
		return nil
	}
	return content
}
