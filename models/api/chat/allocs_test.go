//go:build !race

package chat

import "testing"

// Times are noise on most machines; allocations are exact.
func TestAllocationsOfDecode(t *testing.T) {
	for _, tt := range []struct {
		name string
		body []byte
		most float64
	}{
		{"200 B", prompt(200), 6},
		{"32 KiB", prompt(32 << 10), 6},
		{"with a tool", []byte(with(`"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}],"tool_choice":"auto"`)),
			11},
	} {
		n := testing.AllocsPerRun(200, func() {
			if _, err := Decode(tt.body); err != nil {
				t.Fatal(err)
			}
		})
		t.Logf("%s: %v", tt.name, n)
		if n > tt.most {
			t.Errorf("%s: %v allocations, at most %v", tt.name, n, tt.most)
		}
	}
}

func TestAllocationsOfAWrittenChunk(t *testing.T) {
	text := "a piece of text"
	c := Chunk{ID: "1", Object: ObjectChunk, Created: 1, Model: "m", Choices: []ChunkChoice{{Delta: Delta{Content: &text}}}}
	var e ChunkEncoder
	buf := make([]byte, 0, 1<<10)
	if n := testing.AllocsPerRun(200, func() { buf, _ = e.Append(buf[:0], &c) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
