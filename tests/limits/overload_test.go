package limits

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"modelgateway/controllers"
	"modelgateway/dialects/chat"
	"modelgateway/middleware"
	"modelgateway/providers/providertest"
	"modelgateway/services/inflight"
	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/longtest"
)

// holdStream opens a stream from a caller at this address. It goes on until leave
// is called.
func holdStream(t *testing.T, p *gatewaytest.Program, body, address string) (leave func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Forwarded-For", address)
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != 200 {
		t.Fatalf("%s is held with status %d", address, resp.StatusCode)
	}
	return func() {
		cancel()
		_ = resp.Body.Close()
	}
}

// awaitInFlight waits until so many calls are in flight whose bodies hold as many
// bytes as holds accepts.
func awaitInFlight(t *testing.T, p *gatewaytest.Program, calls int, holds func(bytes float64) bool) {
	t.Helper()
	gatewaytest.Until(t, fmt.Sprintf("%d calls are in flight", calls), func() bool {
		now := gatewaytest.ParseMetrics(t, p.Get(t, "/metrics").Body)
		return now["modelgateway_calls_in_flight"] == float64(calls) && holds(now["modelgateway_body_bytes_in_flight"])
	})
}

func none(bytes float64) bool { return bytes == 0 }

func some(bytes float64) bool { return bytes > 0 }

func TestCallsBeyondTheConcurrencyLimitAreRefusedAtOnce(t *testing.T) {
	f := gatewaytest.Providers()[0]
	u := providertest.Serve(t, gatewaytest.Events(providertest.Hold, f.Start, f.Text("a")))
	p := gatewaytest.Start(t, "OPENAI_API_KEY=sk-x", "OPENAI_BASE_URL="+u.URL, "MAX_IN_FLIGHT=3", "MAX_IN_FLIGHT_PER_CALLER=2",
		"TRUSTED_PROXIES=127.0.0.0/8")
	const one, other = "203.0.113.1", "203.0.113.2"
	leaves := []func(){holdStream(t, p, f.Request(gatewaytest.Streaming), one), holdStream(t, p, f.Request(gatewaytest.Streaming), one)}
	refused := func(address string, status int, kind, code string) {
		t.Helper()
		began, late := time.Now(), longtest.Lateness(t)
		a := p.Chat(t, f.Request(""), "X-Forwarded-For", address)
		if e := a.APIError(t); a.Status != status || e.Type != kind || e.Code != code || a.Header.Get("Retry-After") == "" ||
			a.Header.Get("X-Should-Retry") != "true" {
			t.Errorf("%s: %d %v %s", address, a.Status, a.Header, a.Body)
		}
		if took := time.Since(began); took > 2*time.Second+late() {
			t.Errorf("%s is refused after %s", address, took)
		}
	}
	refused(one, 429, "rate_limit_error", "rate_limit_exceeded")
	leaves = append(leaves, holdStream(t, p, f.Request(gatewaytest.Streaming), other))
	refused(other, 503, "api_error", "service_unavailable")
	refused("203.0.113.3", 503, "api_error", "service_unavailable")
	awaitInFlight(t, p, 3, some)
	if a := p.Call(t, "GET", "/v1/models", "", "X-Forwarded-For", one); a.Status != 200 {
		t.Errorf("what is no chat: %d", a.Status)
	}
	if len(u.Requests()) != 3 {
		t.Errorf("%d calls reached the upstream", len(u.Requests()))
	}
	leaves[0]()
	awaitInFlight(t, p, 2, some)
	leaves[0] = holdStream(t, p, f.Request(gatewaytest.Streaming), one)
	for _, leave := range leaves {
		leave()
	}
	awaitInFlight(t, p, 0, none)
}

