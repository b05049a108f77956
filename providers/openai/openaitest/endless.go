package openaitest

// Endless is a text again and again.
type Endless struct {
	Text string
	at   int
}

// Read goes on in the text.
func (e *Endless) Read(p []byte) (int, error) {
	n := copy(p, e.Text[e.at:])
	e.at = (e.at + n) % len(e.Text)
	return n, nil
}
