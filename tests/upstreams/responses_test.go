package upstreams

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

// TestEndlessStreamEndsAtItsMaximumDuration has an upstream that sends events
// without end.
func TestEndlessStreamEndsAtItsMaximumDuration(t *testing.T) {
	t.Parallel()
	for _, f := range gatewaytest.Providers() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			u := gatewaytest.NewFuncUpstream(t)
			left := make(chan struct{})
			u.Handle(func(w http.ResponseWriter, r *http.Request) {
				defer close(left)
				gatewaytest.WriteSlowly(
					"text/event-stream",
					10*time.Millisecond,
					slices.Concat([]string{f.Start}, slices.Repeat([]string{f.Text("a")}, 2000))...)(
					w, r,
				)
			})
			p := startWith(t, f, u.URL, "STREAM_MAX_SECONDS=1")
			began := time.Now()
			s := p.Chat(t, f.Request(gatewaytest.Streaming))
			if took := time.Since(began); took < time.Second || took > 10*time.Second {
				t.Errorf("it lasted %s", took)
			}
			checkInterrupted(t, "at its longest", s)
			if strings.Count(s.Body, `"content":"a"`) < 2 {
				t.Errorf("what had come was lost: %s", s.Body)
			}
			<-left
		})
	}
}

// TestUpstreamRedirectsAreNotFollowed redirects to a server that counts its
// connections, to the metadata service of clouds and back to the upstream.
func TestUpstreamRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	var trapped atomic.Int32
	trap := newRawUpstream(t)
	trap.serve(func(*net.TCPConn) { trapped.Add(1) })
	t.Cleanup(func() { // when the subtests have ended
		if n := trapped.Load(); n != 0 {
			t.Errorf("the gateway went elsewhere %d times", n)
		}
	})
	host := strings.TrimPrefix(trap.url, "http://")
	for _, f := range gatewaytest.Providers() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			u := gatewaytest.NewFuncUpstream(t)
			var all [][2]string
			for _, status := range []string{"300", "301", "302", "303", "305", "307", "308"} {
				all = append(all, [2]string{status, trap.url + "/latest/meta-data"})
			}
			for _, place := range []string{"http://169.254.169.254/latest/meta-data", "//" + host + "/x", "https://" + host, "/v1/elsewhere", "?again", "file:///etc/passwd", "http://user:canary@" + host, ""} {
				all = append(all, [2]string{"307", place})
			}
			for some := range slices.Chunk(all, maxFailures) {
				p := startWith(t, f, u.URL)
				for i, tt := range some {
					var asked atomic.Int32
					status, _ := strconv.Atoi(tt[0])
					u.Handle(func(w http.ResponseWriter, _ *http.Request) {
						asked.Add(1)
						w.Header()["Location"] = tt[1:]
						w.Header().Set("Refresh", "0; url="+trap.url)
						w.WriteHeader(status)
					})
					a := p.Chat(t, f.Request([]string{"", gatewaytest.Streaming}[i%2]))
					checkProviderError(t, f, tt[0]+" "+tt[1], a, 502)
					if a.Header.Get("Location")+a.Header.Get("Refresh") != "" || a.APIError(t).UpstreamStatus != status ||
						asked.Load() != 1 {
						t.Errorf("%v: asked %d times: %v %s", tt, asked.Load(), a.Header, a.Body)
					}
				}
			}
			// Discovery sends the key as well.
			var asked atomic.Int32
			u.Handle(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				http.Redirect(w, r, trap.url, http.StatusFound)
			})
			startWith(t, f, u.URL, "MODEL_DISCOVERY=true")
			gatewaytest.Until(t, "the models are asked for", func() bool { return asked.Load() > 0 })
		})
	}
}

// errorBody is an error in the format of a provider.
func errorBody(f gatewaytest.Provider, message string) string {
	switch f.Name {
	case "openai":
		return `{"error":{"message":` + gatewaytest.Quote(message) + `,"type":"invalid_request_error","param":null,"code":"refused_code"}}`
	case "anthropic":
		return `{"type":"error","error":{"type":"refused_error","message":` + gatewaytest.Quote(message) + `},"request_id":"req_canary"}`
	default:
		return `{"error":{"code":400,"message":` + gatewaytest.Quote(message) + `,"status":"REFUSED","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"CANARY","domain":"canary.googleapis.com","metadata":{"consumer":"projects/canary"}}]}}`
	}
}

