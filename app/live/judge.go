package live

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"modelgateway/providers/sse"
)

// Difference is one between what came and what the gateway expects.
type Difference struct {
	What string `json:"what"`
	// Minor says that the gateway and its clients go on as before: it is something new that is passed on or left out.
	Minor bool `json:"minor"`
}

// answer is the body of an upstream's answer as values of JSON; of a stream one for each event.
type answer struct {
	values []any
	labels []string // of the events of a stream, for their order
	stream bool
}

// readAnswer reads a body. Events that only keep a connection open are left out.
func readAnswer(body []byte, stream bool) (a answer, err error) {
	a.stream = stream
	if !stream {
		var value any
		err = json.Unmarshal(body, &value)
		if list, is := value.([]any); is { // Gemini's errors come so, too
			a.values = list
			return a, err
		}
		a.values = []any{value}
		return a, err
	}
	events := sse.NewReader(bytes.NewReader(body))
	defer events.Close()
	for {
		event, err := events.Next()
		if err != nil {
			return a, nil
		}
		var value any
		if string(event.Data) == "[DONE]" {
			a.labels = append(a.labels, "[DONE]")
			continue
		}
		if err := json.Unmarshal(event.Data, &value); err != nil {
			return a, fmt.Errorf("an event is no JSON: %w", err)
		}
		label := labelOf(value)
		if event.Name != "" && event.Name != label { // the gateway reads either
			label = event.Name + "/" + label
		}
		if label == "ping" || label == "keepalive" {
			continue
		}
		a.values, a.labels = append(a.values, value), append(a.labels, label)
	}
}

// labelOf names an event: by its type or, where events have none, by what it adds to the answer.
func labelOf(value any) string {
	choice, candidate := at(value, "choices", 0), at(value, "candidates", 0)
	switch {
	case text(value, "type") != "":
		return text(value, "type")
	case at(value, "error") != nil:
		return "error"
	case text(choice, "finish_reason") != "" || text(candidate, "finishReason") != "":
		return "finish"
	case text(choice, "delta", "role") != "":
		return "role"
	case choice == nil && candidate == nil && (at(value, "usage") != nil || at(value, "usageMetadata") != nil):
		return "usage"
	}
	return "part"
}

// compare compares an answer with a form.
func (f *form) compare(a answer) []Difference {
	var all differences
	for _, value := range a.values {
		if _, is := value.(map[string]any); !is {
			all.add(false, "the answer is %s and no object", typeOf(value))
		}
		walk("", value, func(node string, object map[string]any) bool { return f.compareObject(node, object, a.stream, &all) })
	}
	if a.stream {
		f.compareOrder(a.labels, &all)
	}
	return all
}

// compareObject compares one object, and says whether it is a known one.
func (f *form) compareObject(node string, object map[string]any, stream bool, all *differences) bool {
	want, seen := f.nodes[node]
	if !seen {
		switch inside := strings.HasPrefix(node, ".") || strings.Contains(node, ")."); {
		case inside && strings.HasSuffix(node, ")"):
			all.add(true, "%s is new (ignored)", place(node))
		case !inside && !stream: // new events are named with their order, new members with the object that has them
			names := slices.Sorted(maps.Keys(object))
			all.add(false, "the answer has another form: its members are %s", strings.Join(names, ", "))
		}
		return false
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		value, is := object[name]
		switch m := want[name]; {
		case !is && !m.optional:
			all.add(false, "%s is missing%s", place(node+"."+name), matters(node+"."+name))
		case is && !m.takes(value):
			all.add(false, "%s is %s, and was %s%s", place(node+"."+name), typeOf(value),
				strings.Join(slices.Sorted(maps.Keys(m.types)), " or "), matters(node+"."+name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if want[name] == nil {
			all.add(true, "new member %s (ignored)", place(node+"."+name))
		}
	}
	return true
}

// takes says whether a member may have a value: null where it may be missing, and anything where nothing but null is known.
func (m *member) takes(value any) bool {
	return m.types[typeOf(value)] || value == nil && m.optional || m.types["null"] && len(m.types) == 1
}

// compareOrder compares the order of events. Those that are not known are left out of it.
func (f *form) compareOrder(labels []string, all *differences) {
	events, last := map[string]bool{}, begin
	for _, label := range append(slices.Clone(labels), end) {
		if label != end && f.after[label] == nil {
			all.add(true, "event %s is new (ignored)", label)
			continue
		}
		events[label] = true
		if !f.after[last][label] {
			all.add(false, "%s follows %s%s", named(label), named(last), matters("event"))
		}
		last = label
	}
	for _, label := range slices.Sorted(maps.Keys(f.always)) {
		if !events[label] {
			all.add(false, "event %s is missing%s", label, matters("event"))
		}
	}
}

func named(event string) string {
	switch event {
	case begin:
		return "the beginning"
	case end:
		return "the end"
	}
	return "event " + event
}

// place is how a report names the place of a member.
func place(node string) string { return strings.TrimPrefix(node, ".") }

// matters says what depends on a member.
func matters(node string) string {
	of := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(node, p) })
	}
	switch {
	case of("usage", "tokens", "Tokens"):
		return ": tokens and costs depend on it"
	case of("error"):
		return ": what is tried again depends on it"
	case of("event"):
		return ": clients read streams by it"
	case of("tool", "function", "call"):
		return ": tool calls depend on it"
	case of("finish", "stop_reason", "status"):
		return ": how an answer ended depends on it"
	}
	return ": clients get it"
}

// differences are each named once.
type differences []Difference

func (d *differences) add(minor bool, format string, args ...any) {
	if one := (Difference{fmt.Sprintf(format, args...), minor}); !slices.Contains(*d, one) {
		*d = append(*d, one)
	}
}

// at is the value at a path of members and indices; nil where there is none.
func at(value any, path ...any) any {
	for _, step := range path {
		switch s := step.(type) {
		case string:
			object, _ := value.(map[string]any)
			value = object[s]
		case int:
			list, _ := value.([]any)
			if s >= len(list) {
				return nil
			}
			value = list[s]
		}
	}
	return value
}

func text(value any, path ...any) string {
	s, _ := at(value, path...).(string)
	return s
}

func number(value any, path ...any) int64 {
	n, _ := at(value, path...).(float64)
	return int64(n)
}

func list(value any, path ...any) []any {
	l, _ := at(value, path...).([]any)
	return l
}

// formOf names the form of an answer.
func formOf(provider, path string, status int, stream bool) string {
	name := "answer"
	for _, part := range [][2]string{
		{"/count_tokens", "count"}, {":countTokens", "count"}, {"/input_tokens", "count"}, {"/embeddings", "embeddings"},
		{"mbedContent", "embeddings"}, {"/chat/completions", "chat"}, {"/responses", "responses"}, {"/messages", "messages"},
		{"enerateContent", "content"}, {"/models", "models"},
	} {
		if strings.Contains(path, part[0]) {
			name = part[1]
			break
		}
	}
	switch {
	case status >= 400:
		name = "error"
	case stream:
		name += " stream"
	}
	return provider + " " + name
}
