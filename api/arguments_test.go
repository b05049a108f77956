package api

import (
	"strings"
	"testing"
)

func TestArgumentsTooManyValuesStayText(t *testing.T) {
	for values, object := range map[int]bool{maxArgumentValues - 1: true, maxArgumentValues + 2: false} {
		text := `{"a":[` + strings.TrimSuffix(strings.Repeat("0,", values-1), ",") + `]}`
		got := string(Arguments(text))
		if (got == text) != object || !object && !strings.HasPrefix(got, `{"_raw":"{\"a\":[0,`) {
			t.Errorf("%d values: %.40s", values, got)
		}
	}
}
