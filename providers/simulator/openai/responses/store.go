package responses

import (
	"fmt"
	"net/http"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/providers/simulator/openai"
	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/wire"
)

// At most so many responses are kept, with at most so many bytes of input; the oldest is
// dropped.
const (
	keptResponses = 64
	keptBytes     = 4 << 20
)

// kept is a response with the items of its request.
type kept struct {
	response response
	items    []jsontext.Value
}

func (k kept) bytes() int {
	n := len(k.response.request)
	for _, item := range k.items {
		n += len(item)
	}
	return n
}

// output are the items of the response.
func (k kept) output() (items []jsontext.Value) {
	for _, item := range k.response.output {
		items = append(items, rawjson.Encode(item.done))
	}
	return items
}

// store keeps responses by their ids. It is safe for use by several requests at once.
type store struct {
	mu    sync.Mutex
	known map[string]kept
	order []string
	bytes int
}

func newStore() *store { return &store{known: map[string]kept{}} }

func (s *store) add(id string, k kept) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[id], s.order, s.bytes = k, append(s.order, id), s.bytes+k.bytes()
	for len(s.order) > keptResponses || s.bytes > keptBytes {
		s.drop(s.order[0])
	}
}

func (s *store) remove(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(id)
}

// drop removes a response. The caller has locked.
func (s *store) drop(id string) {
	s.bytes -= s.known[id].bytes()
	delete(s.known, id)
	for i, other := range s.order {
		if other == id {
			s.order = append(s.order[:i:i], s.order[i+1:]...)
			return
		}
	}
}

func (s *store) get(id string) (kept, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, known := s.known[id]
	return k, known
}

// fill reads the input of a request: what it refers to comes from the kept responses.
func (s *store) fill(q *Request) *wire.Failure {
	for id := q.PreviousResponseID; id != ""; {
		k, known := s.get(id)
		if !known {
			message := fmt.Sprintf("Previous response with id '%s' not found.", id)
			return openai.Refusal("previous_response_id", "previous_response_not_found", message)
		}
		q.history = append(append(append([]jsontext.Value{}, k.items...), k.output()...), q.history...)
		id = rawjson.GetString(k.response.request, "previous_response_id")
	}
	for _, item := range q.reads() {
		if rawjson.GetString(item, "type") == "item_reference" {
			id := rawjson.GetString(item, "id")
			if item = s.item(id); item == nil {
				return openai.Failure(http.StatusNotFound, fmt.Sprintf("Item with id '%s' not found. Items are not persisted when `store` is "+
					"set to false. Try again with `store` set to true, or remove this item from your input.", id))
			}
		}
		q.items = append(q.items, item)
	}
	return nil
}

// item is that of an id in the kept responses, or nil.
func (s *store) item(id string) jsontext.Value {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.known {
		for _, item := range k.response.output {
			if item.id == id {
				return rawjson.Encode(item.done)
			}
		}
	}
	return nil
}

// Kept is GET, DELETE and what else there is of /v1/responses/{id}.
func (s *Service) Kept(w http.ResponseWriter, r *http.Request) *wire.Failure {
	openai.SetHeader(w.Header())
	if f := openai.CheckKey(r); f != nil {
		return f
	}
	id := r.PathValue("id")
	k, known := s.kept.get(id)
	if !known {
		return openai.Failure(http.StatusNotFound, fmt.Sprintf("Response with id '%s' not found.", id))
	}
	switch {
	case r.Method == http.MethodDelete:
		s.kept.remove(id)
		wire.WriteJSON(w, http.StatusOK, rawjson.Object{"id", id, "object", "response", "deleted", true})
	case r.PathValue("part") == "input_items":
		wire.WriteJSON(w, http.StatusOK, k.list())
	case r.PathValue("part") == "cancel":
		return openai.Refusal("", "", "Cannot cancel a synchronous response.")
	default:
		wire.WriteJSON(w, http.StatusOK, k.response.object())
	}
	return nil
}

// list are the items of the request, the newest first.
func (k kept) list() rawjson.Object {
	data := []jsontext.Value{}
	ids := []string{}
	for i := len(k.items) - 1; i >= 0; i-- {
		item := rawjson.Object{}
		id := rawjson.GetString(k.items[i], "id")
		if id == "" {
			id = fmt.Sprintf("msg_%s_%d", k.response.id, i)
			item = append(item, "id", id)
		}
		for _, m := range rawjson.Members(k.items[i]) {
			item = append(item, m.Name, m.Value)
		}
		data, ids = append(data, rawjson.Encode(item)), append(ids, id)
	}
	list := rawjson.Object{"object", "list", "data", data, "has_more", false}
	if len(ids) > 0 {
		list = append(list, "first_id", ids[0], "last_id", ids[len(ids)-1])
	}
	return list
}
