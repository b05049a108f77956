package gemini

import (
	"cmp"
	"net/http"
	"strconv"

	"modelgateway/providers/simulator/wire"
)

var catalogue = []wire.Model{
	{ID: "gemini-2.5-pro", Name: "Gemini 2.5 Pro", Context: 1048576, Output: 65536},
	{ID: "gemini-2.5-flash", Name: "Gemini 2.5 Flash", Context: 1048576, Output: 65536},
	{ID: "gemini-2.5-flash-lite", Name: "Gemini 2.5 Flash-Lite", Context: 1048576, Output: 65536},
	{ID: "gemini-2.5-flash-image-preview", Name: "Nano Banana", Context: 32768, Output: 32768},
	{ID: "gemini-2.5-flash-image", Name: "Nano Banana", Context: 32768, Output: 32768},
	{ID: "gemini-2.5-flash-preview-09-2025", Name: "Gemini 2.5 Flash Preview Sep 2025", Context: 1048576, Output: 65536},
	{ID: "gemini-2.5-flash-lite-preview-09-2025", Name: "Gemini 2.5 Flash-Lite Preview Sep 2025", Context: 1048576, Output: 65536},
	{ID: "gemini-2.0-flash", Name: "Gemini 2.0 Flash", Context: 1048576, Output: 8192},
	{ID: "gemini-2.0-flash-lite", Name: "Gemini 2.0 Flash-Lite", Context: 1048576, Output: 8192},
	{ID: "gemini-3.1-pro-preview", Name: "Gemini 3.1 Pro Preview", Context: 1048576, Output: 65536},
	{ID: "gemini-3.1-flash-lite", Name: "Gemini 3.1 Flash-Lite", Context: 1048576, Output: 65536},
	{ID: "gemini-3.5-flash", Name: "Gemini 3.5 Flash", Context: 1048576, Output: 65536},
	{ID: "gemini-3.5-flash-lite", Name: "Gemini 3.5 Flash-Lite", Context: 1048576, Output: 65536},
	{ID: "gemini-3.6-flash", Name: "Gemini 3.6 Flash", Context: 1048576, Output: 65536},
	{ID: "gemini-3.7-flash", Name: "Gemini 3.7 Flash", Context: 1048576, Output: 65536},
	{ID: "gemini-3.8-flash", Name: "Gemini 3.8 Flash", Context: 1048576, Output: 65536},
	{ID: "gemini-4-argon", Name: "Gemini 4 Argon", Context: 1048576, Output: 65536},
	{ID: "gemini-embedding-001", Name: "Gemini Embedding 001", Context: 2048, Output: 1, Embeds: true},
	{ID: "gemini-embedding-2", Name: "Gemini Embedding 2", Context: 8192, Output: 1, Embeds: true},
}

// find returns the model of an id that has a method.
func (s *Service) find(id, method string) (wire.Model, *wire.Failure) {
	m, known := s.options.Find(Name, catalogue, id)
	embeds := method == embedOne || method == embedBatch
	if !known || m.Retired || method != "" && m.Embeds != embeds {
		return m, unknownModel(id, cmp.Or(method, "generateContent"))
	}
	return m, nil
}

type listed struct {
	Name        string   `json:"name"`
	Version     string   `json:"version"`
	DisplayName string   `json:"displayName"`
	InputLimit  int      `json:"inputTokenLimit"`
	OutputLimit int      `json:"outputTokenLimit"`
	Methods     []string `json:"supportedGenerationMethods"`
	Thinking    bool     `json:"thinking,omitzero"`
}

func list(m wire.Model) listed {
	methods := []string{"generateContent", "countTokens", "createCachedContent", "batchGenerateContent"}
	if m.Embeds {
		methods = []string{"embedContent", "countTokens"}
	}
	return listed{"models/" + m.ID, "001", m.Name, m.Context, m.Output, methods, Generation(m.ID) >= 2.5 && !m.Embeds}
}

// Models is GET /v1beta/models: 50 models a page unless pageSize says otherwise,
// as Google does; pageToken asks for the next page.
func (s *Service) Models(w http.ResponseWriter, r *http.Request) *wire.Failure {
	if f := checkKey(r); f != nil {
		return f
	}
	all := s.options.Served(Name, catalogue)
	from := min(wire.QueryNumber(r, "pageToken", 0), len(all))
	page, more := wire.Page(all[from:], "", min(wire.QueryNumber(r, "pageSize", 50), 1000))
	answer := struct {
		Models []listed `json:"models"`
		Next   string   `json:"nextPageToken,omitzero"`
	}{Models: []listed{}}
	for _, m := range page {
		answer.Models = append(answer.Models, list(m))
	}
	if more {
		answer.Next = strconv.Itoa(from + len(page))
	}
	w.Header().Set("Content-Type", contentType)
	wire.WriteJSON(w, http.StatusOK, answer)
	return nil
}

// Model is GET /v1beta/models/{id}.
func (s *Service) Model(w http.ResponseWriter, r *http.Request) *wire.Failure {
	if f := checkKey(r); f != nil {
		return f
	}
	m, f := s.find(r.PathValue("id"), "")
	if f != nil {
		return f
	}
	w.Header().Set("Content-Type", contentType)
	wire.WriteJSON(w, http.StatusOK, list(m))
	return nil
}
