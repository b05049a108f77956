package config

import (
	"math"
	"regexp"
	"strings"
	"unicode"
)

// fewestBits is what a signing secret is worth at least, as guessBits estimates it. 32
// random decimal digits have 106.
const fewestBits = 100

// How many random bits something is worth.
const (
	wordBits   = 10 // a word
	commonBits = 7  // one of commonWords
	letterBits = 4.7
	digitBits  = 3.3
)

// longestWord is in letters: more of them are several words, or random.
const longestWord = 12

var (
	word        = regexp.MustCompile(`^([A-Z]?[a-z]+|[A-Z]+|[A-Za-z]{13,})([0-9]{0,4})[!?:;]?$`)
	hexadecimal = regexp.MustCompile(`^[0-9a-f-]*[0-9][0-9a-f-]*$`)
	// commonWords are those of which people make secrets. Random letters hardly have them.
	commonWords = regexp.MustCompile(`(?i)secret|token|password|random|string|signing|private|production|gateway|super|this|that|very|long|` +
		`with|your|jwt|key|for|the|and`)
)

// guessBits estimates how many random bits a secret is worth to a person who guesses it:
// words, also without spaces between them, are worth less than their letters.
func guessBits(secret string) int {
	if hexadecimal.MatchString(secret) { // as a UUID, whose parts can look like words
		return 4 * len(strings.ReplaceAll(secret, "-", ""))
	}
	bits := 0.0
	for part := range strings.FieldsFuncSeq(secret, func(r rune) bool { return strings.ContainsRune(" -_.,", r) }) {
		if w := word.FindStringSubmatch(part); w != nil {
			bits += lettersBits(w[1]) + float64(len(w[2]))*digitBits
		} else {
			bits += float64(len(part)) * math.Log2(alphabet(part))
		}
	}
	return int(bits)
}

func lettersBits(letters string) float64 {
	if len(letters) <= longestWord {
		return min(wordBits, float64(len(letters))*letterBits)
	}
	common, rest := commonWords.FindAllString(letters, -1), commonWords.ReplaceAllString(letters, "")
	return float64(len(rest))*letterBits + float64(len(common))*commonBits
}

// alphabet is the number of characters of the kinds that a text has.
func alphabet(text string) (size float64) {
	for _, kind := range []struct {
		size float64
		has  func(rune) bool
	}{
		{10, func(r rune) bool { return r >= '0' && r <= '9' }}, {26, func(r rune) bool { return r >= 'a' && r <= 'z' }},
		{26, func(r rune) bool { return r >= 'A' && r <= 'Z' }}, {32, unicode.IsPunct},
		{64, func(r rune) bool { return r > unicode.MaxASCII }},
	} {
		if strings.ContainsFunc(text, kind.has) {
			size += kind.size
		}
	}
	return max(size, 2)
}
