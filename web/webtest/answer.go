package webtest

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// answer is what came back. It is not whole when the client stopped reading or
// the connection broke.
type answer struct {
	status int
	header http.Header
	body   []byte
	whole  bool
}

func (a *answer) isStream() bool {
	return a.status == http.StatusOK && mediaType(a.header) == typeEvents
}

func checkHeaders(res *response, got http.Header) error {
	var faults []error
	for name, want := range res.headers {
		values := got.Values(name)
		if len(values) == 0 && want.required {
			faults = append(faults, fmt.Errorf("header %s is missing", name))
		}
		if len(values) > 1 {
			faults = append(faults, fmt.Errorf("header %s came %d times", name, len(values)))
		}
		for _, value := range values {
			if err := checkText(want.schema, value); err != nil {
				faults = append(faults, fmt.Errorf("header %s: %w", name, err))
			}
		}
	}
	return errors.Join(faults...)
}

// checkText holds a header against its schema. Headers have no types, so the
// text may be meant as the number or boolean it looks like, or as itself.
func checkText(schema *jsonschema.Schema, text string) error {
	err := schema.Validate(text)
	if err == nil {
		return nil
	}
	value, parseErr := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if parseErr != nil {
		return err
	}
	return schema.Validate(value)
}

func checkBody(res *response, req *http.Request, a answer) error {
	name := mediaType(a.header)
	content, ok := res.content[name]
	if !ok {
		return fmt.Errorf("content type %q is not in the document", a.header.Get("Content-Type"))
	}
	if req.Method == http.MethodHead {
		if len(a.body) > 0 {
			return errors.New("HEAD was answered with a body")
		}
		return nil
	}
	asked := readAsked(req)
	_, streams := res.content[typeEvents]
	if asked.known && streams && asked.Stream != (name == typeEvents) {
		return fmt.Errorf("stream is %t, but the answer is %s", asked.Stream, name)
	}
	switch {
	case name == typeEvents:
		return checkStream(content, asked, a)
	case !a.whole:
		return nil
	case name == typeJSON:
		return errors.Join(checkJSON(content.schema, a.body), checkRateLimit(a))
	case len(a.body) == 0:
		return errors.New("the body is empty")
	default:
		return nil
	}
}

// checkRateLimit holds what the document can only say in words: the gateway
// knows when its own limit passes, and says so in the header and the message.
func checkRateLimit(a answer) error {
	var body struct {
		Error struct {
			Code string `json:"code"`
		} `json:"error"`
	}
	if a.status != http.StatusTooManyRequests || json.Unmarshal(a.body, &body) != nil {
		return nil
	}
	if body.Error.Code == "rate_limit_exceeded" && a.header.Get("Retry-After") == "" {
		return errors.New("rate_limit_exceeded came without Retry-After")
	}
	return nil
}

// checkJSON is strict about the text too: duplicate names and invalid UTF-8 are
// faults.
func checkJSON(schema *jsonschema.Schema, text []byte) error {
	if !jsontext.Value(text).IsValid() {
		return fmt.Errorf("not valid JSON: %s", clip(text))
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("read JSON: %w", err)
	}
	if err := schema.Validate(value); err != nil {
		return fmt.Errorf("%w\nin %s", err, clip(text))
	}
	return nil
}

// asked is what decides the form of a chat answer.
type asked struct {
	Stream        bool `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	known bool // false when the request's body cannot be had
}

func readAsked(req *http.Request) asked {
	var a asked
	if req.GetBody == nil {
		return a
	}
	body, err := req.GetBody()
	if err != nil {
		return a
	}
	a.known = json.UnmarshalRead(body, &a) == nil
	return a
}

func mediaType(h http.Header) string {
	name, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return name
}

func clip(text []byte) string {
	const longest = 600
	if len(text) <= longest {
		return string(text)
	}
	return strings.ToValidUTF8(string(text[:longest]), "") + "…"
}
