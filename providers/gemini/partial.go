package gemini

import (
	"errors"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

var errPartial = errors.New("a part of a function call cannot be read")

// pendingCall is a function call of which parts are missing.
type pendingCall struct {
	id, name  string
	signature string
	args      argument
}

// continuedBy says whether a part belongs to the call: it has no name, or the call's own id.
func (p *pendingCall) continuedBy(f *functionCall) bool {
	return f.Name == "" || f.ID != "" && f.ID == p.id
}

// add adds a part. Its arguments are whole ones, or fragments of some of them.
func (p *pendingCall) add(f *functionCall, signed string) error {
	if p.id == "" {
		p.id = f.ID
	}
	if p.signature == "" {
		p.signature = signed
	}
	if len(f.Args) > 0 && f.Args.Kind() != jsontext.KindNull {
		for _, m := range members(f.Args) {
			at, err := p.args.member(m.name)
			if err != nil {
				return err
			}
			*at = argument{kind: argumentRaw, text: m.value}
		}
	}
	for _, text := range f.PartialArgs {
		if err := p.args.fragment(text); err != nil {
			return err
		}
	}
	return nil
}

// flushCall emits the call, with what has come of its arguments.
func (s *stream) flushCall(c *choice) bool {
	p := c.pending
	c.pending = nil
	args := jsontext.Value("{}")
	if p.args.kind != argumentNone {
		args = p.args.append(nil)
	}
	return s.call(c, &functionCall{ID: p.id, Name: p.name, Args: args}, p.signature)
}

type argumentKind int

const (
	argumentNone   argumentKind = iota
	argumentRaw                 // text is JSON
	argumentText                // text is a string, without quotes and escapes
	argumentObject              // names and members
	argumentArray               // elements
)

// argument is a value that is put together from its parts.
type argument struct {
	kind     argumentKind
	text     []byte
	names    []string // in their order
	members  map[string]*argument
	elements []*argument
}

// fragment adds a PartialArg: the JSONPath of a value, and the value. That of a string may
// be a fragment, which goes on with the next of the same path.
func (a *argument) fragment(text jsontext.Value) error {
	var f struct {
		Path   string         `json:"jsonPath"`
		Text   *string        `json:"stringValue"`
		Number jsontext.Value `json:"numberValue"`
		Bool   *bool          `json:"boolValue"`
		Null   jsontext.Value `json:"nullValue"`
	}
	if json.Unmarshal(text, &f, lenient) != nil {
		return errPartial
	}
	at, err := a.at(f.Path)
	switch {
	case err != nil:
		return err
	case f.Text != nil && (at.kind == argumentNone || at.kind == argumentText):
		at.kind, at.text = argumentText, append(at.text, *f.Text...)
	case at.kind == argumentObject || at.kind == argumentArray, f.Text != nil:
		return errPartial // the path of a value inside it has come before
	case len(f.Number) > 0:
		*at = argument{kind: argumentRaw, text: f.Number}
	case f.Bool != nil:
		*at = argument{kind: argumentRaw, text: strconv.AppendBool(nil, *f.Bool)}
	case len(f.Null) > 0:
		*at = argument{kind: argumentRaw, text: []byte("null")}
	}
	return nil
}

// at is the value of a path such as $.a['b'][0].
func (a *argument) at(path string) (*argument, error) {
	const maxDepth = 100
	rest, ok := strings.CutPrefix(path, "$")
	for range maxDepth {
		if rest == "" || !ok {
			break
		}
		var step string
		var number bool
		if step, rest, number, ok = pathStep(rest); !ok {
			break
		}
		var err error
		if number {
			a, err = a.element(step)
		} else {
			a, err = a.member(step)
		}
		if err != nil {
			return nil, err
		}
	}
	if rest != "" || !ok {
		return nil, errPartial
	}
	return a, nil
}

// pathStep cuts the first step off a path: .name, ['name'], ["name"] or [number].
func pathStep(path string) (step, rest string, number, ok bool) {
	if name, found := strings.CutPrefix(path, "."); found {
		end := strings.IndexAny(name, ".[")
		if end < 0 {
			end = len(name)
		}
		return name[:end], name[end:], false, end > 0
	}
	inner, found := strings.CutPrefix(path, "[")
	if !found || inner == "" {
		return "", "", false, false
	}
	if quote := inner[:1]; quote == "'" || quote == `"` {
		step, rest, ok = strings.Cut(inner[1:], quote+"]")
		return step, rest, false, ok
	}
	step, rest, ok = strings.Cut(inner, "]")
	return step, rest, true, ok
}

// member is a member of an object, which is added if it is missing.
func (a *argument) member(name string) (*argument, error) {
	if a.kind == argumentRaw && jsontext.Value(a.text).Kind() == jsontext.KindBeginObject {
		object := members(a.text)
		*a = argument{}
		for _, m := range object {
			if at, err := a.member(m.name); err == nil {
				*at = argument{kind: argumentRaw, text: m.value}
			}
		}
		a.kind = argumentObject
	}
	if a.kind == argumentNone {
		a.kind = argumentObject
	}
	if a.kind != argumentObject {
		return nil, errPartial
	}
	if at, ok := a.members[name]; ok {
		return at, nil
	}
	if a.members == nil {
		a.members = map[string]*argument{}
	}
	at := new(argument)
	a.names, a.members[name] = append(a.names, name), at
	return at, nil
}

// element is an element of an array; the one after the last is added.
func (a *argument) element(number string) (*argument, error) {
	if a.kind == argumentRaw && jsontext.Value(a.text).Kind() == jsontext.KindBeginArray {
		array := elements(a.text)
		*a = argument{kind: argumentArray}
		for _, value := range array {
			a.elements = append(a.elements, &argument{kind: argumentRaw, text: value})
		}
	}
	if a.kind == argumentNone {
		a.kind = argumentArray
	}
	i, err := strconv.Atoi(number)
	if a.kind != argumentArray || err != nil || i < 0 || i > len(a.elements) {
		return nil, errPartial
	}
	if i == len(a.elements) {
		a.elements = append(a.elements, new(argument))
	}
	return a.elements[i], nil
}

// append adds the JSON of the value to dst.
func (a *argument) append(dst []byte) []byte {
	switch a.kind {
	case argumentRaw:
		return append(dst, a.text...)
	case argumentText:
		return append(dst, quote(string(a.text))...)
	case argumentObject:
		dst = append(dst, '{')
		for i, name := range a.names {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = a.members[name].append(append(append(dst, quote(name)...), ':'))
		}
		return append(dst, '}')
	case argumentArray:
		dst = append(dst, '[')
		for i, element := range a.elements {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = element.append(dst)
		}
		return append(dst, ']')
	}
	return append(dst, "null"...)
}
