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

// watch ends a call whose upstream is silent for too long.
type watch struct {
	timer  *time.Timer
	cancel context.CancelFunc
	silent atomic.Bool
}

func newWatch(patience time.Duration, cancel context.CancelFunc) *watch {
	w := &watch{cancel: cancel}
	w.timer = time.AfterFunc(patience, w.giveUp)
	return w
}

func (w *watch) giveUp() {
	w.silent.Store(true)
	w.cancel()
}

func (w *watch) stop() { w.timer.Stop() }

// explain is the error of a call, which the watch may have ended.
func (w *watch) explain(err error) error {
	if err != nil && err != io.EOF && w.silent.Load() {
		return errSilent
	}
	return err
}

// body is an answer's. Its silence is watched while it is read, and only then:
// what the reader's own client does meanwhile is not the upstream's silence.
type body struct {
	src   io.ReadCloser
	size  int64 // bytes, or -1
	idle  time.Duration
	watch *watch
}

func (b *body) Read(p []byte) (int, error) {
	b.watch.timer.Reset(b.idle)
	n, err := b.src.Read(p)
	b.watch.stop()
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
		case err == io.EOF:
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
