package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// The server pauses once, for the time of two hundred calls. A generator that
// waits for it would report one slow call.
func TestOpenLoopChargesAStallToAllDelayedCalls(t *testing.T) {
	const perSecond, length, stall = 500, time.Second, 400 * time.Millisecond
	w := openAIWire()
	var one sync.Mutex // it serves one after the other
	served := 0
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		one.Lock()
		defer one.Unlock()
		if served++; served == 100 {
			time.Sleep(stall)
		}
		_, _ = out.Write(w.answer)
	}))
	defer server.Close()
	transport := newTransport()
	defer transport.CloseIdleConnections()
	transport.MaxConnsPerHost = 64 // a call without a connection waits too, and is charged
	var bad faults
	c := newCaller(transport, target{base: server.URL}, job{model: openAIModel})
	took := openLoop(t.Context(), c, perSecond, length, &bad)
	if bad.total() > 0 || len(took) != perSecond {
		t.Fatalf("%d calls, %q", len(took), bad.messages)
	}
	slow := 0
	for _, d := range took {
		if d > stall/4 {
			slow++
		}
	}
	// 3/4 of the calls that were due during the pause waited this long.
	if want := int(stall.Seconds()*perSecond) * 3 / 4; slow < want*9/10 {
		t.Errorf("%d slow calls, at least %d have waited", slow, want)
	}
	slices.Sort(took)
	if worst := took[len(took)-1]; worst < stall {
		t.Errorf("the worst was %v", worst)
	}
}

// always answers without a network.
type always []byte

func (a always) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(a))}, nil
}

// More calls are due than can be started, so that the generator itself is late:
// that is waiting time as well.
func TestOpenLoopMeasuresFromWhenACallWasDue(t *testing.T) {
	const perSecond, length = 100_000_000, 200 * time.Microsecond
	var bad faults
	c := newCaller(always(openAIWire().answer), target{}, job{model: openAIModel})
	begun := time.Now()
	took := openLoop(t.Context(), c, perSecond, length, &bad)
	late := time.Since(begun) - length
	if bad.total() > 0 || len(took) != 20_000 || late < length/4 {
		t.Fatalf("%d calls, %v late, %q", len(took), late, bad.messages)
	}
	if worst := slices.Max(took); worst < late/2 {
		t.Errorf("it was %v late, and the slowest call took %v", late, worst)
	}
}

func TestOpenLoopHasNoLatencyForFailures(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	var bad faults
	c := newCaller(newTransport(), target{base: server.URL}, job{model: openAIModel})
	if took := openLoop(t.Context(), c, 100, 100*time.Millisecond, &bad); len(took) != 0 || bad.total() != 10 {
		t.Errorf("%d latencies, %d failures", len(took), bad.total())
	}
}

func TestPercentilesAreValuesThatOccurred(t *testing.T) {
	var values []time.Duration
	for i := range 100 {
		values = append(values, time.Duration(i+1))
	}
	for p, want := range map[float64]time.Duration{0: 1, 0.005: 1, 0.5: 50, 0.505: 51, 0.99: 99, 0.991: 100, 1: 100} {
		if got := percentile(values, p); got != want {
			t.Errorf("p%v of 1…100 is %d, not %d", 100*p, got, want)
		}
	}
	if got := percentile([]time.Duration{7}, 0.99); got != 7 {
		t.Errorf("the only value is %d", got)
	}
}

func TestMedianAndRatiosLeaveOutTheUnknown(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{nil, -1}, {[]float64{3}, 3}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 1, 2, 9}, 3}, {[]float64{-1, 7, -1}, 7}} {
		if got := median(c.values); got != c.want {
			t.Errorf("median of %v is %v", c.values, got)
		}
	}
	if got := ratios([]float64{2, -1, 3, 8}, []float64{4, 1, 0, 2}); !slices.Equal(got, []float64{0.5, 4}) {
		t.Errorf("ratios %v", got)
	}
}
