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
	errTooLarge = errors.New("the answer is longer than 32 MiB")
	errSilent   = errors.New("the upstream fell silent")
)

// carry makes pieces the body of a request.
func carry(req *http.Request, pieces [][]byte) {
	req.ContentLength = 0
	for _, p := range pieces {
		req.ContentLength += int64(len(p))
	}
	// Also called when the transport sends a request again.
	req.GetBody = func() (io.ReadCloser, error) {
		if len(pieces) == 1 {
			return io.NopCloser(bytes.NewReader(pieces[0])), nil
		}
		unread := net.Buffers(slices.Clone(pieces)) // it forgets what has been read
		return io.NopCloser(&unread), nil
	}
	req.Body, _ = req.GetBody()
}

// unsent says whether a request broke off while it was being written: the
// upstream closed the connection before it had all of it, and has not begun. That
// is how a kept connection ends that is closed just as it is used again, where
// the request is larger than what the kernel takes at once; the transport itself
// sends again only what it has not begun to write.
func unsent(err error) bool {
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, net.ErrClosed) {
		return true
	}
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op != "read" && errors.Is(err, syscall.ECONNRESET)
}

// again is the request with its body from the beginning.
func again(req *http.Request) *http.Request {
	next := *req
	if req.GetBody != nil {
		next.Body, _ = req.GetBody() // carry's, which does not fail
	}
	return &next
}

// watch ends a call whose upstream is silent for too long. Its timer is not set
// anew each time something is waited for, which is often; it looks at the time
// when it comes.
type watch struct {
	began    time.Time
	cancel   context.CancelFunc
	timer    *time.Timer
	patience atomic.Int64 // nanoseconds
	waiting  atomic.Int64 // since when, in nanoseconds after began; 0 = for nothing
	silent   atomic.Bool
	over     atomic.Bool
}

// newWatch begins to wait.
func newWatch(patience time.Duration, cancel context.CancelFunc) *watch {
	w := &watch{began: time.Now(), cancel: cancel}
	w.patience.Store(int64(patience))
	w.waiting.Store(1)
	w.timer = time.AfterFunc(time.Hour, w.look)
	w.timer.Reset(patience) // only now may look come, which needs it
	return w
}

func (w *watch) wait() { w.waiting.Store(max(int64(time.Since(w.began)), 1)) }

// rest is the end of waiting.
func (w *watch) rest() { w.waiting.Store(0) }

// allow sets how long is waited from now on.
func (w *watch) allow(patience time.Duration) {
	w.patience.Store(int64(patience))
	w.timer.Reset(patience)
}

func (w *watch) stop() {
	w.over.Store(true)
	w.timer.Stop()
}

func (w *watch) look() {
	if w.over.Load() {
		return
	}
	left := time.Duration(w.patience.Load())
	if since := w.waiting.Load(); since != 0 {
		left -= time.Since(w.began) - time.Duration(since)
	}
	if left > 0 {
		w.timer.Reset(left)
		return
	}
	w.silent.Store(true)
	w.cancel()
}

// explain is the error of a call, which the watch may have ended.
func (w *watch) explain(err error) error {
	if err != nil && !errors.Is(err, io.EOF) && w.silent.Load() {
		return errSilent
	}
	return err
}

// body is an answer's. Its silence is watched while it is read, and only then:
// what the reader's own client does meanwhile is not the upstream's silence.
type body struct {
	src   io.ReadCloser
	size  int64 // bytes, or -1
	watch *watch
}

func (b *body) Read(p []byte) (int, error) {
	b.watch.wait()
	n, err := b.src.Read(p)
	b.watch.rest()
	return n, b.watch.explain(err)
}

// all reads the whole body, of at most MaxAnswer bytes.
func (b *body) all() ([]byte, error) {
	const first, most = 4 << 10, 1 << 20 // an upstream's word is not believed beyond that
	size := int64(first)
	if b.size >= 0 {
		size = min(b.size, most) + 1 // that the end is seen without growing
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
			text = append(text, 0)[:len(text)]
		}
	}
}

// Close cancels the call before it closes the body, so that an unread rest is
// not waited for.
func (b *body) Close() error {
	b.watch.stop()
	b.watch.cancel()
	return b.src.Close()
}
