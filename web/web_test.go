package web

import (
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

func TestDocumentIsValidOpenAPI(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData([]byte(OpenAPI()))
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

func TestDocsShowsTheAddressOfTheGateway(t *testing.T) {
	page, err := Docs("https://example.com/a&b'<c>/")
	if err != nil {
		t.Fatal(err)
	}
	text, err := page.Text()
	if err != nil {
		t.Fatal(err)
	}
	const escaped = "https://example.com/a&amp;b&#39;&lt;c&gt;/v1"
	for _, want := range []string{
		"<code>" + escaped + "</code>", "curl " + escaped + "/models<", "curl -N " + escaped + "/chat/completions ",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.Contains(string(text), baseURL) || strings.Contains(string(text), "<c>") {
		t.Error("the address is missing or not escaped")
	}
}
