// Package captures puts words of the project into requests that were captured from agents: the
// vendors wrote their prompts and descriptions of tools. Structure, names, schemas, code, marks
// of a cache and all lengths stay.
package captures

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// simulated are the types of items that a model makes. In a capture the model is the simulator.
const simulated = " function_call custom_tool_call tool_use reasoning "

// rewrite puts other words into a capture, in place. A capture is the body of a request, or an
// object with one as its member body. What has been rewritten stays as it is.
func rewrite(capture []byte) error {
	var c struct{ Body json.RawMessage }
	if err := json.Unmarshal(capture, &c); err != nil {
		return err
	}
	body := capture
	if c.Body != nil {
		start := bytes.Index(capture, c.Body)
		body = capture[start : start+len(c.Body)]
	}
	ids := map[string]string{}
	return eachText(body, func(member string, text []byte) {
		if member == "definition" {
			rewriteGrammar(text)
		} else {
			rewriteText(text)
			rewriteLetters(text)
		}
		rewriteIDs(text, ids)
	})
}

// eachText visits the strings of a body as they stand in it, with the name of their member.
// It leaves out what the simulated model made, and values that a schema compares.
func eachText(body []byte, visit func(member string, text []byte)) error {
	d := jsontext.NewDecoder(bytes.NewReader(bytes.Clone(body)))
	for member := ""; ; {
		kind, before := d.PeekKind(), d.InputOffset()
		parent, length := d.StackIndex(d.StackDepth())
		isName := parent == jsontext.KindBeginObject && length%2 == 0
		switch {
		case kind == jsontext.KindInvalid:
			_, err := d.ReadToken()
			if err == io.EOF {
				return nil
			}
			return err
		case kind == jsontext.KindBeginObject && isSimulated(body[before:]),
			kind == jsontext.KindBeginArray && member == "enum", kind == jsontext.KindString && !isName && member == "const":
			if err := d.SkipValue(); err != nil {
				return err
			}
			member = ""
			continue
		}
		token, err := d.ReadToken()
		switch {
		case err != nil:
			return err
		case isName && kind == jsontext.KindString:
			member = token.String()
			continue
		case kind == jsontext.KindString:
			text := body[before:d.InputOffset()]
			visit(member, text[bytes.IndexByte(text, '"')+1:len(text)-1])
		}
		member = ""
	}
}

// isSimulated reports whether an object, behind what separates it from the last value, was
// made by the simulated model.
func isSimulated(object []byte) bool {
	var item struct{ Role, Type any }
	_ = json.NewDecoder(bytes.NewReader(bytes.TrimLeft(object, " \n\r\t,:"))).Decode(&item)
	kind, _ := item.Type.(string)
	return item.Role == "assistant" || kind != "" && strings.Contains(simulated, " "+kind+" ")
}

