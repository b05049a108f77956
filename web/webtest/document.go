package webtest

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// location is the name of the document inside the schema compiler. Nothing is
// loaded from there.
const location = "openapi:///openapi.yaml"

type operation struct {
	method    string
	path      []string // segments; {name} matches any
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
	grammar func(media, requested) grammar
}

// reader turns the document into operations. kin-openapi reads the document and
// follows its references; the compiler makes every schema once. The reader keeps
// the first error, so that reading on needs no check at each step.
type reader struct {
	doc      *openapi3.T
	compiler *jsonschema.Compiler
	err      error
}

func newReader(document []byte) (*reader, error) {
	doc, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		return nil, fmt.Errorf("load document: %w", err)
	}
	// The compiler gets the document itself and not what kin-openapi would write
	// of it, so that no keyword of a schema is lost.
	var value any
	if err := yaml.Unmarshal(document, &value); err != nil {
		return nil, fmt.Errorf("parse document: %w", err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource(location, value); err != nil {
		return nil, fmt.Errorf("add document: %w", err)
	}
	return &reader{doc: doc, compiler: compiler}, nil
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

func (r *reader) operations() []*operation {
	var all []*operation
	for path, item := range r.doc.Paths.Map() {
		for method, op := range item.Operations() {
			o := &operation{method: method, path: strings.Split(path, "/"), responses: map[int]*response{}}
			at := "#/paths/" + escape(path) + "/" + strings.ToLower(method) + "/responses/"
			for code, res := range op.Responses.Map() {
				status, err := strconv.Atoi(code)
				if err != nil {
					r.fail("%s%s: status is not a number", at, code)
				}
				o.responses[status] = r.response(at+code, res)
			}
			all = append(all, o)
		}
	}
	// A path without parameters comes before one whose parameter it would be.
	slices.SortStableFunc(all, func(a, b *operation) int { return cmp.Compare(a.parameters(), b.parameters()) })
	return all
}

// parameters is how many segments of the path match any text.
func (o *operation) parameters() (n int) {
	for _, segment := range o.path {
		if strings.HasPrefix(segment, "{") {
			n++
		}
	}
	return n
}

// component is a response that no operation has to name.
func (r *reader) component(name string) *response {
	res := r.doc.Components.Responses[name]
	if res == nil {
		r.fail("the document has no response %s", name)
		return nil
	}
	return r.response("#/components/responses/"+name, res)
}

// response compiles the schemas of the response at a pointer, or at its $ref.
func (r *reader) response(pointer string, ref *openapi3.ResponseRef) *response {
	pointer = cmp.Or(ref.Ref, pointer)
	res := &response{headers: map[string]header{}, content: map[string]media{}}
	for name, h := range ref.Value.Headers {
		at := cmp.Or(h.Ref, pointer+"/headers/"+escape(name))
		res.headers[name] = header{required: h.Value.Required, schema: r.compile(at + "/schema")}
	}
	for name, content := range ref.Value.Content {
		res.content[name] = r.media(pointer+"/content/"+escape(name), content)
	}
	return res
}

func (r *reader) media(pointer string, content *openapi3.MediaType) media {
	m := media{schema: r.compile(pointer + "/schema")}
	if _, ok := content.Extensions["x-event-schema"]; ok {
		m.event = r.compile(pointer + "/x-event-schema")
		m.failure = r.compile(pointer + "/x-error-event-schema")
		name, _ := content.Extensions["x-event-grammar"].(string)
		if m.grammar = grammars[name]; m.grammar == nil {
			r.fail("%s has the x-event-grammar %q, which is not known", pointer, name)
		}
	}
	return m
}

func (r *reader) compile(pointer string) *jsonschema.Schema {
	schema, err := r.compiler.Compile(location + pointer)
	if err != nil {
		r.fail("compile %s: %w", pointer, err)
	}
	return schema
}

// escape makes a key a token of a JSON pointer in a URL fragment.
func escape(key string) string {
	return url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(key))
}
