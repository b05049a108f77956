package responses

import (
	"iter"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
)

// requestRefers are the ids of the references in the input.
func requestRefers(req *llm.Request) []string { return refers(requestOf(req).members[memberInput]) }

// turnRefers are the ids of the references in the input of a turn.
func turnRefers(turn *llm.Turn) []string { return refers(turn.Input) }

func refers(input jsontext.Value) (ids []string) {
	for item := range elements(input) {
		if id, ok := reference(item); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// elements are those of a list; none of another value.
func elements(list jsontext.Value) iter.Seq[jsontext.Value] {
	if list.Kind() != jsontext.KindBeginArray {
		return func(func(jsontext.Value) bool) {}
	}
	return jsonbytes.Elements(list)
}

// reference is the id of the item that a reference stands for. Its type may be left out, as
// that of a message, which has a role.
func reference(item jsontext.Value) (id string, ok bool) {
	kind := jsonbytes.Member(item, "type")
	if llm.Given(kind) && itemKindOf(jsonbytes.Text(kind)) != referenceItem || !llm.Given(kind) && jsonbytes.Member(item, "role") != nil {
		return "", false
	}
	id = jsonbytes.Text(jsonbytes.Member(item, "id"))
	return id, id != ""
}

// turn is what is kept of a request and its response, which must have ended.
func turn(req *llm.Request, answer []byte) (kept llm.Turn, ok bool) {
	kept = llm.Turn{Previous: req.Earlier.Previous, Input: requestOf(req).members[memberInput], Answer: answer}
	ended := false
	for name, value := range jsonbytes.Members(answer) {
		switch {
		case name.Is("id"):
			kept.ID = jsonbytes.Text(value)
		case name.Is("status"):
			ended = status(jsonbytes.Text(value)) == completed || status(jsonbytes.Text(value)) == incomplete
		case name.Is("output"):
			for item := range elements(value) {
				if id := jsonbytes.Text(jsonbytes.Member(item, "id")); id != "" {
					kept.Items = append(kept.Items, id)
				}
			}
		}
	}
	return kept, ended && kept.ID != "" && req.Earlier.Keeps
}

// resume is the body of a request with the whole conversation.
func resume(req *llm.Request, earlier, referred []llm.Turn) ([]byte, error) {
	in := resumed{known: map[string]jsontext.Value{}}
	for i := range referred {
		for item := range elements(jsonbytes.Member(referred[i].Answer, "output")) {
			in.known[jsonbytes.Text(jsonbytes.Member(item, "id"))] = item
		}
	}
	for i := range earlier {
		in.input(earlier[i].Input)
		in.items(jsonbytes.Member(earlier[i].Answer, "output"))
	}
	in.earlier = in.count
	in.input(requestOf(req).members[memberInput])
	if in.err != nil {
		return nil, in.err
	}
	body := append(make([]byte, 0, len(req.Raw)+len(in.out)+len(`{"input":[]}`)), `{"input":[`...)
	body = append(append(body, in.out...), ']')
	for name, value := range jsonbytes.Members(req.Raw) {
		if !name.Is("input") && !name.Is("previous_response_id") {
			body = append(append(append(append(body, ','), name...), ':'), value...)
		}
	}
	return append(body, '}'), nil
}

// resumed writes the input of a conversation.
type resumed struct {
	known   map[string]jsontext.Value // items, by their ids
	out     []byte
	count   int        // items so far
	earlier int        // items before those of the request itself; 0 while these are written
	err     *api.Error // of the first reference without an item
}

// input adds the input of a request.
func (r *resumed) input(input jsontext.Value) {
	if input.Kind() == jsontext.KindString {
		r.item(textItem(input))
		return
	}
	r.items(input)
}

// textItem is the item that an input stands for which is a text.
func textItem(text jsontext.Value) jsontext.Value {
	return append(append([]byte(`{"role":"user","content":`), text...), '}')
}

func (r *resumed) items(list jsontext.Value) {
	for item := range elements(list) {
		if id, ok := reference(item); ok {
			known := r.known[id]
			if known == nil && r.err == nil {
				r.err = unsupported("input["+strconv.Itoa(r.count-r.earlier)+"].id", "there is no item with the id %s that this caller "+
					"can refer to: send the items themselves, and store:false so that your SDK does", api.Quoted(id))
			}
			item = known
		}
		r.item(item)
	}
}

func (r *resumed) item(item jsontext.Value) {
	if r.count > 0 {
		r.out = append(r.out, ',')
	}
	r.out = append(r.out, item...)
	r.count++
}
