package simulator

import (
	"net/http"
	"strconv"
)

type openaiListed struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

func (m model) openai() openaiListed {
	return openaiListed{ID: m.id, Object: "model", Created: m.created, OwnedBy: "system"}
}

func (s *simulator) openaiModels(w http.ResponseWriter, r *http.Request) {
	if f := openaiAuth(r); f != nil {
		f.write(w)
		return
	}
	list := struct {
		Object string         `json:"object"`
		Data   []openaiListed `json:"data"`
	}{Object: "list"}
	for _, m := range openaiCatalogue {
		list.Data = append(list.Data, m.openai())
	}
	writeJSON(w, http.StatusOK, list)
}

func (s *simulator) openaiModel(w http.ResponseWriter, r *http.Request) {
	if f := openaiAuth(r); f != nil {
		f.write(w)
		return
	}
	m, known := find(openaiCatalogue, r.PathValue("id"), openaiFamilies)
	if !known {
		openaiNoModel(r.PathValue("id")).write(w)
		return
	}
	writeJSON(w, http.StatusOK, m.openai())
}

// number reads a query parameter and falls back to its default.
func number(r *http.Request, name string, otherwise int) int {
	if n, err := strconv.Atoi(r.URL.Query().Get(name)); err == nil && n > 0 {
		return n
	}
	return otherwise
}
