package main

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

// filler makes text of at most some size.
type filler func(size int) string

// filled repeats a text.
func filled(unit string) filler {
	return func(size int) string { return strings.Repeat(unit, max(size, 0)/len(unit)) }
}

// repeated repeats an element, with commas between.
func repeated(element string) filler {
	return func(size int) string {
		return strings.TrimSuffix(strings.Repeat(element+",", max(size, 0)/(len(element)+1)), ",")
	}
}

// named repeats an element in which %s is a name of its own.
func named(element string) filler {
	return func(size int) string {
		before, after, _ := strings.Cut(element, "%s")
		var b strings.Builder
		b.Grow(size)
		for i := 0; b.Len()+len(element)+8 < size; i++ {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(before + strconv.FormatInt(int64(i), 36) + after)
		}
		return b.String()
	}
}

// spread is n elements, each of which has its part of the size in its middle.
func spread(n int, before, fill, after string) filler {
	return func(size int) string {
		each := size/n - len(before) - len(after) - 1
		return repeated(before + strings.Repeat(fill, max(each, 1)) + after)(n * (len(before) + len(after) + max(each, 1) + 1))
	}
}

// deepSchemas are properties, each of which is nested in others.
func deepSchemas(size int) string {
	const depth = 20
	deep := strings.Repeat(`{"type":"object","properties":{"a":`, depth) + `{}` + strings.Repeat(`}}`, depth)
	return named(`"%s":` + deep)(size)
}

func between(head string, fill filler, tail string, size int) string {
	return head + fill(size-len(head)-len(tail)) + tail
}

// top is a request without messages of its own.
func top(before string, fill filler, after string) func(string, int) string {
	return func(model string, size int) string {
		return between(`{"model":"`+model+`",`+before, fill, after+`}`, size)
	}
}

// tools is a request of one message with a further member.
func tools(before string, fill filler, after string) func(string, int) string {
	return top(`"messages":[{"role":"user","content":"a"}],`+before, fill, after)
}

func inMessage(before string, fill filler, after string) func(string, int) string {
	return top(`"messages":[{`+before, fill, after+`}]`)
}

func message(fill filler) func(string, int) string {
	return inMessage(`"role":"user","content":"`, fill, `"`)
}

func schema(before string, fill filler, after string) func(string, int) string {
	return tools(`"tools":[{"type":"function","function":{"name":"f","strict":true,"parameters":{`+before, fill, after+`}}}]`)
}

func format(before string, fill filler, after string) func(string, int) string {
	return tools(`"response_format":{"type":"json_schema","json_schema":{"name":"f","schema":{`+before, fill, after+`}}}`)
}

// messages is a request of messages with n elements each. %s in an element is a
// name of its own.
func messages(before string, n int, element, after string) func(string, int) string {
	return top(`"messages":[`, func(size int) string {
		var b strings.Builder
		for next := 0; b.Len() < size-n*(len(element)+8)-len(before)-len(after); {
			if b.Len() > 0 {
				b.WriteByte(',')
			}
			b.WriteString(before)
			for i := range n {
				if i > 0 || !strings.HasSuffix(before, "[") {
					b.WriteByte(',')
				}
				b.WriteString(strings.Replace(element, "%s", strconv.FormatInt(int64(next), 36), 1))
				next++
			}
			b.WriteString(after)
		}
		return b.String()
	}, `]`)
}

// assistant is a request of messages of the model with n elements each.
func assistant(before string, n int, element string) func(string, int) string {
	return messages(`{"role":"user","content":"a"},{"role":"assistant",`+before, n, element, `]}`)
}

// callsWithResults is a conversation of a thousand calls a turn, and their results.
func callsWithResults(model string, size int) string {
	const each = 1000
	var turn strings.Builder
	turn.WriteString(`,{"role":"assistant","tool_calls":[`)
	for i := range each {
		if i > 0 {
			turn.WriteByte(',')
		}
		fmt.Fprintf(&turn, `{"id":"c%d","type":"function","function":{"name":"f","arguments":"{}"}}`, i)
	}
	turn.WriteString(`]}`)
	for i := range each {
		fmt.Fprintf(&turn, `,{"role":"tool","tool_call_id":"c%d","content":"a"}`, i)
	}
	turns := min(9, max(1, size/turn.Len())) // 10,000 messages
	padding := strings.Repeat("a", max(0, size-turns*turn.Len()-100))
	return `{"model":"` + model + `","messages":[{"role":"user","content":"` + padding + `"}` + strings.Repeat(turn.String(), turns) + `]}`
}

// escaped repeats an element in a JSON text that is itself a string.
func escaped(first, next string) filler {
	return func(size int) string {
		if !strings.Contains(next, "%s") {
			return first + strings.Repeat(next, max(0, size-len(first))/len(next))
		}
		var b strings.Builder
		element := first
		for i := 0; b.Len()+len(next)+8 < size; i++ {
			before, after, _ := strings.Cut(element, "%s")
			b.WriteString(before + strconv.FormatInt(int64(i), 36) + after)
			element = next
		}
		return b.String()
	}
}

const call = `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"`

func arguments(first, next, last string) func(string, int) string {
	return top(`"messages":[{"role":"user","content":"a"},`+call, escaped(first, next),
		last+`"}}]},{"role":"tool","tool_call_id":"a","content":"b"}]`)
}

func result(first, next, last string) func(string, int) string {
	return top(`"messages":[{"role":"user","content":"a"},`+call+`{}"}}]},{"role":"tool","tool_call_id":"a","content":"`,
		escaped(first, next), last+`"}]`)
}

func resultParts(model string, size int) string {
	return top(`"messages":[{"role":"user","content":"a"},`+call+`{}"}}]},{"role":"tool","tool_call_id":"a","content":[`,
		spread(1000, `{"type":"text","text":"`, "a", `"}`), `]}]`)(model, size)
}

// packedID is a call whose id brings details of reasoning back, as many as fit.
func packedID(model string, size int) string {
	details := "[" + repeated("{}")((size-300)/4*3) + "]"
	id := "a__mgw1_" + base64.RawURLEncoding.EncodeToString([]byte(details))
	return `{"model":"` + model + `","messages":[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"` + id +
		`","type":"function","function":{"name":"f","arguments":"{}"}}]}]}`
}
