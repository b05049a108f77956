package app

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
)

// TestU2AnEndlessStreamIsEndedAtItsLongest has an upstream that never falls
// silent and never ends.
func TestU2AnEndlessStreamIsEndedAtItsLongest(t *testing.T) {
	for _, f := range families() {
		t.Run(f.name, func(t *testing.T) {
			u := newStage(t)
			left := make(chan struct{})
			u.play(func(w http.ResponseWriter, r *http.Request) {
				defer close(left)
				drip("text/event-stream", 10*time.Millisecond, slices.Concat([]string{f.start}, slices.Repeat([]string{f.text("a")}, 2000))...)(w, r)
			})
			p := f.alone(t, u.url, "STREAM_MAX_SECONDS=1")
			began := time.Now()
			s := p.chat(t, f.request(streaming))
			if took := time.Since(began); took < time.Second || took > 10*time.Second {
				t.Errorf("it lasted %s", took)
			}
			brokeOff(t, "at its longest", s)
			if strings.Count(s.body, `"content":"a"`) < 2 {
				t.Errorf("what had come was lost: %s", s.body)
			}
			<-left
		})
	}
}

// TestU8RedirectsAreNotFollowed has a trap wherever a redirect could lead: to
// ourselves, to the service that clouds keep their secrets at, back to the start.
func TestU8RedirectsAreNotFollowed(t *testing.T) {
	var trapped atomic.Int32
	trap := newWire(t)
	trap.play(func(*net.TCPConn) { trapped.Add(1) })
	host := strings.TrimPrefix(trap.url, "http://")
	for _, f := range families() {
		t.Run(f.name, func(t *testing.T) {
			u := newStage(t)
			var all [][2]string
			for _, status := range []string{"300", "301", "302", "303", "305", "307", "308"} {
				all = append(all, [2]string{status, trap.url + "/latest/meta-data"})
			}
			for _, place := range []string{"http://169.254.169.254/latest/meta-data", "//" + host + "/x", "https://" + host, "/v1/elsewhere", "?again", "file:///etc/passwd", "http://user:canary@" + host, ""} {
				all = append(all, [2]string{"307", place})
			}
			for some := range slices.Chunk(all, fewFailures) {
				p := f.alone(t, u.url)
				for i, tt := range some {
					var asked atomic.Int32
					status, _ := strconv.Atoi(tt[0])
					u.play(func(w http.ResponseWriter, _ *http.Request) {
						asked.Add(1)
						w.Header()["Location"] = tt[1:]
						w.Header().Set("Refresh", "0; url="+trap.url)
						w.WriteHeader(status)
					})
					a := p.chat(t, f.request([]string{"", streaming}[i%2]))
					f.refused(t, tt[0]+" "+tt[1], a, 502)
					if a.header.Get("Location")+a.header.Get("Refresh") != "" || a.fault(t).UpstreamStatus != status || asked.Load() != 1 {
						t.Errorf("%v: asked %d times: %v %s", tt, asked.Load(), a.header, a.body)
					}
				}
			}
			// The list of models is asked for with the key as well.
			var asked atomic.Int32
			u.play(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				http.Redirect(w, r, trap.url, http.StatusFound)
			})
			f.alone(t, u.url, "MODEL_DISCOVERY=true")
			until(t, "the models are asked for", func() bool { return asked.Load() > 0 })
		})
	}
	if n := trapped.Load(); n != 0 {
		t.Errorf("the gateway went elsewhere %d times", n)
	}
}

// inKind is an error in the words of a provider.
func (f family) inKind(message string) string {
	switch f.name {
	case "openai":
		return `{"error":{"message":` + quote(message) + `,"type":"invalid_request_error","param":null,"code":"canary_code"}}`
	case "anthropic":
		return `{"type":"error","error":{"type":"canary_error","message":` + quote(message) + `},"request_id":"req_canary"}`
	default:
		return `{"error":{"code":400,"message":` + quote(message) + `,"status":"CANARY","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"CANARY","domain":"canary.googleapis.com","metadata":{"consumer":"projects/canary"}}]}}`
	}
}

