package requests

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/longtest"
)

func TestBodyBeyondItsBoundIsNotRead(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "MAX_REQUEST_BYTES=4096")
	for name, head := range map[string]string{
		"announced": "Content-Length: 100000000\r\n\r\n{",
		"chunked":   "Transfer-Encoding: chunked\r\n\r\n2000\r\n" + strings.Repeat("x", 0x2000) + "\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			_ = conn.SetDeadline(time.Now().Add(gatewaytest.Patience))
			_, _ = fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n%s", head)
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			if resp.StatusCode != 413 || !resp.Close {
				t.Errorf("%d, close %v", resp.StatusCode, resp.Close)
			}
		})
	}
}

func TestClientThatStopsMidBodyIsDisconnected(t *testing.T) {
	longtest.Skip(t) // waits for a read deadline of 30 s
	t.Parallel()
	p := gatewaytest.Start(t)
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(45 * time.Second))
	_, _ = io.WriteString(conn,
		"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	began := time.Now()
	_, err = io.ReadAll(conn)
	if took := time.Since(began); err != nil || took > 40*time.Second {
		t.Errorf("held on for %s: %v", took, err)
	}
}

// A Content-Length alone reserves neither memory nor a share of the bytes in
// flight.
func TestAnnouncedBodyUsesNoMemoryBeforeItArrives(t *testing.T) {
	const clients = 64
	for name, announced := range map[string]int{"1 MiB": 1 << 20, "32 MiB": 32 << 20} {
		t.Run(name, func(t *testing.T) {
			p := startWithAllProviders(t, providertest.Serve(t, gatewaytest.JSON(200, gatewaytest.Providers()[0].Answer("a"))),
				"MAX_IN_FLIGHT_BYTES="+strconv.Itoa(clients<<19))
			heap := func() uint64 {
				runtime.GC()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				return m.HeapAlloc
			}
			before := heap()
			for range clients {
				conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = conn.Close() }()
				if _, err := io.WriteString(conn, postHead+contentLength(announced)+"\r\n{"); err != nil {
					t.Fatal(err)
				}
			}
			gatewaytest.Until(t, "all bodies are waited for, or refused", func() bool {
				got := gatewaytest.ParseMetrics(t, p.Get(t, "/metrics").Body)
				return got["modelgateway_http_requests_in_flight"]+got[`modelgateway_http_requests_total{route="/v1/chat/completions",status="503"}`] == clients+1
			})
			const most = 256 << 10 // bytes a client: a byte of its body, and its connection
			if grown := int64(heap()) - int64(before); grown > clients*most {
				t.Errorf("%d clients that sent a byte each hold %d KiB", clients, grown>>10)
			}
			long := strings.Replace(gatewaytest.HelloRequest, "hi", strings.Repeat("hi ", 400<<10), 1)
			if a := p.Chat(t, long); a.Status != 200 {
				t.Errorf("another call: %d %.300s", a.Status, a.Body)
			}
		})
	}
}

// startWithAllProviders starts a gateway whose three providers are all u.
func startWithAllProviders(t testing.TB, u *providertest.Upstream, settings ...string) *gatewaytest.Program {
	t.Helper()
	for _, f := range gatewaytest.Providers() {
		settings = append(settings, f.EnvPrefix+"_API_KEY=sk-x", f.EnvPrefix+"_BASE_URL="+u.URL)
	}
	return gatewaytest.Start(t, settings...)
}

func TestBodyBoundsOfAccountAndChatRequests(t *testing.T) {
	p := gatewaytest.Start(t, "SIMULATOR=true")
	token := p.Login(t)
	const small, large = 64 << 10, 32 << 20
	fill := func(body string, size int) string { return body + strings.Repeat(" ", size-len(body)) }
	account := func(name string) string {
		return `{"email":"` + name + `@example.com","password":"correct horse battery","name":"n"}`
	}
	for path, body := range map[string]string{
		"/auth/register": account("bound"), "/auth/login": strings.Replace(gatewaytest.AdaAccount, " ", "", 1), "/auth/keys": `{"name":"n"}`,
	} {
		if a := p.Call(t, "POST", path, fill(body, small), token...); a.Status >= 300 {
			t.Errorf("%s: %d for what is just not too large: %s", path, a.Status, a.Body)
		}
		if a := p.Call(t, "POST", path, fill(body, small+1), token...); a.Status != 413 || a.APIError(t).Code != "request_too_large" {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
	const rest = 512 << 10 // more than net/http reads of an unread body
	for path, bound := range map[string]int{"/auth/register": small, "/auth/login": small, "/auth/keys": small, "/v1/chat/completions": large} {
		head := "POST " + path + " HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: " + token[1] + "\r\n"
		began, late := time.Now(), longtest.Lateness(t)
		answers, closed := sendRaw(t, p, head+contentLength(bound+rest)+"\r\n{")
		if len(answers) != 1 || answers[0].Status != 413 || !closed || time.Since(began) > 2*time.Second+late() {
			t.Errorf("%s: %v, closed %v after %s: the rest was waited for", path, answers, closed, time.Since(began))
		}
		if bound == large {
			continue // in chunks: TestBodyBeyondItsBoundIsNotRead
		}
		answers, closed = sendRaw(t, p,
			head+"Transfer-Encoding: chunked\r\n\r\n"+strings.Repeat("8000\r\n"+strings.Repeat(" ", 0x8000)+"\r\n", 2+rest/0x8000))
		if len(answers) > 1 || !closed || len(answers) == 1 && answers[0].Status != 413 {
			t.Errorf("%s, in chunks: %v, closed %v", path, answers, closed)
		}
	}
}
