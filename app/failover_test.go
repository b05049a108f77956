package app

import (
	"encoding/json"
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
)

// roles are how often a stream says who speaks.
func roles(body string) int { return strings.Count(body, `"role":"assistant"`) }

// said is the text of a stream or of an answer.
func said(body string) (text string) {
	for line := range strings.Lines(body) {
		line, _ = strings.CutPrefix(line, "data: ")
		var part struct {
			Choices []struct{ Delta, Message struct{ Content string } }
		}
		if json.Unmarshal([]byte(line), &part) == nil && len(part.Choices) > 0 {
			text += part.Choices[0].Delta.Content + part.Choices[0].Message.Content
		}
	}
	return text
}

// whole is a good answer to a request with these members.
func (f family) whole(members, text string) providertest.Script {
	if members == streaming {
		return events(providertest.Proper, f.start, f.text(text), f.end)
	}
	return jsonScript(200, f.answer(text))
}

// passing are answers of which another call may know nothing.
func (f family) passing(members string) map[string]providertest.Script {
	all := map[string]providertest.Script{
		"reset":       {End: providertest.Reset},
		"nothing":     jsonScript(200, ""),
		"HTML":        {Header: http.Header{"Content-Type": {"text/html"}}, Pieces: [][]byte{[]byte("<html>Bad Gateway</html>")}},
		"a cut end":   f.whole(members, "no").Cut(20, providertest.Proper),
		"a cut line":  f.whole(members, "no").Cut(20, providertest.Reset),
		"error event": events(providertest.Proper, f.fault),
	}
	for _, status := range []int{408, 409, 429, 500, 502, 503, 504, 529} {
		all["status "+http.StatusText(status)] = jsonScript(status, `{"error":{"message":"not now"}}`)
	}
	return all
}

func TestU10WhatMayPassIsTriedAgainAndTheClientSeesNothingOfIt(t *testing.T) {
	for _, f := range families() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			u := providertest.Serve(t)
			for _, members := range []string{"", streaming} {
				all := f.passing(members)
				names := make([]string, 0, len(all))
				for name := range all {
					names = append(names, name)
				}
				for few := range slices.Chunk(names, 8) { // of ten retries a minute
					p := start(t, f.key+"_API_KEY=sk-x", f.key+"_BASE_URL="+u.URL)
					for _, name := range few {
						u.Play(all[name], f.whole(members, "fine"))
						a := p.chat(t, f.request(members))
						sent := u.Requests()
						if a.status != 200 || a.err != nil || said(a.body) != "fine" || len(sent) != 2 || a.header.Get("X-Gateway-Fallback") != "" {
							t.Errorf("%s%s: %d, %v, %d calls: %s", name, members, a.status, a.err, len(sent), a.body)
							continue
						}
						if string(sent[0].Body) != string(sent[1].Body) || sent[0].Path != sent[1].Path {
							t.Errorf("%s%s: the second call is another: %s, %s", name, members, sent[0].Body, sent[1].Body)
						}
						if members == streaming && (roles(a.body) != 1 || !strings.HasSuffix(a.body, "data: [DONE]\n\n")) {
							t.Errorf("%s: %s", name, a.body)
						}
					}
				}
			}
		})
	}
}

// backed is a gateway in which the next provider's model stands in for f's.
func backed(t *testing.T, f family, settings ...string) (p *program, own, other *providertest.Upstream, by family) {
	t.Helper()
	all := families()
	by = all[(slices.IndexFunc(all, func(g family) bool { return g.name == f.name })+1)%len(all)]
	own, other = providertest.Serve(t), providertest.Serve(t)
	p = start(t, append([]string{
		f.key + "_API_KEY=sk-own", f.key + "_BASE_URL=" + own.URL, by.key + "_API_KEY=sk-other", by.key + "_BASE_URL=" + other.URL, "FALLBACKS=" + f.model + "=" + by.model,
	}, settings...)...)
	return p, own, other, by
}

