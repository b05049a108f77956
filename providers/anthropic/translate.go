package anthropic

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/models/api"
	"modelgateway/models/catalog"
	"modelgateway/providers"
	"modelgateway/providers/turns"
)

// translation is one request on its way from OpenAI's form to Anthropic's.
type translation struct {
	req    *api.ChatRequest
	model  catalog.Model
	traits catalog.Traits
	fields []field // of the client's body, in its order

	talk *turns.Conversation
	out  request

	tools  []tool
	format jsontext.Value // schema of the answer
	effort string

	answerTool string // see exchange
	legacy     bool   // see exchange
	hint       string // an instruction of the gateway's own

	thinks bool  // the model will think
	budget int64 // tokens, when it thinks by budget

	lost map[string]bool // what was left out
}

// field is a top-level member of the client's body that is not null.
type field struct {
	name  string
	value jsontext.Value
}

func newTranslation(call providers.Call) *translation {
	return &translation{
		req: call.Request, model: call.Model, traits: call.Model.Traits, fields: fields(call.Request.Raw),
	}
}

// run translates everything. The order matters: whether the model may think
// depends on the tools and the conversation, and the limit, the sampling and
// the conversation's own form depend on whether it thinks.
func (t *translation) run() error {
	if err := t.refuse(); err != nil {
		return err
	}
	if err := t.fold(); err != nil {
		return err
	}
	if err := t.chooseTools(); err != nil {
		return err
	}
	t.think()
	t.limit()
	t.sample()
	t.identify()
	t.rest()
	if err := t.messages(); err != nil {
		return err
	}
	t.system()
	t.mark()
	return nil
}

// refuse names what would change the request's meaning if it were left out.
func (t *translation) refuse() error {
	if n := t.req.N; n != nil && *n > 1 {
		return unsupported("n", "%s gives one answer at a time: n must be 1", catalog.Anthropic)
	}
	for _, m := range t.req.Modalities {
		if m != "text" {
			return unsupported("modalities", "the model %s answers with text only", t.model.ID)
		}
	}
	if api.Given(t.req.WebSearchOptions) {
		return unsupported("web_search_options", "the model %s takes no web_search_options", t.model.ID)
	}
	return nil
}

func unsupported(param, format string, args ...any) *api.Error {
	return api.Invalid(api.CodeUnsupportedValue, param, format, args...)
}

// body writes the request. Tools and output_config are written by hand: the
// client's schemas are carried as the bytes that came.
func (t *translation) body() ([]byte, error) {
	t.out.Model = t.model.Upstream
	body, err := json.Marshal(&t.out, jsontext.PreserveRawStrings(true))
	if err != nil {
		// All of it has been read as JSON before; only its depth can be too much.
		return nil, api.Invalid(api.CodeInvalidValue, "messages", "the messages cannot be written for %s", catalog.Anthropic).
			Because(fmt.Errorf("encode request: %w", err))
	}
	o := object(body[:len(body)-1])
	if len(t.tools) > 0 {
		o.member("tools", t.toolList())
	}
	if config := t.outputConfig(); config != nil {
		o.member("output_config", config)
	}
	return append(o, '}'), nil
}

func (t *translation) toolList() []byte {
	list := []byte{'['}
	for i := range t.tools {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, t.tools[i].encode()...)
	}
	return append(list, ']')
}

func (t *tool) encode() []byte {
	o := object{'{'}
	o.member("name", quote(t.name))
	if t.description != "" {
		o.member("description", quote(t.description))
	}
	o.member("input_schema", t.schema)
	if t.strict {
		o.member("strict", []byte("true"))
	}
	if t.cacheControl != nil {
		o.member("cache_control", t.cacheControl)
	}
	return append(o, '}')
}

func (t *translation) outputConfig() []byte {
	o := object{'{'}
	if t.effort != "" {
		o.member("effort", quote(t.effort))
	}
	if t.format != nil {
		format := object{'{'}
		format.member("type", []byte(`"json_schema"`))
		format.member("schema", t.format)
		o.member("format", append(format, '}'))
	}
	if len(o) == 1 {
		return nil
	}
	return append(o, '}')
}

// object is a JSON object under way, from its opening brace on.
type object []byte

// member adds a member whose value is JSON already.
func (o *object) member(name string, value []byte) {
	b := *o
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	b = append(append(b, quote(name)...), ':')
	*o = append(b, value...)
}

func quote(s string) jsontext.Value {
	out, err := jsontext.AppendQuote(nil, s)
	if err != nil { // not UTF-8, which the door does not let in
		out, _ = jsontext.AppendQuote(nil, string(bytes.ToValidUTF8([]byte(s), nil)))
	}
	return out
}
