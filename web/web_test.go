package web

import (
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

func TestDocumentIsValidOpenAPI(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData(OpenAPI())
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			if op.OperationID == "" || op.Summary == "" || len(op.Tags) != 1 || op.Security == nil {
				t.Errorf("%s %s lacks its operationId, summary, one tag or security", method, path)
			}
		}
	}
}

func TestOpenAPIIsACopy(t *testing.T) {
	OpenAPI()[0] = 'x'
	if OpenAPI()[0] != 'o' {
		t.Error("a caller changed the document")
	}
}