func TestG19U10WhatCannotPassIsAskedOnce(t *testing.T) {
	header := func(status int, body, name, value string) providertest.Script {
		s := jsonScript(status, body)
		s.Header.Set(name, value)
		return s
	}
	const spend = `{"type":"error","error":{"type":"rate_limit_error","message":"limit","details":{"error_code":"enforced_spend_limit_reached"}}}`
	const quota = `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`
	for _, f := range families() {
		t.Run(f.name, func(t *testing.T) {
			p, own, other, by := backed(t, f)
			for _, tt := range []struct {
				name   string
				only   string // of which provider
				script providertest.Script
				status int
				falls  bool
			}{
				{"content", "", jsonScript(400, `{"error":{"message":"no"}}`), 400, false},
				{"too large", "", jsonScript(413, `{"error":{"message":"no"}}`), 413, false},
				{"content that makes sense", "", jsonScript(422, `{"error":{"message":"no"}}`), 422, false},
				{"spending", "openai", jsonScript(429, quota), 429, false},
				{"spending, with a wait", "openai", header(429, quota, "Retry-After", "1"), 429, false},
				{"spending", "anthropic", jsonScript(429, spend), 429, false},
				{"final", "", header(503, `{}`, "X-Should-Retry", "false"), 0, true},
				{"no such model", "", jsonScript(404, `{"error":{"message":"no"}}`), 0, true},
				{"a refused key", "", jsonScript(401, `{"error":{"message":"no"}}`), 0, true},
			} {
				if tt.only != "" && tt.only != f.name {
					continue
				}
				for _, members := range []string{"", streaming} {
					own.Play(tt.script)
					other.Play(by.whole(members, "instead"))
					a := p.chat(t, f.request(members))
					if tt.falls && (a.status != 200 || said(a.body) != "instead" || a.header.Get("X-Gateway-Fallback") != by.model) {
						t.Errorf("%s%s: %d %s", tt.name, members, a.status, a.body)
					}
					if !tt.falls && (a.status != tt.status || a.header.Get("X-Should-Retry") != "false" || len(other.Requests()) != 0) {
						t.Errorf("%s%s: %d %v %s", tt.name, members, a.status, a.header, a.body)
					}
					if n := len(own.Requests()); n != 1 && tt.name != "a refused key" || n > 1 { // which may rest
						t.Errorf("%s%s: %d calls", tt.name, members, n)
					}
					if tt.status == 429 {
						own.Play(f.whole("", "awake"))
						until(t, "its key is awake", func() bool { return said(p.chat(t, f.request("")).body) == "awake" })
					}
				}
			}
		})
	}
}

// A stream is cut at any byte, with everything allowed that could save it: the
// client sees the beginning of one answer, or all of one.
func TestG19R6WhateverIsCutNothingComesTwice(t *testing.T) {
	const cuts = 24
	pieces := []string{"one ", "two ", "three "}
	for _, f := range families() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			script := events(providertest.Proper, f.start, f.text(pieces[0]), f.text(pieces[1]), f.text(pieces[2]), f.end)
			length := len(slices.Concat(script.Pieces...))
			var p *program
			var own, other *providertest.Upstream
			var by family
			saved, broken := 0, 0
			for i := range cuts {
				if i%8 == 0 { // the budget, and the circuit
					p, own, other, by = backed(t, f, "MAX_RETRIES=5")
				}
				at := rand.IntN(length)
				if i%2 == 0 {
					at = rand.IntN(len(f.start))
				}
				own.Play(script.Cut(at, []providertest.End{providertest.Proper, providertest.Reset}[i%2]), script)
				other.Play(by.whole(streaming, "instead"))
				s := p.chat(t, f.request(streaming))
				text := said(s.body)
				if s.status != 200 || roles(s.body) > 1 || !strings.HasPrefix(strings.Join(pieces, ""), text) || len(other.Requests()) != 0 {
					t.Errorf("cut at %d: %d %s", at, s.status, s.body)
				}
				done := strings.HasSuffix(s.body, "data: [DONE]\n\n")
				if done != (s.err == nil) || done && text != strings.Join(pieces, "") || done == strings.Contains(s.body, `data: {"error"`) {
					t.Errorf("cut at %d: %v %s", at, s.err, s.body)
				}
				switch calls := len(own.Requests()); {
				case calls == 2 && done:
					saved++
				case calls == 1 && (roles(s.body) == 1 || done):
					broken++
				default:
					t.Errorf("cut at %d: %d calls, then %s", at, calls, s.body)
				}
			}
			if saved < cuts/8 || broken < cuts/8 {
				t.Errorf("of %d, %d were saved and %d broke off", cuts, saved, broken)
			}
		})
	}
}

func TestU10TheWaitOfAnUpstreamIsKeptOrTold(t *testing.T) {
	each(t, func(t *testing.T, f family, u *providertest.Upstream, p *program) {
		wait := func(seconds string) providertest.Script {
			s := jsonScript(429, `{"error":{"message":"slow down"}}`)
			s.Header.Set("Retry-After", seconds)
			return s
		}
		for _, members := range []string{"", streaming} {
			u.Play(wait("1"), f.whole(members, "fine"))
			began := time.Now()
			if a := p.chat(t, f.request(members)); a.status != 200 || said(a.body) != "fine" || time.Since(began) < time.Second {
				t.Errorf("%d after %s: %s", a.status, time.Since(began), a.body)
			}
			u.Play(wait("30"), f.whole(members, "too early"))
			began = time.Now()
			a := p.chat(t, f.request(members))
			if e := a.fault(t); a.status != 429 || e.Code != "provider_error" || a.header.Get("Retry-After") != "30" || a.header.Get("X-Should-Retry") != "true" || len(u.Requests()) != 1 {
				t.Errorf("%d %v %s", a.status, a.header, a.body)
			}
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("waited for %s", took)
			}
		}
	})
}

