package litellm

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// oneLine is a text for a comment.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// variableName is a name that the models file takes for a variable.
func variableName(name string) string {
	name = strings.Trim(notInVariable.ReplaceAllString(strings.ToUpper(name), "_"), "_")
	if !variable.MatchString(name) {
		name = "LITELLM_" + name
	}
	return name
}

var (
	variable      = regexp.MustCompile(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$`)
	notInVariable = regexp.MustCompile(`[^A-Z0-9]+`)
)

func text(value any) string {
	text, _ := value.(string)
	return text
}

// number is a number, also one that stands there as a text.
func number(value any) (float64, bool) {
	n, err := strconv.ParseFloat(fmt.Sprint(value), 64)
	return n, err == nil
}

func decimal(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// whole is a number without its fraction; 0 where there is none above 0.
func whole(value any) int64 {
	n, _ := number(value)
	return max(0, int64(n))
}

// items are those of a list that have a type, or one alone.
func items[T any](value any) (all []T) {
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	for _, item := range list {
		if of, ok := item.(T); ok {
			all = append(all, of)
		}
	}
	return all
}

// empty says whether a member says nothing.
func empty(value any) bool {
	shown, _ := json.Marshal(value)
	return slices.Contains([]string{"", "null", "false", `""`, "[]", "{}"}, string(shown))
}

// object adds the members of a column with an object, or with the text of one.
func object(column jsontext.Value, to map[string]any) map[string]any {
	var again string
	if json.Unmarshal(column, &again) == nil {
		column = jsontext.Value(again)
	}
	_ = json.Unmarshal(column, &to) // a column without one says nothing
	return to
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
