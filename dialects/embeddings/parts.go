package embeddings

import (
	"sync"

	"modelgateway/internal/scan"
)

// Parts puts the parts of an answer together, each as soon as those before it have come, so
// that no part is held twice. Each has elements of data, separated by commas. It may be used
// on several goroutines.
type Parts struct {
	mu     sync.Mutex
	out    []byte
	parts  [][]byte // that wait for others before them
	came   []bool
	joined int
}

// NewParts is for an answer of n parts.
func NewParts(n int) *Parts { return &Parts{parts: make([][]byte, n), came: make([]bool, n)} }

// Len is the number of parts.
func (p *Parts) Len() int { return len(p.came) }

// Has reports whether part i has come.
func (p *Parts) Has(i int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.came[i]
}

const head, tail, usage = `{"object":"list","data":[`, `],"model":`, 96 // bytes of a model and the usage

// Add adds part i, whose memory it takes over.
func (p *Parts) Add(i int, part []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.out == nil { // the others are about as long
		all := len(p.came) * (len(part) + 1)
		p.out = append(make([]byte, 0, len(head)+all+all/64+len(tail)+usage), head...)
	}
	p.parts[i], p.came[i] = part, true
	for p.joined < len(p.came) && p.came[p.joined] {
		if p.joined > 0 {
			p.out = append(p.out, ',')
		}
		p.out = append(p.out, p.parts[p.joined]...)
		p.parts[p.joined] = nil
		p.joined++
	}
}

// Answer is the answer but for its usage, which AppendAnswer adds. All parts have come.
func (p *Parts) Answer(model string) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out = scan.AppendString(append(p.out, tail...), model)
	return p.out
}
