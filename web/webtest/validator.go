// Package webtest checks the answers of the gateway against its OpenAPI document,
// in tests: statuses, headers, bodies, and the order of the events of a stream.
// docs/adr/0010-openapi-checks.md says what of it is the work of libraries.
package webtest

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"modelgateway/web"
)

const (
	typeJSON   = "application/json"
	typeEvents = "text/event-stream"
)

// Validator holds the compiled document. It is read-only, so that any number of
// tests may use it at once.
type Validator struct {
	operations []*operation
	schemas    map[string]*jsonschema.Schema
	general    general
	messages   general // of Anthropic's API
}

// general are the answers that no operation has.
type general struct {
	routeNotFound, methodNotAllowed *response
	anyError                        *response // with any status and type
}

// shared is made once: to compile the document takes longer than most tests do.
var shared = sync.OnceValues(func() (*Validator, error) { return newValidator([]byte(web.OpenAPI())) })

// NewValidator returns the one validator of the document that the binary serves.
// It fails when a reference of the document leads to nothing or a schema of it is
// not valid.
func NewValidator() (*Validator, error) { return shared() }

func newValidator(document []byte) (*Validator, error) {
	r, err := newReader(document)
	if err != nil {
		return nil, err
	}
	v := &Validator{
		operations: r.operations(),
		schemas:    map[string]*jsonschema.Schema{},
	}
	for name := range r.doc.Components.Schemas {
		v.schemas[name] = r.compile("#/components/schemas/" + escape(name))
	}
	v.general = v.generalAnswers(r, "", "Error")
	v.messages = v.generalAnswers(r, "Messages", "MessagesError")
	return v, r.err
}

func (v *Validator) generalAnswers(r *reader, prefix, schema string) general {
	g := general{routeNotFound: r.component(prefix + "RouteNotFound"), methodNotAllowed: r.component(prefix + "MethodNotAllowed")}
	if r.err == nil {
		g.anyError = &response{headers: g.routeNotFound.headers, content: map[string]media{typeJSON: {schema: v.schemas[schema]}}}
	}
	return g
}

// Schema checks a JSON text against the component schema of that name.
func (v *Validator) Schema(name string, body []byte) error {
	schema, ok := v.schemas[name]
	if !ok {
		return fmt.Errorf("the document has no schema %s", name)
	}
	return checkJSON(schema, body)
}

// Response checks a complete answer against the operation of the request's method
// and path. It reads the body of the request through GetBody, where that is set,
// to know whether the client asked for a stream and for its usage.
func (v *Validator) Response(req *http.Request, status int, header http.Header, body []byte) error {
	return v.check(req, answer{status, header, body, true})
}

func (v *Validator) check(req *http.Request, a answer) error {
	res, err := v.expected(req, a.status)
	if err == nil && res != nil {
		err = errors.Join(checkHeaders(res, a.header), checkBody(res, req, a))
	}
	if err != nil {
		return fmt.Errorf("%s %s answered %d: %w", req.Method, req.URL.Path, a.status, err)
	}
	return nil
}

// expected is the response that the document has for a status of the request's
// operation. It is nil for a CORS preflight, which the document does not describe.
func (v *Validator) expected(req *http.Request, status int) (*response, error) {
	op, pathKnown := v.find(req)
	if req.Method == http.MethodHead && status == http.StatusMethodNotAllowed {
		op = nil // a gateway may refuse HEAD
	}
	form := v.general
	if isMessages(req, op != nil) {
		form = v.messages
	}
	if op != nil {
		res, ok := op.responses[status]
		switch {
		case !ok:
			return nil, errors.New("the document has no such status for this operation")
		case status >= http.StatusBadRequest && form == v.messages && op.path[2] == "models":
			return &response{headers: res.headers, content: form.anyError.content}, nil
		}
		return res, nil
	}
	preflight := req.Method == http.MethodOptions && req.Header.Get("Access-Control-Request-Method") != ""
	switch {
	case status == http.StatusNoContent && preflight:
		return nil, nil
	case status < http.StatusBadRequest:
		return nil, errors.New("the document has no such operation")
	case status == http.StatusMethodNotAllowed:
		return form.methodNotAllowed, nil
	case status == http.StatusNotFound && pathKnown:
		return nil, errors.New("the path exists: another method of it is 405")
	case status == http.StatusNotFound:
		return form.routeNotFound, nil
	default:
		return form.anyError, nil
	}
}

// find is the operation of a request, and whether the document has its path. The
// operation of HEAD is that of GET. A path without parameters comes before those with them,
// with all its methods, as OpenAPI says.
func (v *Validator) find(req *http.Request) (op *operation, pathKnown bool) {
	method := req.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	path := strings.Split(req.URL.EscapedPath(), "/")
	exact := slices.ContainsFunc(v.operations, func(op *operation) bool { return slices.Equal(op.path, path) })
	for _, op := range v.operations {
		if !slices.EqualFunc(op.path, path, matches) || exact && !slices.Equal(op.path, path) {
			continue
		}
		if op.method == method {
			return op, true
		}
		pathKnown = true
	}
	return nil, pathKnown
}

func matches(pattern, segment string) bool {
	if strings.HasPrefix(pattern, "{") {
		return segment != ""
	}
	return pattern == segment
}
