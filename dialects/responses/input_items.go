package responses

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
)

// appendInput adds the answer of GET /v1/responses/{id}/input_items, with the query members
// limit (20), order (desc), after and before.
func appendInput(dst []byte, turn *llm.Turn, query url.Values) ([]byte, error) {
	limit, err := limitOf(query.Get("limit"))
	if err != nil {
		return dst, err
	}
	all := inputItems(turn)
	switch query.Get("order") {
	case "", "desc":
		slices.Reverse(all)
	case "asc":
	default:
		return dst, invalid("order", "order must be asc or desc")
	}
	idOf := func(item jsontext.Value) string { return jsonbytes.Text(jsonbytes.Member(item, "id")) }
	at := func(id string) int {
		return slices.IndexFunc(all, func(item jsontext.Value) bool { return idOf(item) == id })
	}
	if after := at(query.Get("after")); after >= 0 {
		all = all[after+1:]
	}
	if before := at(query.Get("before")); before >= 0 {
		all = all[:before]
	}
	more := len(all) > limit
	all = all[:min(limit, len(all))]
	w := jsonbytes.Writer(dst).Object().Text("object", "list").ListAt("data")
	for _, item := range all {
		w = append(w.Comma(), item...)
	}
	first, last := "", ""
	if len(all) > 0 {
		first, last = idOf(all[0]), idOf(all[len(all)-1])
	}
	return w.EndList().TextOrNull("first_id", first).TextOrNull("last_id", last).Bool("has_more", more).EndObject(), nil
}

// limitOf reads how many items a page has.
func limitOf(text string) (int, error) {
	const usual, most = 20, 100
	if text == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, invalid("limit", "limit must be an integer between 1 and %d", most)
	}
	return n, nil
}

// appendDeleted adds the answer of DELETE /v1/responses/{id}.
func appendDeleted(dst []byte, id string) []byte {
	return jsonbytes.Writer(dst).Object().Text("id", id).Text("object", "response").Bool("deleted", true).EndObject()
}

// inputItems are the items of the input of a turn, as a list of items has them. Those without
// an id get the same one each time.
func inputItems(turn *llm.Turn) (all []jsontext.Value) {
	add := func(item jsontext.Value) {
		all = append(all, listed(item, "in_"+strings.TrimPrefix(turn.ID, "resp_")+"_"+strconv.Itoa(len(all))))
	}
	if turn.Input.Kind() == jsontext.KindString {
		add(textItem(turn.Input))
	}
	for item := range elements(turn.Input) {
		add(item)
	}
	return all
}

// listed is an item as a list of items has it: with an id, with the type of a message, and
// with content in parts.
func listed(item jsontext.Value, id string) jsontext.Value {
	if item.Kind() != jsontext.KindBeginObject {
		return item
	}
	var rest jsonbytes.Writer
	var kind, role, own string
	var text jsontext.Value
	for name, value := range jsonbytes.Members(item) {
		switch {
		case name.Is("id"):
			own = jsonbytes.Text(value)
			continue
		case name.Is("type"):
			kind = jsonbytes.Text(value)
			continue
		case name.Is("content") && value.Kind() == jsontext.KindString:
			text = value
			continue
		case name.Is("role"):
			role = jsonbytes.Text(value)
		}
		rest = rest.JSON(name.String(), value)
	}
	w := jsonbytes.Writer(nil).Object().Text("id", cmp.Or(own, id)).Text("type", cmp.Or(kind, "message"))
	if len(rest) > 0 {
		w = append(w.Comma(), rest...)
	}
	switch {
	case text == nil:
	case role == "assistant":
		w = w.ListAt("content").Object().Text("type", "output_text").List("annotations", nil).JSON("text", text).EndObject().EndList()
	default:
		w = w.ListAt("content").Object().Text("type", "input_text").JSON("text", text).EndObject().EndList()
	}
	return jsontext.Value(w.EndObject())
}