// TestRefusedUpstreamKeyIsAGatewayError refuses the gateway's own key: callers
// must not take that for a 401 or 403 of theirs.
func TestRefusedUpstreamKeyIsAGatewayError(t *testing.T) {
	t.Parallel()
	for _, f := range gatewaytest.Providers() {
		for i, status := range []int{401, 402, 403, 407} {
			t.Run(f.Name+"/"+strconv.Itoa(status), func(t *testing.T) {
				t.Parallel()
				script := gatewaytest.JSON(status, errorBody(f, "Incorrect API key provided: sk-canary-"+f.Name+"."))
				script.Header.Set("WWW-Authenticate", `Bearer realm="canary"`)
				script.Header.Set("Proxy-Authenticate", `Basic realm="canary"`)
				u := providertest.Serve(t, script)
				a := startWith(t, f, u.URL).Chat(t, f.Request([]string{"", gatewaytest.Streaming}[i%2]))
				// one call: a refused key cools down
				checkProviderError(t, f, "", a, 502)
				if a.APIError(t).UpstreamStatus != status || a.Header.Get("WWW-Authenticate")+a.Header.Get("Proxy-Authenticate") != "" {
					t.Errorf("%v %s", a.Header, a.Body)
				}
			})
		}
	}
}

// TestUpstreamErrorMessagesAreSanitised removes what an upstream's error may
// reveal of the operator. What it says of the request is kept.
func TestUpstreamErrorMessagesAreSanitised(t *testing.T) {
	t.Parallel()
	const harmless = "max_tokens is too large: 5 > 4."
	for _, f := range gatewaytest.Providers() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			own := "sk-canary-" + f.Name
			var messages []string
			for _, secret := range []string{
				own, "key " + own + ", sk-proj-canary0123456789", "AIzaSyCanaryCANARYcanaryCANARYcanary12", "Authorization: Bearer canary.canary.canary", "ya29.canaryCANARY",
				"eyJhbGciOiJIUzI1NiJ9.canary.canary", "api_key=canary123", "organization org-canary123", "in proj_canary99 of projects/canary-1", "project_number:12345678 of acct_canary",
				"http://10.1.2.3:8080/canary", "https://user:canary@llm.canary.internal/x?key=canary", "upstream llm-7.canary.svc.cluster.local:443 refused", "dial tcp 10.20.30.40:443: connect: refused",
			} {
				messages = append(messages, harmless+" "+secret)
			}
			messages = append(messages, harmless+strings.Repeat(" more and more", 1000)+own,
				harmless+"\r\nSet-Cookie: a=b\r\n\r\n\x1b[31m\u2028"+own)
			u := providertest.Serve(t)
			p := startWith(t, f, u.URL, "LOG_LEVEL=debug")
			for i, message := range messages {
				status := 400
				if i%4 == 3 {
					status = 500 // now and then, or the circuit opens
				}
				u.Play(gatewaytest.JSON(status, errorBody(f, message)))
				checkSanitised(t, p.Chat(t, f.Request([]string{"", gatewaytest.Streaming}[i%2])).Body, harmless)
			}
			for _, body := range []string{"<html><title>nginx at llm-7.canary.internal</title></html>", "upstream http://10.1.2.3/canary " + own, `{"detail":"` + own + `"}`, `"` + own + `"`} {
				u.Play(providertest.Script{Status: 400, Pieces: [][]byte{[]byte(body)}})
				checkSanitised(t, p.Chat(t, f.Request("")).Body, "") // a text of a compatible server is its reason
			}
			u.Play(
				gatewaytest.Events(providertest.Proper, f.Start, f.Text("par"),
					"event: error\ndata: "+errorBody(f, messages[0]+" at http://10.1.2.3/canary")+"\n\n"),
			)
			s := p.Chat(t, f.Request(gatewaytest.Streaming))
			checkInterrupted(t, "in a stream", s)
			checkSanitised(t, s.Body[strings.LastIndex(s.Body, `{"error"`):], harmless)
			for _, secret := range []string{own, "sk-proj-canary", "AIzaSyCanary", "canary123", "eyJhbGciOiJIUzI1NiJ9.canary"} {
				if log := p.Log.String(); strings.Contains(log, secret) || !strings.Contains(log, "status 500") {
					t.Errorf("the log holds %q, or nothing", secret)
				}
			}
		})
	}
}

