package jsonbytes

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestTextOfAValue(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`"a"`: "a", `""`: "", `"a\n\u00e9\ud83d\ude00\/"`: "a\né😀/", `"\ud83d"`: "\ufffd", "\"a\xffb\"": "a\ufffdb", "\"\\n\xff\"": "\n\ufffd",
		`1`: "", `null`: "", `["a"]`: "", ``: "", `"`: "",
	} {
		if got := Text(jsontext.Value(value)); got != want {
			t.Errorf("%s: %q, not %q", value, got, want)
		}
	}
}

// Texts are decoded in buffers that all requests share: each is kept by its own caller.
func TestTextsOfManyCallersAreTheirOwn(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	for caller := range 8 {
		wg.Go(func() {
			var kept []string
			for i := range 200 {
				kept = append(kept, Text(jsontext.Value(fmt.Sprintf(`"%d\n%s"`, i, strings.Repeat(fmt.Sprint(caller), i*97)))))
			}
			for i, text := range kept {
				if want := fmt.Sprintf("%d\n%s", i, strings.Repeat(fmt.Sprint(caller), i*97)); text != want {
					t.Errorf("%.50q, not %.50q", text, want)
				}
			}
		})
	}
	wg.Wait()
}