var (
	foreignID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{64}`)
	madeUpID  = regexp.MustCompile(`^(00000000-0000-4000-8000-.*|0+)$`)
)

// rewriteIDs makes up other names of machines, accounts and sessions: equal ones stay equal.
func rewriteIDs(text []byte, known map[string]string) {
	for _, at := range foreignID.FindAllIndex(text, -1) {
		id := string(text[at[0]:at[1]])
		if madeUpID.MatchString(id) {
			continue
		}
		if known[id] == "" {
			known[id] = fmt.Sprintf("00000000-0000-4000-8000-%012d", len(known)+1)
			if len(id) == 64 {
				known[id] = strings.Repeat("0", 64)
			}
		}
		copy(text[at[0]:], known[id])
	}
}

// grammar is one of any lines, as it stands in a string of JSON. Its last line is a comment.
const grammar = `start: line+\nline: /[^\\n]*/ LF\n\n%import common.LF\n\n// `

// rewriteGrammar puts a grammar in place of one.
func rewriteGrammar(text []byte) {
	if len(text) > len(grammar) {
		copy(text, grammar+(&prose{sentence: len(text)}).phrase(len(text)-len(grammar)))
	}
}

// phrase is where words follow each other without a mark between them.
type phrase struct{ start, end int }

var (
	plainWord = regexp.MustCompile(`^[A-Za-z]+([-'][A-Za-z]+)*$`)
	// headerOrTool is a word that names one.
	headerOrTool = regexp.MustCompile(`^x-|[a-z][A-Z]`)
	// task is a line that the project wrote: it tells the simulated model what to do.
	task   = regexp.MustCompile(`^"*(TASK|SCRIPT) `)
	upper  = regexp.MustCompile(`^[A-Z][^a-z]+$`)
	escape = regexp.MustCompile(`\\(u....|.)`)
)

// rewriteText puts words in place of those of a string of JSON, if it has more than one. The
// new words depend on the lengths and capitals of the phrases alone: a second time they are the
// same.
func rewriteText(text []byte) {
	var phrases []phrase
	words, offset, seed := 0, 0, 0
	for line := range strings.SplitAfterSeq(unescaped(text), "\n") {
		if !task.MatchString(line) {
			for _, p := range phrasesOf(line, &words) {
				phrases = append(phrases, phrase{offset + p.start, offset + p.end})
				seed = (seed*31 + p.end - p.start) % len(story)
			}
		}
		offset += len(line)
	}
	if words < 2 {
		return
	}
	stream := &prose{sentence: seed}
	for _, p := range phrases {
		old := text[p.start:p.end]
		isUpper, begins := upper.Match(old), old[0] < 'a'
		if begins {
			stream.begin()
		}
		copy(old, stream.phrase(len(old)))
		if isUpper {
			copy(old, bytes.ToUpper(old))
		} else if begins {
			old[0] -= 'a' - 'A'
		}
	}
}

// scripts are those of other languages, with the letters that take the place of others.
var scripts = map[*unicode.RangeTable][]rune{
	unicode.Hangul: []rune("바다하늘산강"), unicode.Han: []rune("山水日月木火"), unicode.Hiragana: []rune("あさひかり"),
	unicode.Katakana: []rune("サクラウミ"), unicode.Cyrillic: []rune("лодкаморе"),
}

// rewriteLetters puts other letters of the same script into a text.
func rewriteLetters(text []byte) {
	n := 0
	for at, old := range string(text) {
		for script, letters := range scripts {
			if now := letters[n%len(letters)]; unicode.Is(script, old) && utf8.RuneLen(now) == utf8.RuneLen(old) {
				utf8.EncodeRune(text[at:], now)
				n++
				break
			}
		}
	}
}

// unescaped is a string of JSON with marks of the same length in place of its escapes.
func unescaped(text []byte) string {
	return escape.ReplaceAllStringFunc(string(text), func(e string) string {
		mark := "\\"
		switch e[1] {
		case 'n', 'r':
			mark = "\n"
		case 't':
			mark = "\t"
		case '"':
			mark = `"`
		}
		return strings.Repeat(mark, len(e))
	})
}

var field = regexp.MustCompile(`[^ \t\n]+`)

// phrasesOf are those of a line. What looks like code, or is a name, belongs to none.
func phrasesOf(line string, words *int) (all []phrase) {
	open := false // the last phrase may go on
	for _, at := range field.FindAllStringIndex(line, -1) {
		whole := line[at[0]:at[1]]
		behind := strings.TrimLeft(whole, `"'([*“‘—`)
		core := strings.TrimRight(behind, `"')]*.,:;!?”’—…`)
		if !plainWord.MatchString(core) || headerOrTool.MatchString(core) {
			open = false
			continue
		}
		*words++
		p := phrase{at[0] + len(whole) - len(behind), at[0] + len(whole) - len(behind) + len(core)}
		if n := len(all); open && all[n-1].end+1 == p.start {
			all[n-1].end = p.end
		} else {
			all = append(all, p)
		}
		open = p.end == at[1]
	}
	return all
}
