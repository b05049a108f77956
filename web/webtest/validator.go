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
	operations       []*operation
	schemas          map[string]*jsonschema.Schema
	routeNotFound    *response
	methodNotAllowed *response
}

// shared is made once: to compile the document takes longer than most tests do.
var shared = sync.OnceValues(func() (*Validator, error) { return newValidator(web.OpenAPI()) })

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
		operations:       r.operations(),
		schemas:          map[string]*jsonschema.Schema{},
		routeNotFound:    r.component("RouteNotFound"),
		methodNotAllowed: r.component("MethodNotAllowed"),
	}
	for name := range r.doc.Components.Schemas {
		v.schemas[name] = r.compile("#/components/schemas/" + escape(name))
	}
	return v, r.err
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
	if op != nil {
		if res, ok := op.responses[status]; ok {
			return res, nil
		}
		return nil, errors.New("the document has no such status for this operation")
	}
	preflight := req.Method == http.MethodOptions && req.Header.Get("Access-Control-Request-Method") != ""
	switch {
	case status == http.StatusNoContent && preflight:
		return nil, nil
	case status < http.StatusBadRequest:
		return nil, errors.New("the document has no such operation")
	case status == http.StatusMethodNotAllowed:
		return v.methodNotAllowed, nil
	case status == http.StatusNotFound && pathKnown:
		return nil, errors.New("the path exists: another method of it is 405")
	case status == http.StatusNotFound:
		return v.routeNotFound, nil
	default:
		return v.anyError(), nil
	}
}

// anyError is the error body with any type and code.
func (v *Validator) anyError() *response {
	return &response{
		headers: v.routeNotFound.headers,
		content: map[string]media{typeJSON: {schema: v.schemas["Error"]}},
	}
}

// find is the operation of a request, and whether the document has its path. The
// operation of HEAD is that of GET.
func (v *Validator) find(req *http.Request) (op *operation, pathKnown bool) {
	method := req.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	path := strings.Split(req.URL.EscapedPath(), "/")
	for _, op := range v.operations {
		if !slices.EqualFunc(op.path, path, matches) {
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
