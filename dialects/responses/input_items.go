package responses

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/scan"
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
	idOf := func(item jsontext.Value) string { return scan.Text(scan.Member(item, "id")) }
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
	dst = append(dst, `{"object":"list","data":[`...)
	for i, item := range all {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, item...)
	}
	first, last := []byte("null"), []byte("null")
	if len(all) > 0 {
		first, last = scan.AppendString(nil, idOf(all[0])), scan.AppendString(nil, idOf(all[len(all)-1]))
	}
	dst = append(append(append(append(dst, `],"first_id":`...), first...), `,"last_id":`...), last...)
	return append(strconv.AppendBool(append(dst, `,"has_more":`...), more), '}'), nil
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
	return append(scan.AppendString(append(dst, `{"id":`...), id), `,"object":"response","deleted":true}`...)
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
	var rest []byte
	var kind, role, own string
	var text jsontext.Value
	for name, value := range scan.Members(item) {
		switch {
		case name.Is("id"):
			own = scan.Text(value)
			continue
		case name.Is("type"):
			kind = scan.Text(value)
			continue
		case name.Is("content") && value.Kind() == jsontext.KindString:
			text = value
			continue
		case name.Is("role"):
			role = scan.Text(value)
		}
		rest = append(append(append(append(rest, ','), name...), ':'), value...)
	}
	out := scan.AppendString([]byte(`{"id":`), cmp.Or(own, id))
	out = append(scan.AppendString(append(out, `,"type":`...), cmp.Or(kind, "message")), rest...)
	switch {
	case text == nil:
	case role == "assistant":
		out = append(append(append(out, `,"content":[{"type":"output_text","annotations":[],"text":`...), text...), `}]`...)
	default:
		out = append(append(append(out, `,"content":[{"type":"input_text","text":`...), text...), `}]`...)
	}
	return append(out, '}')
}
