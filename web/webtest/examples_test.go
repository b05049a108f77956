package webtest

import (
	"encoding/json"
	"net/http"
	"testing"

	"modelgateway/web"
)

// TestExamplesOfTheDocumentKeepItsPromises holds each example of the document
// against the schema beside it, and the streams against the order of a stream.
func TestExamplesOfTheDocumentKeepItsPromises(t *testing.T) {
	r, err := newReader(web.OpenAPI())
	if err != nil {
		t.Fatal(err)
	}
	bodies := 0
	check := func(content object) {
		for name := range content.value {
			m := r.child(content, name)
			examples := r.child(m, "examples")
			for label := range examples.value {
				bodies++
				value := r.child(examples, label).value["value"]
				if err := checkExample(t, r, m, name, value); err != nil {
					t.Errorf("%s/%s: %v", m.pointer, label, err)
				}
			}
		}
	}
	paths := r.child(object{value: r.root}, "paths")
	for path := range paths.value {
		for method := range r.child(paths, path).value {
			op := r.child(r.child(paths, path), method)
			check(r.child(r.child(op, "requestBody"), "content"))
			responses := r.child(op, "responses")
			for code := range responses.value {
				check(r.child(r.child(responses, code), "content"))
			}
		}
	}
	components := r.follow("#/components/responses")
	for name := range components.value {
		check(r.child(r.child(components, name), "content"))
	}
	if r.err != nil {
		t.Fatal(r.err)
	}
	if bodies < 30 {
		t.Errorf("only %d examples were found", bodies)
	}
}

func checkExample(t *testing.T, r *reader, m object, mediaType string, value any) error {
	t.Helper()
	if mediaType == typeEvents {
		content := media{event: r.schema(m, "x-event-schema"), failure: r.schema(m, "x-error-event-schema")}
		return checkStream(content, asked{}, answer{http.StatusOK, streamHeaders(), []byte(value.(string)), true})
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return checkJSON(r.schema(m, "schema"), text)
}
