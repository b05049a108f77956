package gemini

import (
	"runtime"
	"strings"
	"testing"
)

// A body counts a result as one text, so what it becomes as JSON is bounded here.
func TestResultOfTooManyValuesStaysText(t *testing.T) {
	for values, object := range map[int]bool{maxResultValues - 1: true, maxResultValues + 2: false} {
		text := `{"a":[` + strings.TrimSuffix(strings.Repeat("0,", values-1), ",") + `]}`
		got := string(result(text))
		if (got == text) != object || !object && !strings.HasPrefix(got, `{"output":"{\"a\":[0,`) {
			t.Errorf("%d values: %.40s", values, got)
		}
	}
	var names strings.Builder
	for i := range 1 << 20 {
		names.WriteString(`,"` + string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/26/26%26)) + string(rune('a'+i/26/26/26%60)) + `":0`)
	}
	text := `{` + names.String()[1:] + `}`
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	result(text)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > uint64(8*len(text)) {
		t.Errorf("%d KiB were allocated for %d", took>>10, len(text)>>10)
	}
}
