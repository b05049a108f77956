package failover

import (
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

// countRoles counts the chunks of a stream that name the role.
func countRoles(body string) int { return strings.Count(body, `"role":"assistant"`) }

// transientFailures are answers after which another call may succeed.
func transientFailures(f gatewaytest.Provider, members string) map[string]providertest.Script {
	all := map[string]providertest.Script{
		"reset":       {End: providertest.Reset},
		"nothing":     gatewaytest.JSON(200, ""),
		"HTML":        {Header: http.Header{"Content-Type": {"text/html"}}, Pieces: [][]byte{[]byte("<html>Bad Gateway</html>")}},
		"a cut end":   f.WholeAnswer(members, "no").Cut(20, providertest.Proper),
		"a cut line":  f.WholeAnswer(members, "no").Cut(20, providertest.Reset),
		"error event": gatewaytest.Events(providertest.Proper, f.ErrorEvent),
	}
	for _, status := range []int{408, 409, 429, 500, 502, 503, 504, 529} {
		all["status "+http.StatusText(status)] = gatewaytest.JSON(status, `{"error":{"message":"not now"}}`)
	}
	return all
}

func TestTransientFailuresAreRetriedInvisibly(t *testing.T) {
	t.Parallel()
	for _, f := range gatewaytest.Providers() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			u := providertest.Serve(t)
			for _, members := range []string{"", gatewaytest.Streaming} {
				all := transientFailures(f, members)
				names := make([]string, 0, len(all))
				for name := range all {
					names = append(names, name)
				}
				for few := range slices.Chunk(names, 8) { // the retry budget is ten a minute
					p := gatewaytest.Start(t, f.EnvPrefix+"_API_KEY=sk-x", f.EnvPrefix+"_BASE_URL="+u.URL)
					for _, name := range few {
						u.Play(all[name], f.WholeAnswer(members, "fine"))
						a := p.Chat(t, f.Request(members))
						sent := u.Requests()
						if a.Status != 200 || a.Err != nil || gatewaytest.TextOf(a.Body) != "fine" || len(sent) != 2 ||
							a.Header.Get("X-Gateway-Fallback") != "" {
							t.Errorf("%s%s: %d, %v, %d calls: %s", name, members, a.Status, a.Err, len(sent), a.Body)
							continue
						}
						if string(sent[0].Body) != string(sent[1].Body) || sent[0].Path != sent[1].Path {
							t.Errorf("%s%s: the second call is another: %s, %s", name, members, sent[0].Body, sent[1].Body)
						}
						if members == gatewaytest.Streaming && (countRoles(a.Body) != 1 || !strings.HasSuffix(a.Body, "data: [DONE]\n\n")) {
							t.Errorf("%s: %s", name, a.Body)
						}
					}
				}
			}
		})
	}
}

func TestPermanentFailuresAreNotRetried(t *testing.T) {
	t.Parallel()
	header := func(status int, body, name, value string) providertest.Script {
		s := gatewaytest.JSON(status, body)
		s.Header.Set(name, value)
		return s
	}
	for _, f := range gatewaytest.Providers() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			p, own, other, by := gatewaytest.StartWithFallback(t, f)
			for _, tt := range []struct {
				name   string
				script providertest.Script
				status int
				falls  bool
			}{
				{"content", gatewaytest.JSON(400, `{"error":{"message":"no"}}`), 400, false},
				{"too large", gatewaytest.JSON(413, `{"error":{"message":"no"}}`), 413, false},
				{"content that makes sense", gatewaytest.JSON(422, `{"error":{"message":"no"}}`), 422, false},
				{"final", header(503, `{}`, "X-Should-Retry", "false"), 0, true},
				{"no such model", gatewaytest.JSON(404, `{"error":{"message":"no"}}`), 0, true},
				{"a refused key", gatewaytest.JSON(401, `{"error":{"message":"no"}}`), 0, true},
			} {
				for _, members := range []string{"", gatewaytest.Streaming} {
					own.Play(tt.script)
					other.Play(by.WholeAnswer(members, "instead"))
					a := p.Chat(t, f.Request(members))
					if tt.falls &&
						(a.Status != 200 || gatewaytest.TextOf(a.Body) != "instead" || a.Header.Get("X-Gateway-Fallback") != by.Model) {
						t.Errorf("%s%s: %d %s", tt.name, members, a.Status, a.Body)
					}
					if !tt.falls && (a.Status != tt.status || a.Header.Get("X-Should-Retry") != "false" || len(other.Requests()) != 0) {
						t.Errorf("%s%s: %d %v %s", tt.name, members, a.Status, a.Header, a.Body)
					}
					if n := len(own.Requests()); n != 1 && tt.name != "a refused key" || n > 1 { // whose cooldown may last
						t.Errorf("%s%s: %d calls", tt.name, members, n)
					}
				}
			}
		})
	}
}