// TestU9ARefusedKeyIsNotTheCallersFault has the refusals that concern who the
// gateway is to its provider: no caller may take them for his own 401 or 403.
func TestU9ARefusedKeyIsNotTheCallersFault(t *testing.T) {
	for _, f := range families() {
		for i, status := range []int{401, 402, 403, 407} {
			t.Run(f.name+"/"+strconv.Itoa(status), func(t *testing.T) {
				script := jsonScript(status, f.inKind("Incorrect API key provided: sk-canary-"+f.name+"."))
				script.Header.Set("WWW-Authenticate", `Bearer realm="canary"`)
				script.Header.Set("Proxy-Authenticate", `Basic realm="canary"`)
				u := providertest.Serve(t, script)
				a := f.alone(t, u.URL).chat(t, f.request([]string{"", streaming}[i%2])) // one call: a refused key may be given a rest
				f.refused(t, "", a, 502)
				if a.fault(t).UpstreamStatus != status || a.header.Get("WWW-Authenticate")+a.header.Get("Proxy-Authenticate") != "" {
					t.Errorf("%v %s", a.header, a.body)
				}
			})
		}
	}
}

// TestU11ErrorsOfUpstreamsAreCleaned has everything that an upstream's error may
// tell of the gateway's operator. What is told of the request stays.
func TestU11ErrorsOfUpstreamsAreCleaned(t *testing.T) {
	const told = "max_tokens is too large: 5 > 4."
	for _, f := range families() {
		t.Run(f.name, func(t *testing.T) {
			own := "sk-canary-" + f.name
			var messages []string
			for _, secret := range []string{
				own, "key " + own + ", sk-proj-canary0123456789", "AIzaSyCanaryCANARYcanaryCANARYcanary12", "Authorization: Bearer canary.canary.canary", "ya29.canaryCANARY",
				"eyJhbGciOiJIUzI1NiJ9.canary.canary", "api_key=canary123", "organization org-canary123", "in proj_canary99 of projects/canary-1", "project_number:12345678 of acct_canary",
				"http://10.1.2.3:8080/canary", "https://user:canary@llm.canary.internal/x?key=canary", "upstream llm-7.canary.svc.cluster.local:443 refused", "dial tcp 10.20.30.40:443: connect: refused",
			} {
				messages = append(messages, told+" "+secret)
			}
			messages = append(messages, told+strings.Repeat(" more and more", 1000)+own, told+"\r\nSet-Cookie: a=b\r\n\r\n\x1b[31m\u2028"+own)
			u := providertest.Serve(t)
			p := f.alone(t, u.URL, "LOG_LEVEL=debug")
			for i, message := range messages {
				status := 400
				if i%4 == 3 {
					status = 500 // now and then, or the provider is given a rest
				}
				u.Play(jsonScript(status, f.inKind(message)))
				cleaned(t, p.chat(t, f.request([]string{"", streaming}[i%2])).body, told)
			}
			for _, body := range []string{"<html><title>nginx at llm-7.canary.internal</title></html>", "upstream http://10.1.2.3/canary " + own, `{"detail":"` + own + `"}`, `"` + own + `"`} {
				u.Play(providertest.Script{Status: 400, Pieces: [][]byte{[]byte(body)}})
				cleaned(t, p.chat(t, f.request("")).body, "status 400")
			}
			u.Play(events(providertest.Proper, f.start, f.text("par"), "event: error\ndata: "+f.inKind(messages[0]+" at http://10.1.2.3/canary")+"\n\n"))
			s := p.chat(t, f.request(streaming))
			brokeOff(t, "in a stream", s)
			cleaned(t, s.body[strings.LastIndex(s.body, `{"error"`):], told)
			for _, secret := range []string{own, "sk-proj-canary", "AIzaSyCanary", "canary123", "eyJhbGciOiJIUzI1NiJ9.canary"} {
				if log := p.log.String(); strings.Contains(log, secret) || !strings.Contains(log, "status 500") {
					t.Errorf("the log holds %q, or nothing", secret)
				}
			}
		})
	}
}

