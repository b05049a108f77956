package providers

import (
	"testing"

	"modelgateway/llm"
)

func TestDocumentsAreTextsBetweenLinesThatSayWhatTheyAre(t *testing.T) {
	for want, m := range map[string]llm.Media{
		"<document title=\"a \\\"b\\\"\" context=\"c\">\nplain\n</document>":                  {Kind: llm.File, Title: `a "b"`, Context: "c", Text: "plain"},
		"<search_result title=\"t\" source=\"https://example.com\">\nfound\n</search_result>": {Kind: llm.SearchResult, Title: "t", URL: "https://example.com", Text: "found"},
		"<document title=\"a.txt\">\n\n</document>":                                           {Kind: llm.File, Name: "a.txt", URL: "data:text/plain,x"},
	} {
		if got := DocumentText(&m); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := DocumentLine(&llm.Media{Kind: llm.File, Title: "t", URL: "data:application/pdf;base64,AA=="}); got != `<document title="t"/>` {
		t.Errorf("got %q", got)
	}
}
