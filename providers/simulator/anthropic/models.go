package anthropic

import (
	"net/http"
	"time"

	"modelgateway/providers/simulator/wire"
)

// catalogue is newest first, as Anthropic lists.
var catalogue = []wire.Model{
	{ID: "claude-opus-5-5", Name: "Claude Opus 5.5", Created: wire.Recently, Context: 1000000, Output: 128000},
	{ID: "claude-sonnet-5-5", Name: "Claude Sonnet 5.5", Created: wire.Recently, Context: 1000000, Output: 128000},
	{ID: "claude-haiku-5-5", Name: "Claude Haiku 5.5", Created: wire.Recently, Context: 1000000, Output: 128000},
	{ID: "claude-fable-5-1", Name: "Claude Fable 5.1", Created: wire.Recently, Context: 1000000, Output: 128000},
	{ID: "claude-mythos-5-1", Name: "Claude Mythos 5.1", Created: wire.Recently, Context: 1000000, Output: 128000},
	{ID: "claude-opus-5", Name: "Claude Opus 5", Created: wire.Recently, Context: 1000000, Output: 128000},
	{ID: "claude-sonnet-5", Name: "Claude Sonnet 5", Created: wire.Recently, Context: 1000000, Output: 128000},
	{ID: "claude-fable-5", Name: "Claude Fable 5", Created: wire.Recently, Context: 1000000, Output: 128000},
	{ID: "claude-opus-4-8", Name: "Claude Opus 4.8", Created: wire.Recently, Context: 1000000, Output: 128000},
	{ID: "claude-opus-4-7", Name: "Claude Opus 4.7", Created: wire.Recently, Context: 1000000, Output: 128000},
	{ID: "claude-opus-4-6", Name: "Claude Opus 4.6", Created: wire.Recently, Context: 1000000, Output: 128000},
	{ID: "claude-sonnet-4-6", Name: "Claude Sonnet 4.6", Created: wire.Recently, Context: 1000000, Output: 128000},
	{ID: "claude-opus-4-5-20251101", Alias: "claude-opus-4-5", Name: "Claude Opus 4.5",
		Created: 1761955200, Context: 200000, Output: 64000},
	{ID: "claude-haiku-4-5-20251001", Alias: "claude-haiku-4-5", Name: "Claude Haiku 4.5",
		Created: 1760486400, Context: 200000, Output: 64000},
	{ID: "claude-sonnet-4-5-20250929", Alias: "claude-sonnet-4-5", Name: "Claude Sonnet 4.5",
		Created: 1759104000, Context: 200000, Output: 64000},
	{ID: "claude-opus-4-1-20250805", Alias: "claude-opus-4-1", Name: "Claude Opus 4.1",
		Created: 1754352000, Context: 200000, Output: 32000},
	{ID: "claude-opus-4-20250514", Alias: "claude-opus-4-0", Name: "Claude Opus 4",
		Created: 1747872000, Context: 200000, Output: 32000},
	{ID: "claude-sonnet-4-20250514", Alias: "claude-sonnet-4-0", Name: "Claude Sonnet 4",
		Created: 1747872000, Context: 200000, Output: 64000},
	{ID: "claude-3-7-sonnet-20250219", Alias: "claude-3-7-sonnet-latest", Name: "Claude Sonnet 3.7",
		Created: 1740355200, Context: 200000, Output: 64000},
	{ID: "claude-3-5-haiku-20241022", Alias: "claude-3-5-haiku-latest", Name: "Claude Haiku 3.5",
		Created: 1729555200, Context: 200000, Output: 8192},
	{ID: "claude-3-haiku-20240307", Name: "Claude Haiku 3", Created: 1709769600, Context: 200000, Output: 4096},
}

// find returns the model of an id.
func (s *Service) find(id string) (wire.Model, *wire.Failure) {
	m, known := s.options.Find(Name, catalogue, id)
	if !known || m.Retired {
		return m, failure(http.StatusNotFound, "model: "+id)
	}
	return m, nil
}

type listed struct {
	Type        string `json:"type"`
	ID          string `json:"id"`
	DisplayName string `json:"display_name"`
	CreatedAt   string `json:"created_at"`
}

func list(m wire.Model) listed {
	return listed{"model", m.ID, m.Name, time.Unix(m.Created, 0).UTC().Format(time.RFC3339)}
}

// Models is GET /v1/models: 20 models a page unless limit says otherwise, as
// Anthropic does; after_id asks for the next page.
func (s *Service) Models(w http.ResponseWriter, r *http.Request) *wire.Failure {
	if f := checkHeader(r); f != nil {
		return f
	}
	page, more := wire.Page(s.options.Served(Name, catalogue), r.URL.Query().Get("after_id"), min(wire.QueryNumber(r, "limit", 20), 1000))
	answer := struct {
		Data    []listed `json:"data"`
		HasMore bool     `json:"has_more"`
		FirstID *string  `json:"first_id"`
		LastID  *string  `json:"last_id"`
	}{Data: []listed{}, HasMore: more}
	for _, m := range page {
		answer.Data = append(answer.Data, list(m))
	}
	if len(page) > 0 {
		answer.FirstID, answer.LastID = &page[0].ID, &page[len(page)-1].ID
	}
	wire.WriteJSON(w, http.StatusOK, answer)
	return nil
}

// Model is GET /v1/models/{id}.
func (s *Service) Model(w http.ResponseWriter, r *http.Request) *wire.Failure {
	if f := checkHeader(r); f != nil {
		return f
	}
	m, f := s.find(r.PathValue("id"))
	if f != nil {
		return f
	}
	wire.WriteJSON(w, http.StatusOK, list(m))
	return nil
}