// cleaned checks the text of an error that had secrets in it.
func cleaned(t testing.TB, body, told string) {
	t.Helper()
	var e struct{ Error fault }
	if err := json.NewDecoder(strings.NewReader(body)).Decode(&e); err != nil || !strings.Contains(e.Error.Message, told) || e.Error.Message == "" || len(e.Error.Message) > 300 {
		t.Errorf("%v: %d bytes: %s", err, len(e.Error.Message), body)
	}
	for _, secret := range []string{"canary", "10.1.2.3", "10.20.30.40", "12345678", "\r", "\x1b"} {
		if strings.Contains(strings.ToLower(e.Error.Message), secret) || strings.Contains(strings.ToLower(body), "canary") {
			t.Errorf("it tells %q: %s", secret, body)
			return
		}
	}
}

// TestU12HeadersOfUpstreamsStayBehind lets the client see the gateway's own
// headers and no other, whatever becomes of the call.
func TestU12HeadersOfUpstreamsStayBehind(t *testing.T) {
	ours := []string{"Content-Type", "Content-Length", "Date", "Cache-Control", "X-Accel-Buffering", "X-Content-Type-Options", "X-Request-Id", "X-Should-Retry", "Retry-After", "Openai-Processing-Ms", "Connection", "Transfer-Encoding"}
	foreign := http.Header{"Connection": {"X-Hop, keep-alive"}, "Trailer": {"X-Trailer"}}
	for _, name := range []string{
		"Set-Cookie", "Set-Cookie2", "Server", "Via", "X-Powered-By", "X-Hop", "Keep-Alive", "Proxy-Authenticate", "Proxy-Connection", "Upgrade", "Te", "Alt-Svc", "Strict-Transport-Security",
		"Content-Encoding", "Content-Language", "Content-Security-Policy", "Etag", "Last-Modified", "Expires", "Age", "Location", "Refresh", "Www-Authenticate", "Access-Control-Allow-Origin",
		"Access-Control-Allow-Credentials", "Cf-Ray", "X-Request-Id", "Request-Id", "Openai-Organization", "Openai-Project", "Anthropic-Organization-Id", "X-Goog-Api-Key", "X-Ratelimit-Limit-Requests",
		"X-Ratelimit-Remaining-Tokens", "Anthropic-Ratelimit-Requests-Remaining", "X-Gateway-Provider", "X-Gateway-Ignored-Params", "X-Gateway-Model-Redirected", "Cache-Control", "Vary", "Clear-Site-Data", "Sourcemap",
	} {
		foreign.Set(name, "canary-"+name)
	}
	each(t, func(t *testing.T, f family, u *providertest.Upstream, p *program) {
		stream := events(providertest.Proper, f.start, f.text("a"), f.end)
		for name, tt := range map[string]struct {
			members string
			script  providertest.Script
		}{
			"an answer":       {"", jsonScript(200, f.answer("a"))},
			"a stream":        {streaming, stream},
			"a refusal":       {"", jsonScript(400, f.inKind("no"))},
			"a failure":       {streaming, jsonScript(503, f.inKind("no"))},
			"a broken stream": {streaming, events(providertest.Reset, f.start, f.text("a"))},
		} {
			for header, values := range foreign {
				tt.script.Header[header] = values
			}
			u.Play(tt.script)
			a := p.chat(t, f.request(tt.members), "X-Request-Id", "mine")
			if a.header.Get("X-Request-Id") != "mine" || a.header.Get("X-Gateway-Provider") != f.name {
				t.Errorf("%s: ours are lost: %v", name, a.header)
			}
			if length := a.header.Get("Content-Length"); length != "" && length != strconv.Itoa(len(a.body)) {
				t.Errorf("%s: length %s of %d bytes", name, length, len(a.body))
			}
			for header, values := range a.header {
				if !slices.Contains(ours, header) && header != "X-Gateway-Provider" || strings.Contains(fmt.Sprint(values), "canary") {
					t.Errorf("%s: %s: %s", name, header, values)
				}
			}
		}
	}, "MAX_RETRIES=0")
}
