package upstream

import "time"

// part is what one read of a body has returned.
type part struct {
	bytes []byte
	err   error
}

// unread says whether something of the part has not been read.
func (c *part) unread() bool { return len(c.bytes) > 0 || c.err != nil }

// read is io.Reader's, once for all of the part.
func (c *part) read(p []byte) (int, error) {
	n := copy(p, c.bytes)
	if c.bytes = c.bytes[n:]; len(c.bytes) > 0 {
		return n, nil
	}
	err := c.err
	c.err = nil
	return n, err
}

// Await waits until more of the body has come, for at most a time, and says whether it has:
// then Next waits for the rest of an event at most. It does not wait where a part of the next
// event has come already.
func (e *Events) Await(limit time.Duration) bool {
	if e.Buffered() || e.came.unread() {
		return true
	}
	if e.coming == nil {
		const most = 4 << 10 // as Go's HTTP transport reads at once
		coming := make(chan part, 1)
		e.coming = coming
		go func() {
			bytes := make([]byte, most)
			n, err := e.body.Read(bytes)
			coming <- part{bytes[:n], err}
		}()
	}
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case e.came = <-e.coming:
		e.coming = nil
		return true
	case <-late.C:
		return false
	}
}
