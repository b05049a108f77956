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

// answer is what the client received. It is not complete when the client stopped
// reading or the connection broke.
type answer struct {
	status   int
	header   http.Header
	body     []byte
	complete bool
}

func (a *answer) isStream() bool {
	return a.status == http.StatusOK && mediaType(a.header) == typeEvents
}

func checkHeaders(res *response, got http.Header) error {
	var errs []error
	for name, want := range res.headers {
		values := got.Values(name)
		if len(values) == 0 && want.required {
			errs = append(errs, fmt.Errorf("header %s is missing", name))
		}
		if len(values) > 1 {
			errs = append(errs, fmt.Errorf("header %s came %d times", name, len(values)))
		}
		for _, value := range values {
			if err := checkText(want.schema, value); err != nil {
				errs = append(errs, fmt.Errorf("header %s: %w", name, err))
			}
		}
	}
	return errors.Join(errs...)
}

// checkText checks a header against its schema. Headers have no types: the text
// may stand for a string, or for the number or boolean that it looks like.
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
	if len(res.content) == 0 {
		if len(a.body) > 0 || a.header.Get("Content-Type") != "" {
			return errors.New("the document has no body for this status")
		}
		return nil
	}
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
	requested := readRequested(req)
	_, streams := res.content[typeEvents]
	if requested.known && streams && requested.Stream != (name == typeEvents) {
		return fmt.Errorf("stream is %t, but the answer is %s", requested.Stream, name)
	}
	switch {
	case name == typeEvents:
		return checkStream(content, requested, a)
	case !a.complete:
		return nil
	case name == typeJSON:
		return errors.Join(checkJSON(content.schema, a.body), checkRateLimit(a))
	case len(a.body) == 0:
		return errors.New("the body is empty")
	default:
		return nil
	}
}

// checkRateLimit checks what the document can only say in words: the gateway
// knows when its own limit ends, so it always sends Retry-After.
func checkRateLimit(a answer) error {
	var body struct {
		Error struct {
			Code string `json:"code"`
			Type string `json:"type"`
		} `json:"error"`
	}
	if a.status != http.StatusTooManyRequests || json.Unmarshal(a.body, &body) != nil {
		return nil
	}
	own := body.Error.Code == "" && body.Error.Type == "rate_limit_error" // of Anthropic's API, whose errors have no code
	if (own || body.Error.Code == "rate_limit_exceeded") && a.header.Get("Retry-After") == "" {
		return errors.New("a rate limit came without Retry-After")
	}
	return nil
}

// checkJSON is strict about the text too: it refuses duplicate names and invalid
// UTF-8.
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

// requested is the part of a chat request that decides the form of its answer.
type requested struct {
	Stream        bool `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	known bool // false when the request's body cannot be read again
}

func readRequested(req *http.Request) requested {
	var a requested
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
