package webtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// location names the document inside the schema compiler; nothing is loaded
// from there.
const location = "openapi:///openapi.yaml"

// methods are the keys of a path item that hold an operation.
var methods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

type operation struct {
	method    string
	path      []string // segments; {name} stands for any
	responses map[int]*response
}

type response struct {
	headers map[string]header
	content map[string]media
}

type header struct {
	required bool
	schema   *jsonschema.Schema
}

type media struct {
	schema  *jsonschema.Schema
	event   *jsonschema.Schema // of the data of each event
	failure *jsonschema.Schema // of the data of an event that reports an error
}

// object is an object of the document and where it stands, behind its $ref.
type object struct {
	pointer string
	value   map[string]any
}

// reader turns the document into operations. Its first fault stays, so that
// the walk need not stop at each step.
type reader struct {
	root     map[string]any
	compiler *jsonschema.Compiler
	err      error
}

func newReader(document []byte) (*reader, error) {
	var raw any
	if err := yaml.Unmarshal(document, &raw); err != nil {
		return nil, fmt.Errorf("parse document: %w", err)
	}
	// JSON and back, so that numbers have the types the schemas work on.
	text, err := json.Marshal(raw)
	if err != nil {
		return nil, fmt.Errorf("document is not JSON: %w", err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read document: %w", err)
	}
	root, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("document is not an object")
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource(location, root); err != nil {
		return nil, fmt.Errorf("add document: %w", err)
	}
	return &reader{root: root, compiler: compiler}, nil
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

func (r *reader) operations() []*operation {
	var all []*operation
	paths := r.child(object{value: r.root}, "paths")
	for path := range paths.value {
		item := r.child(paths, path)
		for _, method := range methods {
			name := strings.ToLower(method)
			if _, ok := item.value[name]; !ok {
				continue
			}
			op := &operation{method: method, path: strings.Split(path, "/"), responses: map[int]*response{}}
			responses := r.child(r.child(item, name), "responses")
			for code := range responses.value {
				status, err := strconv.Atoi(code)
				if err != nil {
					r.fail("%s: status %q is not a number", responses.pointer, code)
				}
				op.responses[status] = r.response(r.child(responses, code))
			}
			all = append(all, op)
		}
	}
	return all
}

func (r *reader) response(o object) *response {
	res := &response{headers: map[string]header{}, content: map[string]media{}}
	headers := r.child(o, "headers")
	for name := range headers.value {
		h := r.child(headers, name)
		required, _ := h.value["required"].(bool)
		schema := r.schema(h, "schema")
		if schema == nil {
			r.fail("%s has no schema", h.pointer)
		}
		res.headers[name] = header{required: required, schema: schema}
	}
	content := r.child(o, "content")
	for name := range content.value {
		m := r.child(content, name)
		res.content[name] = media{
			schema:  r.schema(m, "schema"),
			event:   r.schema(m, "x-event-schema"),
			failure: r.schema(m, "x-error-event-schema"),
		}
	}
	return res
}

// child is a member of o that is an object, its $ref followed. An absent one is
// empty.
func (r *reader) child(o object, key string) object {
	value, ok := o.value[key]
	if !ok {
		return object{}
	}
	members, ok := value.(map[string]any)
	if !ok {
		r.fail("%s/%s is not an object", o.pointer, key)
		return object{}
	}
	if ref, ok := members["$ref"].(string); ok {
		return r.follow(ref)
	}
	return object{pointer: o.pointer + "/" + escape(key), value: members}
}

func (r *reader) follow(ref string) object {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		r.fail("%q does not point into the document", ref)
		return object{}
	}
	o := object{value: r.root}
	for key := range strings.SplitSeq(path, "/") {
		o = r.child(o, key)
	}
	if o.value == nil {
		r.fail("%q points nowhere", ref)
	}
	return o
}

// schema compiles the schema under key, nil when there is none.
func (r *reader) schema(o object, key string) *jsonschema.Schema {
	s := r.child(o, key)
	if s.value == nil {
		return nil
	}
	return r.compile(s.pointer)
}

func (r *reader) compile(pointer string) *jsonschema.Schema {
	schema, err := r.compiler.Compile(location + "#" + pointer)
	if err != nil {
		r.fail("compile %s: %w", pointer, err)
	}
	return schema
}

// escape makes a key a token of a JSON pointer in a URL fragment.
func escape(key string) string {
	return url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(key))
}