// secondKey is an upstream that answers some keys only.
func secondKey(f family, status int, asked *sync.Map) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") + r.Header.Get("X-Api-Key") + r.Header.Get("X-Goog-Api-Key")
		n, _ := asked.LoadOrStore(key, new(int))
		*n.(*int)++
		w.Header().Set("Content-Type", "application/json")
		if key == "sk-bad" {
			w.WriteHeader(status)
			return
		}
		_, _ = io.WriteString(w, f.answer("fine"))
	}
}

func TestU10AKeyThatIsRefusedIsSparedWhileAnotherServes(t *testing.T) {
	for i, f := range families() {
		for _, status := range []int{401 + i, 429} {
			u, asked := newStage(t), new(sync.Map)
			u.play(secondKey(f, status, asked))
			p := start(t, f.key+"_API_KEY=sk-bad,sk-good", f.key+"_BASE_URL="+u.url, "MAX_RETRIES=0")
			for range 6 {
				if a := p.chat(t, f.request("")); a.status != 200 || said(a.body) != "fine" {
					t.Errorf("%s, %d: %d %s", f.name, status, a.status, a.body)
				}
			}
			bad, _ := asked.Load("sk-bad")
			good, _ := asked.Load("sk-good")
			if bad == nil || *bad.(*int) > 3 || *good.(*int) != 6 { // it rests for a second, then for two
				t.Errorf("%s, %d: %v", f.name, status, asked)
			}
			if health := p.get(t, "/health").body; status != 403 && strings.Contains(health, `"`+f.name+`":"degraded"`) == (status == 429) {
				t.Errorf("%s, %d: %s", f.name, status, health)
			}
		}
	}
}

func TestG19AProviderThatFailsIsLeftAloneAndTheOthersServe(t *testing.T) {
	fs := families()
	u := providertest.Serve(t, jsonScript(200, fs[1].answer("fine")))
	p := start(t, "MAX_RETRIES=0", "OPENAI_API_KEY=sk-x", "OPENAI_BASE_URL=http://127.0.0.1:1", "ANTHROPIC_API_KEY=sk-x", "ANTHROPIC_BASE_URL="+u.URL)
	for i := range 10 {
		if a := p.chat(t, fs[0].request("")); a.status != 502 {
			t.Fatalf("failure %d: %d %s", i, a.status, a.body)
		}
	}
	fastest := time.Hour
	for i := range 20 {
		began := time.Now()
		a := p.chat(t, fs[0].request([]string{"", streaming}[i%2]))
		fastest = min(fastest, time.Since(began))
		if e := a.fault(t); a.status != 503 || e.Code != "provider_error" || e.Provider != "openai" || a.header.Get("X-Should-Retry") != "true" || a.header.Get("Retry-After") == "" {
			t.Errorf("%d %v %s", a.status, a.header, a.body)
		}
	}
	if fastest > 10*time.Millisecond {
		t.Errorf("the fastest failure took %s", fastest)
	}
	if health := p.get(t, "/health").body; !strings.Contains(health, `"openai":"unhealthy"`) || !strings.Contains(health, `"anthropic":"healthy"`) || !strings.Contains(health, `{"status":"degraded"`) {
		t.Errorf("%s", health)
	}
	if a := p.chat(t, fs[1].request("")); a.status != 200 {
		t.Errorf("another provider: %d %s", a.status, a.body)
	}
}

// What only keeps a connection open is no beginning of an answer.
func TestAStreamOfPingsIsLeftWhenItsFirstTokenIsLate(t *testing.T) {
	for _, f := range families() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			ping := ": ping\n\n"
			if f.name == "anthropic" {
				ping = "event: ping\ndata: {\"type\": \"ping\"}\n\n"
			}
			u := newStage(t)
			var calls atomic.Int64
			fine := int64(1) // which of the calls is answered
			u.play(func(w http.ResponseWriter, r *http.Request) {
				pieces := []string{f.start, f.text("fine"), f.end}
				if calls.Add(1) != fine {
					pieces = slices.Repeat([]string{ping}, 1000)
				}
				drip("text/event-stream", 20*time.Millisecond, pieces...)(w, r)
			})
			p := start(t, f.key+"_API_KEY=sk-x", f.key+"_BASE_URL="+u.url, "STREAM_FIRST_TOKEN_TIMEOUT_SECONDS=1", "MAX_RETRIES=1")
			fine = 2
			if s := p.chat(t, f.request(streaming)); s.status != 200 || said(s.body) != "fine" || roles(s.body) != 1 || calls.Load() != 2 {
				t.Errorf("%d after %d calls: %s", s.status, calls.Load(), s.body)
			}
			began := time.Now()
			s := p.chat(t, f.request(streaming))
			if e := s.fault(t); s.status != 504 || e.Code != "provider_error" || s.header.Get("X-Should-Retry") != "true" || calls.Load() != 4 {
				t.Errorf("%d after %d calls: %s", s.status, calls.Load(), s.body)
			}
			if took := time.Since(began); took < 2*time.Second || took > 8*time.Second {
				t.Errorf("two tries of a second took %s", took)
			}
		})
	}
}
