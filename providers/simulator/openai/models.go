package openai

import (
	"net/http"

	"modelgateway/providers/simulator/wire"
)

var catalogue = []wire.Model{
	{ID: "gpt-4-turbo", Snapshot: "gpt-4-turbo-2024-04-09", Created: 1712361441, Context: 128000, Output: 4096},
	{ID: "gpt-4", Snapshot: "gpt-4-0613", Created: 1687882411, Context: 8192, Output: 8192},
	{ID: "gpt-3.5-turbo", Snapshot: "gpt-3.5-turbo-0125", Created: 1677610602, Context: 16385, Output: 4096},
	{ID: "gpt-4o", Snapshot: "gpt-4o-2024-08-06", Created: 1715367049, Context: 128000, Output: 16384},
	{ID: "gpt-4o-mini", Snapshot: "gpt-4o-mini-2024-07-18", Created: 1721172741, Context: 128000, Output: 16384},
	{ID: "gpt-4.1", Snapshot: "gpt-4.1-2025-04-14", Created: 1744316542, Context: 1047576, Output: 32768},
	{ID: "gpt-4.1-mini", Snapshot: "gpt-4.1-mini-2025-04-14", Created: 1744318173, Context: 1047576, Output: 32768},
	{ID: "gpt-5", Snapshot: "gpt-5-2025-08-07", Created: 1754425777, Context: 400000, Output: 128000},
	{ID: "gpt-5-mini", Snapshot: "gpt-5-mini-2025-08-07", Created: 1754425928, Context: 400000, Output: 128000},
	{ID: "gpt-5-nano", Snapshot: "gpt-5-nano-2025-08-07", Created: 1754426384, Context: 400000, Output: 128000},
	{ID: "gpt-5.4", Created: wire.Recently, Context: 1050000, Output: 128000},
	{ID: "gpt-5.5", Created: wire.Recently, Context: 1050000, Output: 128000},
	{ID: "gpt-6-astra", Created: wire.Recently, Context: 1050000, Output: 128000},
	{ID: "gpt-6-sol", Created: wire.Recently, Context: 1050000, Output: 128000},
	{ID: "gpt-6-luna", Created: wire.Recently, Context: 1050000, Output: 128000},
	{ID: "gpt-6.1-sol", Created: wire.Recently, Context: 1050000, Output: 128000},
	{ID: "gpt-6.2-astra", Created: wire.Recently, Context: 1050000, Output: 128000},
	{ID: "gpt-6.2-sol", Created: wire.Recently, Context: 1050000, Output: 128000},
	{ID: "text-embedding-3-small", Created: 1705948997, Context: 8191, Embeds: true},
	{ID: "text-embedding-3-large", Created: 1705953180, Context: 8191, Embeds: true},
	{ID: "text-embedding-ada-002", Created: 1671217299, Context: 8192, Embeds: true},
}

// Find returns the model of an id, or says why it cannot be called.
func Find(o wire.Options, id string) (wire.Model, *wire.Failure) {
	m, known := o.Find(Name, catalogue, id)
	switch {
	case !known:
		return m, unknownModel(notThere, id)
	case m.Retired:
		return m, unknownModel("The model `%s` has been deprecated, learn more here: https://platform.openai.com/docs/deprecations", id)
	}
	return m, nil
}

type listed struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

func list(m wire.Model) listed {
	return listed{ID: m.ID, Object: "model", Created: m.Created, OwnedBy: "system"}
}

// Models is GET /v1/models.
func (s *Service) Models(w http.ResponseWriter, r *http.Request) *wire.Failure {
	if f := CheckKey(r); f != nil {
		return f
	}
	all := struct {
		Object string   `json:"object"`
		Data   []listed `json:"data"`
	}{Object: "list"}
	for _, m := range s.options.Served(Name, catalogue) {
		all.Data = append(all.Data, list(m))
	}
	wire.WriteJSON(w, http.StatusOK, all)
	return nil
}

// Model is GET /v1/models/{id}.
func (s *Service) Model(w http.ResponseWriter, r *http.Request) *wire.Failure {
	if f := CheckKey(r); f != nil {
		return f
	}
	m, f := Find(s.options, r.PathValue("id"))
	if f != nil {
		return f
	}
	wire.WriteJSON(w, http.StatusOK, list(m))
	return nil
}
