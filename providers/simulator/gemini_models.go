package simulator

import (
	"net/http"
	"strconv"
)

type geminiListed struct {
	Name       string   `json:"name"`
	Version    string   `json:"version"`
	Display    string   `json:"displayName"`
	InputLimit int      `json:"inputTokenLimit"`
	OutLimit   int      `json:"outputTokenLimit"`
	Methods    []string `json:"supportedGenerationMethods"`
	Thinking   bool     `json:"thinking,omitzero"`
}

func (m model) gemini() geminiListed {
	methods := []string{"generateContent", "countTokens", "createCachedContent", "batchGenerateContent"}
	if m.embeds {
		methods = []string{"embedContent", "countTokens"}
	}
	return geminiListed{"models/" + m.id, "001", m.name, m.context, m.output, methods, geminiGeneration(m.id) >= 2.5 && !m.embeds}
}

// geminiModels lists 50 models a page unless pageSize asks for another number.
func (s *simulator) geminiModels(w http.ResponseWriter, r *http.Request) {
	if f := geminiAuth(r); f != nil {
		f.write(w)
		return
	}
	from := min(number(r, "pageToken", 0), len(geminiCatalogue))
	cut, more := page(geminiCatalogue[from:], "", min(number(r, "pageSize", 50), 1000))
	list := struct {
		Models []geminiListed `json:"models"`
		Next   string         `json:"nextPageToken,omitzero"`
	}{Models: []geminiListed{}}
	for _, m := range cut {
		list.Models = append(list.Models, m.gemini())
	}
	if more {
		list.Next = strconv.Itoa(from + len(cut))
	}
	w.Header().Set("Content-Type", geminiJSON)
	writeJSON(w, http.StatusOK, list)
}

func (s *simulator) geminiModel(w http.ResponseWriter, r *http.Request) {
	if f := geminiAuth(r); f != nil {
		f.write(w)
		return
	}
	m, known := find(geminiCatalogue, r.PathValue("id"), geminiFamilies)
	if !known {
		geminiNoModel(r.PathValue("id"), "generateContent").write(w)
		return
	}
	w.Header().Set("Content-Type", geminiJSON)
	writeJSON(w, http.StatusOK, m.gemini())
}
