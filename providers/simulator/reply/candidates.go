package reply

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// candidates are the strings that a text offers: its names, which in most
// languages are the capitalised words inside a sentence, or else its beginning.
func candidates(question string) []string {
	var names []string
	words := strings.Fields(question)
	continues := false // the name of the word before
	for i, word := range words {
		bare := strings.TrimFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		first, size := utf8.DecodeRuneInString(bare)
		named := i > 0 && !strings.ContainsAny(words[i-1], ".!?:") && unicode.IsUpper(first) && len(bare) > size
		switch {
		case named && continues:
			names[len(names)-1] += " " + bare
		case named:
			names = append(names, bare)
		}
		continues = named && strings.HasSuffix(word, bare)
	}
	if len(names) > 0 {
		return names
	}
	start := strings.Join(words[:min(3, len(words))], " ")
	if start = strings.Trim(start, `"'.,;:!?`); start == "" {
		start = "simulated"
	}
	return []string{start}
}
