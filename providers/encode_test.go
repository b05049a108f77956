//go:build !race

package providers

import (
	"runtime"
	"strings"
	"testing"
)

func TestLongRequestsAreWrittenWithoutGrowing(t *testing.T) {
	type message struct {
		Text string `json:"text"`
	}
	for _, size := range []int{100, 4 << 20} {
		value := []message{{strings.Repeat("a", size/2)}, {strings.Repeat("\n", size/16)}}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		text, err := Encode(value, size)
		runtime.ReadMemStats(&after)
		want := `[{"text":"` + value[0].Text + `"},{"text":"` + strings.Repeat(`\n`, size/16) + `"}]`
		if err != nil || string(text) != want {
			t.Errorf("%d bytes: %.100s, %v", size, text, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > uint64(size)*7/4+64<<10 {
			t.Errorf("%d KiB were allocated for %d", took>>10, size>>10)
		}
	}
}