// A stream is cut at a random byte while retries and a fallback are allowed. The
// client gets the beginning of one answer, or the whole of one.
func TestCutStreamIsRetriedOnlyBeforeItsFirstEvent(t *testing.T) {
	t.Parallel()
	const cuts = 24
	pieces := []string{"one ", "two ", "three "}
	for _, f := range gatewaytest.Providers() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			script := gatewaytest.Events(providertest.Proper, f.Start, f.Text(pieces[0]), f.Text(pieces[1]), f.Text(pieces[2]), f.End)
			length := len(slices.Concat(script.Pieces...))
			var p *gatewaytest.Program
			var own, other *providertest.Upstream
			var by gatewaytest.Provider
			saved, broken := 0, 0
			for i := range cuts {
				if i%8 == 0 { // before the retry budget is spent or the circuit opens
					p, own, other, by = gatewaytest.StartWithFallback(t, f, "MAX_RETRIES=5")
					own.Play(script) // a provider of which every call fails is passed over for a while
					p.Chat(t, f.Request(gatewaytest.Streaming))
				}
				at := rand.IntN(length)
				if i%2 == 0 {
					at = rand.IntN(len(f.Start))
				}
				own.Play(script.Cut(at, []providertest.End{providertest.Proper, providertest.Reset}[i%2]), script)
				other.Play(by.WholeAnswer(gatewaytest.Streaming, "instead"))
				s := p.Chat(t, f.Request(gatewaytest.Streaming))
				text := gatewaytest.TextOf(s.Body)
				if s.Status != 200 || countRoles(s.Body) > 1 || !strings.HasPrefix(strings.Join(pieces, ""), text) ||
					len(other.Requests()) != 0 {
					t.Errorf("cut at %d: %d %s", at, s.Status, s.Body)
				}
				done := strings.HasSuffix(s.Body, "data: [DONE]\n\n")
				if done != (s.Err == nil) || done && text != strings.Join(pieces, "") ||
					done == strings.Contains(s.Body, `data: {"error"`) {
					t.Errorf("cut at %d: %v %s", at, s.Err, s.Body)
				}
				switch calls := len(own.Requests()); {
				case calls == 2 && done:
					saved++
				case calls == 1 && (countRoles(s.Body) == 1 || done):
					broken++
				default:
					t.Errorf("cut at %d: %d calls, then %s", at, calls, s.Body)
				}
			}
			if saved < cuts/8 || broken < cuts/8 {
				t.Errorf("of %d, %d were saved and %d broke off", cuts, saved, broken)
			}
		})
	}
}

func TestRetryAfterIsHonouredOrPassedOn(t *testing.T) {
	t.Parallel()
	gatewaytest.EachProvider(t, func(t *testing.T, f gatewaytest.Provider, u *providertest.Upstream, p *gatewaytest.Program) {
		wait := func(seconds string) providertest.Script {
			s := gatewaytest.JSON(429, `{"error":{"message":"slow down"}}`)
			s.Header.Set("Retry-After", seconds)
			return s
		}
		for _, members := range []string{"", gatewaytest.Streaming} {
			u.Play(wait("1"), f.WholeAnswer(members, "fine"))
			began := time.Now()
			if a := p.Chat(t, f.Request(members)); a.Status != 200 || gatewaytest.TextOf(a.Body) != "fine" ||
				time.Since(began) < time.Second {
				t.Errorf("%d after %s: %s", a.Status, time.Since(began), a.Body)
			}
			u.Play(wait("30"), f.WholeAnswer(members, "too early"))
			began = time.Now()
			a := p.Chat(t, f.Request(members))
			if e := a.APIError(t); a.Status != 429 || e.Code != "provider_error" || a.Header.Get("Retry-After") != "30" ||
				a.Header.Get("X-Should-Retry") != "true" ||
				len(u.Requests()) != 1 {
				t.Errorf("%d %v %s", a.Status, a.Header, a.Body)
			}
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("waited for %s", took)
			}
		}
	})
}

// refuseOneKey returns a handler that refuses the key sk-bad with this status and
// counts the calls of each key in asked.
func refuseOneKey(f gatewaytest.Provider, status int, asked *sync.Map) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") + r.Header.Get("X-Api-Key") + r.Header.Get("X-Goog-Api-Key")
		n, _ := asked.LoadOrStore(key, new(int))
		*n.(*int)++
		w.Header().Set("Content-Type", "application/json")
		if key == "sk-bad" {
			w.WriteHeader(status)
			return
		}
		_, _ = io.WriteString(w, f.Answer("fine"))
	}
}

