package responses

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/internal/scan"
	"modelgateway/llm"
	"modelgateway/llm/carried"
)

// compacted stands for the provider of a sealed summary, which every provider reads.
const compacted = "compaction"

// sealSummary is the encrypted content of a compaction item.
func sealSummary(text string) string {
	return carried.SealWhole(&llm.Thought{Provider: compacted, Text: strings.ToValidUTF8(text, "\uFFFD")})
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
	rest := func(dst []byte) []byte { return scan.AppendString(append(dst, `,"encrypted_content":`...), sealed) }
	it.start(itemCompaction, rest)
	it.finish(rest)
}

// keptBytes are how much of the user's messages stays beside a summary: about 20,000 tokens.
const keptBytes = 20_000 * 4

// appendCompaction writes the answer of /v1/responses/compact: the user's last messages as
// they are, and the summary.
func (r *response) appendCompaction(dst, summary []byte, u *llm.Usage) []byte {
	dst = append(append(append(dst, `{"id":"resp_`...), r.stem...), `","object":"response.compaction","created_at":`...)
	dst = append(strconv.AppendInt(dst, r.created, 10), `,"output":[`...)
	for i, message := range userMessages(r.request.members[memberInput]) {
		dst = append(append(append(dst, `{"id":"msg_`...), r.stem...), "_in_"...)
		dst = append(strconv.AppendInt(dst, int64(i), 10), `","type":"message","status":"completed","content":`...)
		if message.Kind() == jsontext.KindString {
			dst = append(appendLine(append(dst, `[{"type":"input_text","text":`...), message), `}]`...)
		} else {
			dst = appendLine(dst, message)
		}
		dst = append(dst, `,"role":"user"},`...)
	}
	dst = append(append(dst, summary...), `],"usage":`...)
	return append(appendUsage(dst, u), '}')
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
		for item := range scan.Elements(input) {
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
	for name, value := range scan.Members(item) {
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
