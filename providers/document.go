package providers

import (
	"cmp"
	"strconv"
	"strings"

	"modelgateway/llm"
)

// DocumentText is a document or a search result as a text, for an API that takes
// neither.
func DocumentText(m *llm.Media) string {
	return "<" + documentHead(m) + ">\n" + m.Text + "\n</" + documentTag(m) + ">"
}

// DocumentLine is a line in front of a file that says what the API has no member for.
func DocumentLine(m *llm.Media) string { return "<" + documentHead(m) + "/>" }

func documentTag(m *llm.Media) string {
	if m.Kind == llm.SearchResult {
		return "search_result"
	}
	return "document"
}

func documentHead(m *llm.Media) string {
	var out strings.Builder
	out.WriteString(documentTag(m))
	source := m.URL
	if strings.HasPrefix(source, "data:") {
		source = ""
	}
	for _, a := range []struct{ name, value string }{
		{"title", cmp.Or(m.Title, m.Name)}, {"source", source}, {"context", m.Context},
	} {
		if a.value != "" {
			out.WriteString(" " + a.name + "=" + strconv.Quote(a.value))
		}
	}
	return out.String()
}
