package config

import (
	"maps"
	"slices"
	"strings"
)

// knownNames is every name that is read.
func knownNames() []string {
	var names []string
	for _, s := range Settings() {
		names = append(names, s.Name)
		if s.Secret {
			names = append(names, s.Name+"_FILE")
		}
	}
	return names
}

// misspelt reports names that are not ours but were probably meant to be: a
// REQUIRE_ATUH=true that is passed over would leave the gateway open.
func (l *loader) misspelt(sources ...map[string]string) {
	given := make(map[string]bool)
	for _, source := range sources {
		for name := range source {
			given[name] = true
		}
	}
	known := knownNames()
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if slices.Contains(known, name) || slices.Contains(foreignNames, name) {
			continue
		}
		if meant := nearest(name, known); meant != "" {
			l.fault("%s is not a setting; did you mean %s?", oneLine(name), meant)
		}
	}
}

const (
	nearEnough = 2 // edits between a name and what was meant
	tooShort   = 8 // names of fewer characters are near everything
)

// nearest is the known name that the name may be a misspelling of, or "".
func nearest(name string, known []string) string {
	meant, best, upper := "", nearEnough+1, strings.ToUpper(name)
	for _, candidate := range known {
		if strings.EqualFold(name, candidate) {
			return candidate
		}
		if len(name) < tooShort || len(candidate) < tooShort || otherName(upper, candidate) {
			continue
		}
		d := nameDistance(upper, candidate)
		if cutShort(upper, candidate) {
			d = 0
		}
		if d < best {
			meant, best = candidate, d
		}
	}
	return meant
}

// cutShort reports names whose last words are missing, as in MAX_BUDGET=5, which
// would leave the budget open. One word alone may be anybody's.
func cutShort(name, known string) bool {
	return strings.Contains(name, "_") && strings.HasPrefix(known, name+"_")
}

// otherName reports names that are close by accident: another program's, as
// DD_LOG_LEVEL is, and those in which a short word is another word, as in
// REDIS_SSL.
func otherName(name, known string) bool {
	if strings.HasSuffix(name, "_"+known) {
		return true
	}
	words, knownWords := strings.Split(name, "_"), strings.Split(known, "_")
	if len(words) != len(knownWords) {
		return false
	}
	for i, word := range knownWords {
		if len(word) <= 3 && distance(words[i], word) > 1 {
			return true
		}
	}
	return false
}

// nameDistance counts the edits between two names, with or without their
// underscores, whichever is less.
func nameDistance(a, b string) int {
	bareA, bareB := strings.ReplaceAll(a, "_", ""), strings.ReplaceAll(b, "_", "")
	return min(distance(a, b), distance(bareA, bareB))
}

// distance is the Damerau-Levenshtein distance in its restricted form: how many
// bytes to insert, drop or replace, or neighbours to swap. Lengths that differ
// by more than nearEnough are reported as far, uncounted.
func distance(a, b string) int {
	if diff := len(a) - len(b); diff > nearEnough || -diff > nearEnough {
		return nearEnough + 1
	}
	var before []int // the row two above
	above := make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(above[j]+cost, above[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, above = above, row
	}
	return above[len(b)]
}

// foreignNames are well-known variables of other programs that are near ours.
var foreignNames = []string{
	"EMULATOR", "RATE_LIMIT",
	"GENAI_API_KEY",                      // IBM watsonx, Google's older SDK
	"IAP_CLIENT_ID", "IAP_CLIENT_SECRET", // Google Identity-Aware Proxy
	"ADP_CLIENT_ID", "ADP_CLIENT_SECRET",
}