// sendPartOfRequest sends the header of a request and a part of its body. It
// leaves the connection open.
func sendPartOfRequest(t *testing.T, p *gatewaytest.Program, head, part string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(gatewaytest.Patience))
	if _, err := io.WriteString(c, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"+head+"\r\n\r\n"+part); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestBodyBytesInFlightAreBoundedAndReleasedHoweverACallEnds(t *testing.T) {
	t.Parallel()
	const most = 64 << 10
	f := gatewaytest.Providers()[0]
	u := providertest.Serve(t, gatewaytest.JSON(200, f.Answer("fine")))
	p := gatewaytest.Start(t, "OPENAI_API_KEY=sk-x", "OPENAI_BASE_URL="+u.URL, fmt.Sprint("MAX_REQUEST_BYTES=", most),
		fmt.Sprint("MAX_IN_FLIGHT_BYTES=", most))
	large := f.Request(`,"user":"` + strings.Repeat("u", most*2/3) + `"`)
	half := sendPartOfRequest(t, p, fmt.Sprint("Content-Length: ", len(large)), large[:len(large)/2])
	awaitInFlight(t, p, 1, func(bytes float64) bool { return bytes > most/3 })
	a := p.Chat(t, large)
	if e := a.APIError(t); a.Status != 503 || e.Code != "service_unavailable" || a.Header.Get("Retry-After") == "" ||
		a.Header.Get("X-Should-Retry") != "true" {
		t.Errorf("two large ones: %d %v %s", a.Status, a.Header, a.Body)
	}
	if a := p.Chat(t, f.Request("")); a.Status != 200 {
		t.Errorf("a small one beside it: %d %s", a.Status, a.Body)
	}
	_ = half.Close() // while its body is sent
	awaitInFlight(t, p, 0, none)
	if a := p.Chat(t, large); a.Status != 200 {
		t.Errorf("a large one alone: %d %s", a.Status, a.Body)
	}
	for name, tt := range map[string]struct {
		head, body string
		status     int
	}{
		"400":             {fmt.Sprint("Content-Length: ", most-1), strings.Repeat(" ", most-1), 400},
		"413, announced":  {fmt.Sprint("Content-Length: ", most+1), "{", 413},
		"413, in chunks":  {"Transfer-Encoding: chunked", strings.Repeat("8000\r\n"+strings.Repeat(" ", 0x8000)+"\r\n", 3), 413},
		"415":             {"Content-Encoding: br\r\nContent-Length: 2", "{}", 415},
		"404":             {fmt.Sprint("Content-Length: ", len(large)-2), strings.Replace(large, f.Model, "nix", 1), 404},
		"whole, and left": {fmt.Sprint("Content-Length: ", len(large)), large, 0},
	} {
		c := sendPartOfRequest(t, p, tt.head, tt.body)
		if tt.status != 0 {
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil || resp.StatusCode != tt.status {
				t.Errorf("%s: %v, %v", name, resp, err)
			}
		}
		_ = c.Close()
		awaitInFlight(t, p, 0, none)
	}
}

func TestPanicReleasesItsSlotAndItsBytes(t *testing.T) {
	gin.SetMode(gin.ReleaseMode)
	slots := inflight.New(1, 1, 1<<20)
	chat := &controllers.Generate{Dialect: chat.Dialect(), Concurrency: slots, MaxBytes: 1 << 16, Now: time.Now} // there is no service behind it
	engine := gin.New()
	panicked := 0
	engine.POST("/", func(c *gin.Context) {
		defer func() {
			if recover() != nil {
				panicked++
			}
		}()
		middleware.Chain{Now: time.Now}.Handle(chat.Create)(c)
	})
	for range 3 {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(gatewaytest.Providers()[0].Request("")))
		req.Header.Set("Content-Type", "application/json")
		engine.ServeHTTP(httptest.NewRecorder(), req)
	}
	if calls, bytes := slots.InUse(); calls != 0 || bytes != 0 || panicked != 3 {
		t.Errorf("after %d panics %d calls hold %d bytes", panicked, calls, bytes)
	}
}
