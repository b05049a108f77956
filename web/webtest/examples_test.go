package webtest

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"modelgateway/web"
)

// TestExamplesOfTheDocumentMatchTheirSchemas also checks the order of events in
// the examples of streams.
func TestExamplesOfTheDocumentMatchTheirSchemas(t *testing.T) {
	r, err := newReader([]byte(web.OpenAPI()))
	if err != nil {
		t.Fatal(err)
	}
	bodies := 0
	check := func(pointer string, content openapi3.Content) {
		for name, c := range content {
			m := r.media(pointer+"/content/"+escape(name), c)
			for label, example := range c.Examples {
				bodies++
				if err := checkExample(m, name, example.Value.Value); err != nil {
					t.Errorf("%s %s %s: %v", pointer, name, label, err)
				}
			}
		}
	}
	for path, item := range r.doc.Paths.Map() {
		for method, op := range item.Operations() {
			at := "#/paths/" + escape(path) + "/" + strings.ToLower(method)
			if body := op.RequestBody; body != nil {
				check(cmp.Or(body.Ref, at+"/requestBody"), body.Value.Content)
			}
			for code, res := range op.Responses.Map() {
				check(cmp.Or(res.Ref, at+"/responses/"+code), res.Value.Content)
			}
		}
	}
	for name, res := range r.doc.Components.Responses {
		check("#/components/responses/"+name, res.Value.Content)
	}
	if r.err != nil {
		t.Fatal(r.err)
	}
	if bodies < 30 {
		t.Errorf("only %d examples were found", bodies)
	}
}

func checkExample(m media, mediaType string, value any) error {
	if mediaType == typeEvents {
		return checkStream(m, requested{}, answer{http.StatusOK, streamHeaders(), []byte(value.(string)), true})
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return checkJSON(m.schema, text)
}

func TestStreamNeedsAGrammarThatIsKnown(t *testing.T) {
	const line = "x-event-grammar: chat"
	if !strings.Contains(web.OpenAPI(), line) {
		t.Fatal("the document names no grammar")
	}
	for _, other := range []string{"x-event-grammar: other", "x-other: chat"} {
		r, err := newReader([]byte(strings.Replace(web.OpenAPI(), line, other, 1)))
		if err != nil {
			t.Fatal(err)
		}
		if r.operations(); r.err == nil {
			t.Errorf("%s is taken", other)
		}
	}
}
