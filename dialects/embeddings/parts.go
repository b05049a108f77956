package embeddings

import (
	"sync"

	"modelgateway/internal/jsonbytes"
)

// vectors puts the parts of an answer together, each as soon as those before it have come, so
// that no part is held twice. Each has elements of data, separated by commas.
type vectors struct {
	base64 bool

	mu     sync.Mutex
	out    []byte
	parts  [][]byte // that wait for others before them
	came   []bool
	joined int
}

// Has reports whether part i has come.
func (v *vectors) Has(i int) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.came[i]
}

const head, tail, usage = `{"object":"list","data":[`, `],"model":`, 96 // bytes of a model and the usage

// Add adds part i, whose memory it takes over.
func (v *vectors) Add(i int, part []byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.out == nil { // the others are about as long
		all := len(v.came) * (len(part) + 1)
		v.out = append(make([]byte, 0, len(head)+all+all/64+len(tail)+usage), head...)
	}
	v.parts[i], v.came[i] = part, true
	for v.joined < len(v.came) && v.came[v.joined] {
		if v.joined > 0 {
			v.out = append(v.out, ',')
		}
		v.out = append(v.out, v.parts[v.joined]...)
		v.parts[v.joined] = nil
		v.joined++
	}
}

// Answer is the answer but for its usage, which AppendAnswer adds. All parts have come.
func (v *vectors) Answer(model string) []byte {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.out = jsonbytes.AppendString(append(v.out, tail...), model)
	return v.out
}
