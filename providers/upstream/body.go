package upstream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"syscall"
	"time"
)

var (
	errTooLarge = errors.New("the answer is too long")
	errIdle     = errors.New("the upstream sent nothing within the time limit")
)

// setBody makes the pieces the body of a request.
func setBody(req *http.Request, pieces [][]byte) {
	req.ContentLength = 0
	for _, p := range pieces {
		req.ContentLength += int64(len(p))
	}
	// The transport calls it too, when it sends a request again.
	req.GetBody = func() (io.ReadCloser, error) {
		if len(pieces) == 1 {
			return io.NopCloser(bytes.NewReader(pieces[0])), nil
		}
		unread := net.Buffers(slices.Clone(pieces)) // reading it consumes its elements
		return io.NopCloser(&unread), nil
	}
	req.Body, _ = req.GetBody()
}

// unsent says whether a request failed while it was being written, so that the
// upstream cannot have processed it. This happens when the upstream closes an idle
// connection just as it is used again, and the request is larger than the socket
// buffer; the transport itself repeats only requests of which nothing was written.
func unsent(err error) bool {
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, net.ErrClosed) {
		return true
	}
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op != "read" && errors.Is(err, syscall.ECONNRESET)
}

// rewound is the request with its body from the beginning.
func rewound(req *http.Request) *http.Request {
	next := *req
	if req.GetBody != nil {
		next.Body, _ = req.GetBody() // set by setBody, and never fails
	}
	return &next
}

// watch is the idle timeout of a call. Reads are frequent, so they do not reset the
// timer: it computes the remaining time when it fires.
type watch struct {
	began   time.Time
	cancel  context.CancelFunc
	timer   *time.Timer
	limit   atomic.Int64 // nanoseconds
	waiting atomic.Int64 // start of the current wait, in nanoseconds after began; 0 = none
	expired atomic.Bool
	stopped atomic.Bool
}

// newWatch starts a watch that waits.
func newWatch(limit time.Duration, cancel context.CancelFunc) *watch {
	w := &watch{began: time.Now(), cancel: cancel}
	w.limit.Store(int64(limit))
	w.waiting.Store(1)
	w.timer = time.AfterFunc(time.Hour, w.check)
	w.timer.Reset(limit) // only now, since check uses w.timer
	return w
}

func (w *watch) wait() { w.waiting.Store(max(int64(time.Since(w.began)), 1)) }

// done ends the wait.
func (w *watch) done() { w.waiting.Store(0) }

// setLimit changes the limit of each wait.
func (w *watch) setLimit(limit time.Duration) {
	w.limit.Store(int64(limit))
	w.timer.Reset(limit)
}

func (w *watch) stop() {
	w.stopped.Store(true)
	w.timer.Stop()
}

func (w *watch) check() {
	if w.stopped.Load() {
		return
	}
	left := time.Duration(w.limit.Load())
	if since := w.waiting.Load(); since != 0 {
		left -= time.Since(w.began) - time.Duration(since)
	}
	if left > 0 {
		w.timer.Reset(left)
		return
	}
	w.expired.Store(true)
	w.cancel()
}

// explain replaces the error of a call that the watch cancelled.
func (w *watch) explain(err error) error {
	if err != nil && !errors.Is(err, io.EOF) && w.expired.Load() {
		return errIdle
	}
	return err
}

// body is the body of an answer. The idle timeout runs only during a Read: the time
// between reads is the client's, not the upstream's.
type body struct {
	src   io.ReadCloser
	size  int64  // bytes, or -1
	other bool   // its header does not say that it is an event stream
	head  []byte // read already
	watch *watch
	in    atomic.Pointer[lane] // nil: it is left
}

func (b *body) Read(p []byte) (int, error) {
	if len(b.head) > 0 {
		n := copy(p, b.head)
		b.head = b.head[n:]
		return n, nil
	}
	b.watch.wait()
	n, err := b.src.Read(p)
	b.watch.done()
	return n, b.watch.explain(err)
}

// isObject waits for the first byte that is no space, and reports whether it
// begins an object. The bytes are read again.
func (b *body) isObject() (bool, error) {
	head := make([]byte, 0, 512)
	for len(head) < cap(head) {
		n, err := b.Read(head[len(head):cap(head)])
		head = head[:len(head)+n]
		if text := bytes.TrimLeft(head, " \t\r\n"); len(text) > 0 || err != nil {
			b.head = head
			if errors.Is(err, io.EOF) {
				err = nil // the next read returns it
			}
			return len(text) > 0 && text[0] == '{', err
		}
	}
	b.head = head
	return false, nil
}

// all reads the whole body, of at most MaxAnswer bytes.
func (b *body) all() ([]byte, error) {
	const first, maxFirst = 4 << 10, 1 << 20 // of the buffer; a false Content-Length must not cost more memory
	size := int64(first)
	if b.size >= 0 {
		size = min(b.size, maxFirst) + 1 // so that io.EOF is read without growing the buffer
	}
	text := make([]byte, 0, size)
	for {
		n, err := b.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		switch {
		case len(text) > MaxAnswer:
			return nil, errTooLarge
		case errors.Is(err, io.EOF):
			return text, nil
		case err != nil:
			return nil, err
		}
		if len(text) == cap(text) {
			text = b.grown(text)
		}
	}
}

// boundedReader reads at most so many bytes, and keeps the error with which it failed.
type boundedReader struct {
	from io.Reader
	left int
	err  error
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.from.Read(p)
	if b.left -= n; b.left < 0 {
		err = errTooLarge
	}
	if err != nil && !errors.Is(err, io.EOF) {
		b.err = err
	}
	return n, err
}

// grown is a full buffer with more room: twice as much, or as much as was announced where
// that is at most four times what has come.
func (b *body) grown(text []byte) []byte {
	room := 2 * int64(cap(text))
	if b.size >= int64(len(text)) {
		room = min(b.size+1, 2*room)
	}
	room = max(min(room, MaxAnswer+1), int64(len(text))+1)
	return append(make([]byte, 0, room), text...)
}

// Close cancels the call before it closes the body, so that it does not wait for
// the unread part.
func (b *body) Close() error {
	b.watch.stop()
	b.watch.cancel()
	if in := b.in.Swap(nil); in != nil {
		in.leave()
	}
	return b.src.Close()
}