// checkSanitised checks the text of an error that held secrets.
func checkSanitised(t testing.TB, body, harmless string) {
	t.Helper()
	var e struct{ Error gatewaytest.APIError }
	if err := json.NewDecoder(strings.NewReader(body)).Decode(&e); err != nil || !strings.Contains(e.Error.Message, harmless) ||
		e.Error.Message == "" ||
		len(e.Error.Message) > 300 {
		t.Errorf("%v: %d bytes: %s", err, len(e.Error.Message), body)
	}
	for _, secret := range []string{"canary", "10.1.2.3", "10.20.30.40", "12345678", "\r", "\x1b"} {
		if strings.Contains(strings.ToLower(e.Error.Message), secret) || strings.Contains(strings.ToLower(body), "canary") {
			t.Errorf("it tells %q: %s", secret, body)
			return
		}
	}
}

// TestUpstreamHeadersAreNotForwarded checks that clients get the gateway's own
// headers alone, after success and after failure.
func TestUpstreamHeadersAreNotForwarded(t *testing.T) {
	t.Parallel()
	ours := []string{
		"Content-Type",
		"Content-Length",
		"Date",
		"Cache-Control",
		"X-Accel-Buffering",
		"X-Content-Type-Options",
		"X-Request-Id",
		"X-Should-Retry",
		"Retry-After",
		"Openai-Processing-Ms",
		"Connection",
		"Transfer-Encoding",
	}
	foreign := http.Header{"Connection": {"X-Hop, keep-alive"}, "Trailer": {"X-Trailer"}}
	for _, name := range []string{
		"Set-Cookie", "Set-Cookie2", "Server", "Via", "X-Powered-By", "X-Hop", "Keep-Alive", "Proxy-Authenticate", "Proxy-Connection", "Upgrade", "Te", "Alt-Svc", "Strict-Transport-Security",
		"Content-Encoding", "Content-Language", "Content-Security-Policy", "Etag", "Last-Modified", "Expires", "Age", "Location", "Refresh", "Www-Authenticate", "Access-Control-Allow-Origin",
		"Access-Control-Allow-Credentials", "Cf-Ray", "X-Request-Id", "Request-Id", "Openai-Organization", "Openai-Project", "Anthropic-Organization-Id", "X-Goog-Api-Key", "X-Ratelimit-Limit-Requests",
		"X-Ratelimit-Remaining-Tokens", "Anthropic-Ratelimit-Requests-Remaining", "X-Gateway-Provider", "X-Gateway-Ignored-Params", "X-Gateway-Model-Redirected", "Cache-Control", "Vary", "Clear-Site-Data", "Sourcemap",
	} {
		foreign.Set(name, "canary-"+name)
	}
	gatewaytest.EachProvider(t, func(t *testing.T, f gatewaytest.Provider, u *providertest.Upstream, p *gatewaytest.Program) {
		stream := gatewaytest.Events(providertest.Proper, f.Start, f.Text("a"), f.End)
		for name, tt := range map[string]struct {
			members string
			script  providertest.Script
		}{
			"an answer":       {"", gatewaytest.JSON(200, f.Answer("a"))},
			"a stream":        {gatewaytest.Streaming, stream},
			"a refusal":       {"", gatewaytest.JSON(400, errorBody(f, "no"))},
			"a failure":       {gatewaytest.Streaming, gatewaytest.JSON(503, errorBody(f, "no"))},
			"a broken stream": {gatewaytest.Streaming, gatewaytest.Events(providertest.Reset, f.Start, f.Text("a"))},
		} {
			for header, values := range foreign {
				tt.script.Header[header] = values
			}
			u.Play(tt.script)
			a := p.Chat(t, f.Request(tt.members), "X-Request-Id", "mine")
			if a.Header.Get("X-Request-Id") != "mine" || a.Header.Get("X-Gateway-Provider") != f.Name {
				t.Errorf("%s: ours are lost: %v", name, a.Header)
			}
			if length := a.Header.Get("Content-Length"); length != "" && length != strconv.Itoa(len(a.Body)) {
				t.Errorf("%s: length %s of %d bytes", name, length, len(a.Body))
			}
			for header, values := range a.Header {
				if header == "X-Upstream-Request-Id" && values[0] == "canary-X-Request-Id" {
					continue // for the provider's support
				}
				if !slices.Contains(ours, header) && header != "X-Gateway-Provider" || strings.Contains(fmt.Sprint(values), "canary") {
					t.Errorf("%s: %s: %s", name, header, values)
				}
			}
		}
	}, "MAX_RETRIES=0")
}