func TestRefusedUpstreamKeyCoolsDownWhileAnotherServes(t *testing.T) {
	t.Parallel()
	for i, f := range gatewaytest.Providers() {
		for _, status := range []int{401 + i, 429} {
			u, asked := gatewaytest.NewFuncUpstream(t), new(sync.Map)
			u.Handle(refuseOneKey(f, status, asked))
			p := gatewaytest.Start(t, f.EnvPrefix+"_API_KEY=sk-bad,sk-good", f.EnvPrefix+"_BASE_URL="+u.URL, "MAX_RETRIES=0")
			for range 6 {
				if a := p.Chat(t, f.Request("")); a.Status != 200 || gatewaytest.TextOf(a.Body) != "fine" {
					t.Errorf("%s, %d: %d %s", f.Name, status, a.Status, a.Body)
				}
			}
			bad, _ := asked.Load("sk-bad")
			good, _ := asked.Load("sk-good")
			if bad == nil || *bad.(*int) > 3 || *good.(*int) != 6 { // the cooldown is one second, then two
				t.Errorf("%s, %d: %v", f.Name, status, asked)
			}
			if health := p.Get(t, "/health").Body; status != 403 && strings.Contains(health, `"`+f.Name+`":"degraded"`) == (status == 429) {
				t.Errorf("%s, %d: %s", f.Name, status, health)
			}
		}
	}
}

func TestCircuitOfAFailingProviderOpensAndTheOthersServe(t *testing.T) {
	fs := gatewaytest.Providers()
	u := providertest.Serve(t, gatewaytest.JSON(200, fs[1].Answer("fine")))
	p := gatewaytest.Start(t, "MAX_RETRIES=0", "OPENAI_API_KEY=sk-x", "OPENAI_BASE_URL=http://127.0.0.1:1", "ANTHROPIC_API_KEY=sk-x",
		"ANTHROPIC_BASE_URL="+u.URL)
	for i := range 10 {
		if a := p.Chat(t, fs[0].Request("")); a.Status != 502 {
			t.Fatalf("failure %d: %d %s", i, a.Status, a.Body)
		}
	}
	fastest := time.Hour
	for i := range 20 {
		began := time.Now()
		a := p.Chat(t, fs[0].Request([]string{"", gatewaytest.Streaming}[i%2]))
		fastest = min(fastest, time.Since(began))
		if e := a.APIError(t); a.Status != 503 || e.Code != "provider_error" || e.Provider != "openai" ||
			a.Header.Get("X-Should-Retry") != "true" ||
			a.Header.Get("Retry-After") == "" {
			t.Errorf("%d %v %s", a.Status, a.Header, a.Body)
		}
	}
	if fastest > 10*time.Millisecond {
		t.Errorf("the fastest failure took %s", fastest)
	}
	if health := p.Get(t, "/health").Body; !strings.Contains(health, `"openai":"unhealthy"`) ||
		!strings.Contains(health, `"anthropic":"healthy"`) ||
		!strings.Contains(health, `{"status":"degraded"`) {
		t.Errorf("%s", health)
	}
	if a := p.Chat(t, fs[1].Request("")); a.Status != 200 {
		t.Errorf("another provider: %d %s", a.Status, a.Body)
	}
}

// Comments and pings keep a connection open but do not begin an answer.
func TestStreamOfPingsFailsOverWhenItsFirstTokenIsLate(t *testing.T) {
	t.Parallel()
	for _, f := range gatewaytest.Providers() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			ping := ": ping\n\n"
			if f.Name == "anthropic" {
				ping = "event: ping\ndata: {\"type\": \"ping\"}\n\n"
			}
			u := gatewaytest.NewFuncUpstream(t)
			var calls atomic.Int64
			u.Handle(func(w http.ResponseWriter, r *http.Request) {
				calls.Add(1)
				gatewaytest.WriteSlowly("text/event-stream", 20*time.Millisecond, slices.Repeat([]string{ping}, 1000)...)(w, r)
			})
			all := gatewaytest.Providers()
			by := all[(slices.IndexFunc(all, func(g gatewaytest.Provider) bool { return g.Name == f.Name })+1)%len(all)]
			other := gatewaytest.NewFuncUpstream(t)
			other.Handle(gatewaytest.WriteSlowly("text/event-stream", 0, by.Start, by.Text("instead"), by.End))
			p := gatewaytest.Start(t, f.EnvPrefix+"_API_KEY=sk-x", f.EnvPrefix+"_BASE_URL="+u.URL, by.EnvPrefix+"_API_KEY=sk-y",
				by.EnvPrefix+"_BASE_URL="+other.URL, "FALLBACKS="+f.Model+"="+by.Model, "STREAM_FIRST_TOKEN_TIMEOUT_SECONDS=1")
			began := time.Now()
			if s := p.Chat(t, f.Request(gatewaytest.Streaming)); s.Status != 200 || gatewaytest.TextOf(s.Body) != "instead" ||
				countRoles(s.Body) != 1 || calls.Load() != 1 {
				t.Errorf("%d after %d calls: %s", s.Status, calls.Load(), s.Body)
			}
			if took := time.Since(began); took < time.Second || took > 4*time.Second {
				t.Errorf("one try of a second took %s", took)
			}
			s := p.Chat(t, f.Request(gatewaytest.Streaming), "X-Gateway-Fallback", "false")
			if e := s.APIError(t); s.Status != 504 || e.Code != "provider_error" || s.Header.Get("X-Should-Retry") != "true" || calls.Load() != 2 {
				t.Errorf("%d after %d calls: %s", s.Status, calls.Load(), s.Body)
			}
		})
	}
}
