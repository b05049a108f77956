// Package webtest holds the gateway's answers against its OpenAPI document, in
// tests: statuses, headers, bodies, and the order of the events of a stream.
package webtest

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"modelgateway/web"
)

const (
	typeJSON   = "application/json"
	typeEvents = "text/event-stream"
)

// Validator knows the document. It is read-only and may be used by many tests
// at once.
type Validator struct {
	operations []*operation
	schemas    map[string]*jsonschema.Schema
	noRoute    *response
	noMethod   *response
}

// NewValidator reads the document that the binary serves. It fails when a
// reference of the document points nowhere or a schema of it is not valid.
func NewValidator() (*Validator, error) {
	return newValidator(web.OpenAPI())
}

func newValidator(document []byte) (*Validator, error) {
	r, err := newReader(document)
	if err != nil {
		return nil, err
	}
	v := &Validator{
		operations: r.operations(),
		schemas:    map[string]*jsonschema.Schema{},
		noRoute:    r.response(r.follow("#/components/responses/RouteNotFound")),
		noMethod:   r.response(r.follow("#/components/responses/MethodNotAllowed")),
	}
	schemas := r.follow("#/components/schemas")
	for name := range schemas.value {
		v.schemas[name] = r.compile(schemas.pointer + "/" + escape(name))
	}
	return v, r.err
}

// Schema holds a JSON text against the component schema of that name.
func (v *Validator) Schema(name string, body []byte) error {
	schema, ok := v.schemas[name]
	if !ok {
		return fmt.Errorf("the document has no schema %s", name)
	}
	return checkJSON(schema, body)
}

// Response holds a whole answer against what the document says of the request's
// method and path. The request's body is looked at through GetBody, where that
// is set, to know whether a stream and its usage were asked for.
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

// expected is what the document says of a status of the request's operation;
// nil where it has nothing to say, as for a CORS preflight.
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
		return v.noMethod, nil
	case status == http.StatusNotFound && pathKnown:
		return nil, errors.New("the path exists: another method of it is 405")
	case status == http.StatusNotFound:
		return v.noRoute, nil
	default:
		return v.anyError(), nil
	}
}

// anyError is the one error shape, of whatever type and code.
func (v *Validator) anyError() *response {
	return &response{
		headers: v.noRoute.headers,
		content: map[string]media{typeJSON: {schema: v.schemas["Error"]}},
	}
}

// find is the operation of a request, and whether the document knows its path.
// HEAD is answered like GET.
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
