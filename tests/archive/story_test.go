package archive

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

// story plays a file of testdata: a request, with its headers in brackets, or a command line a line, with values of earlier
// answers in braces.
type story struct {
	t        *testing.T
	p        *gatewaytest.Program
	settings []string
	values   map[string]string
	called   map[string]bool // operations, as in "GET /v1/models"
	archive  strings.Builder
}

// What every route of the OpenAPI document answers, and what the command line prints, is the same on both databases.
func TestTheStoryIsAsItWas(t *testing.T) {
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		settings = append(settings, "SIMULATOR=true", "REQUIRE_AUTH=true", gatewaytest.JWTSecret, "METRICS_TOKEN=",
			"ENCRYPTION_KEY=MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=")
		s := &story{t: t, p: gatewaytest.Start(t, settings...), settings: settings, values: map[string]string{}, called: map[string]bool{}}
		gatewaytest.Until(t, "the log has the set-up link", func() bool { return s.p.SetupToken() != "" })
		s.values["setup"] = s.p.SetupToken()
		s.tell("story")
		s.checkOperations()
	})
}

// Errors of the gateway itself are in the form of each API, and tell an agent what to do. No provider is asked.
func TestErrorsAreAsTheyWere(t *testing.T) {
	t.Parallel()
	u := providertest.Serve(t)
	p := gatewaytest.Start(t, "MAX_REQUEST_BYTES=4096", "REQUIRE_AUTH=true", gatewaytest.JWTSecret, "RATE_LIMIT_RPM=1000", "SIMULATOR=false",
		"ANTHROPIC_API_KEY=sk-a", "ANTHROPIC_BASE_URL="+u.URL, "OPENAI_API_KEY=sk-o", "OPENAI_BASE_URL="+u.URL)
	s := &story{t: t, p: p, called: map[string]bool{}, values: map[string]string{
		"large": strings.Repeat("x", 5000), "huge": strings.Repeat("x", 40_000),
	}}
	token := p.Login(t)
	for name, limits := range map[string]string{
		"whole": `"rpm_limit":1000`, "narrow": `"models":["gpt-4"]`, "poor": `"budget_usd":0.000001`,
	} {
		_, s.values[name] = p.CreateLimitedKey(t, token, limits)
	}
	s.tell("errors")
	if sent := u.Requests(); len(sent) > 0 {
		t.Errorf("%d calls were made", len(sent))
	}
}

// tell plays a file, and compares what it is answered.
func (s *story) tell(name string) {
	text, err := os.ReadFile("testdata/" + name + ".in")
	if err != nil {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		s.play(strings.TrimSpace(line))
	}
	compare(s.t, name, s.archive.String())
}

var (
	step   = regexp.MustCompile(`^(?:@(\w+) )?([A-Z]+) (\S+)((?: \[[\w-]+: [^]]+\])*)(?: ([^[>\s].*?))?(?: > (.*))?$`)
	header = regexp.MustCompile(`\[([\w-]+): ([^]]+)\]`)
)

func (s *story) play(line string) {
	words := strings.Fields(s.filled(line))
	switch {
	case line == "" || strings.HasPrefix(line, "#"):
		return
	case strings.HasPrefix(line, "wait "):
		s.await(line[len("wait "):])
		return
	case strings.HasPrefix(line, "$ "):
		code, out, faults := gatewaytest.TryCommand(s.t, s.settings, "correct horse battery\n", words[1:]...)
		shown := strings.ReplaceAll(s.plain(out+faults), "never", "<day>") // the last use of a key is in the database after some seconds
		fmt.Fprintf(&s.archive, "=== %s\nexit code %d\n%s", line, code, shown)
		return
	}
	m := step.FindStringSubmatch(line)
	if m == nil {
		s.t.Fatalf("not a step: %s", line)
	}
	var sent []string
	if m[1] != "" {
		sent = []string{"Authorization", "Bearer " + s.values[m[1]]}
	}
	for _, h := range header.FindAllStringSubmatch(m[4], -1) {
		sent = append(sent, h[1], s.filled(h[2]))
	}
	a := s.p.Call(s.t, m[2], s.filled(m[3]), s.filled(m[5]), sent...)
	s.called[operation(m[2], m[3])] = true
	for _, pair := range strings.Fields(m[6]) {
		name, path, _ := strings.Cut(pair, "=")
		s.values[name] = member(s.t, a.Body, path)
	}
	fmt.Fprintf(&s.archive, "=== %s\n%d\n%s\n%s\n", line, a.Status, s.plain(headers(a.Header)), s.body(m[3], a))
}

// body is what is the same in each run of a body. Pages and the document are files of the project.
func (s *story) body(path string, a gatewaytest.Answer) string {
	switch kind := a.Header.Get("Content-Type"); {
	case path == "/metrics":
		var names []string
		for line := range strings.Lines(a.Body) {
			if name, ok := strings.CutPrefix(line, "# TYPE "); ok {
				names = append(names, strings.TrimSpace(name))
			}
		}
		return strings.Join(names, "\n")
	case path == "/openapi.yaml", strings.HasPrefix(kind, "text/html"), strings.HasPrefix(kind, "text/javascript"):
		return "(a file)"
	}
	return s.plain(a.Body)
}

// filled puts values in the place of their names in braces.
func (s *story) filled(text string) string {
	return regexp.MustCompile(`\{\w+\}`).ReplaceAllStringFunc(text, func(name string) string {
		if v, ok := s.values[name[1:len(name)-1]]; ok {
			return v
		}
		return name
	})
}

// await waits until the ledger has so many calls, and so many that were refused.
func (s *story) await(numbers string) {
	var calls, refused int
	if _, err := fmt.Sscan(numbers, &calls, &refused); err != nil {
		s.t.Fatal(err)
	}
	has := func(list, object string) int {
		a := s.p.Call(s.t, http.MethodGet, "/admin/"+list+"?limit=100", "", "Authorization", "Bearer "+s.values["root"])
		return strings.Count(a.Body, `"object":"`+object+`"`)
	}
	gatewaytest.Until(s.t, "the ledger has the calls", func() bool {
		return has("calls", "call") >= calls && has("refusals", "refusal") >= refused
	})
}

// member is a value of an answer, by the names and numbers that lead to it.
func member(t *testing.T, body, path string) string {
	var at any
	if err := json.Unmarshal([]byte(body), &at); err != nil {
		t.Errorf("%s: %v", body, err)
	}
	for _, name := range strings.Split(path, ".") {
		switch of := at.(type) {
		case map[string]any:
			at = of[name]
		case []any:
			if i, err := strconv.Atoi(name); err == nil && i < len(of) {
				at = of[i]
			}
		}
	}
	text, ok := at.(string)
	if !ok {
		t.Errorf("%s has no %s", body, path)
	}
	return text
}

var (
	braces  = regexp.MustCompile(`\{\w+\}`)
	moments = regexp.MustCompile(`\b[12]\d{9}(?:\d{3}|\d{6})?\b`)
	days    = regexp.MustCompile(`\b20\d\d-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?Z?)?`)
)

// plain is what is the same in each run: also of times that depend on the day.
func (s *story) plain(text string) string {
	for _, setting := range s.settings {
		if name, value, _ := strings.Cut(setting, "="); strings.HasSuffix(name, "_URL") {
			text = strings.ReplaceAll(text, value, "<"+name+">")
		}
	}
	text = strings.ReplaceAll(text, s.p.URL, "<url>")
	for _, m := range [][2]string{
		{`eyJ[\w.-]{20,}`, "<token>"},
		{`\bmgw_\w{4}\b`, "mgw_<prefix>"},
		{`(aud_\d+)_[A-Z2-7]{26}\b`, "${1}"},
		{`"[A-Z2-7]{26}"`, `"<replica>"`},
		{`("(?:\w+_ms|expires_in|uptime|p50|p95)":|Max-Age=)[\d.]+`, "${1}<time>"},
		{`("last_used_at":)\w+`, "${1}<used>"},
		{`("(?:began|resets)_at":)\d+`, "${1}<time>"}, // of a window, which may begin or end now
		{`(?i)(ratelimit\S*-(?:remaining|reset)\S*: ).*`, "${1}<left>"},
		{`"refused":\{.*?\}`, `"refused":{}`}, // they are counted a moment later
		{`"by_minute":\{.*?\}`, `"by_minute":{}`},
		{`"providers":\{.*?\}`, `"providers":{}`}, // in any order
		{`\{"name":"(?:DATABASE|REDIS)_URL".*?\}`, "{}"},
		{`(?m)^(database|Redis)  .*`, "$1  <of the test>"},
		{`\b[\d.]+m?s\b`, "<time>"}, // on the command line, in columns as wide as the longest
		{`  +`, "  "},
	} {
		text = regexp.MustCompile(m[0]).ReplaceAllString(text, m[1])
	}
	text = plain(text)
	text = moments.ReplaceAllStringFunc(text, func(number string) string {
		at, _ := strconv.ParseInt(number[:10], 10, 64)
		if time.Since(time.Unix(at, 0)).Abs() > 400*24*time.Hour {
			return number
		}
		return "<time>"
	})
	return days.ReplaceAllStringFunc(text, func(day string) string {
		at, err := time.Parse(time.DateOnly, day[:len(time.DateOnly)])
		if err != nil || time.Since(at).Abs() > 40*24*time.Hour {
			return day
		}
		return "<day>"
	})
}

// operation is a step's request as the OpenAPI document has it, with {} for each parameter.
func operation(method, path string) string {
	path, _, _ = strings.Cut(path, "?")
	return method + " " + braces.ReplaceAllString(path, "{}")
}

// checkOperations checks that the story has every operation of the OpenAPI document.
func (s *story) checkOperations() {
	var missing []string
	for _, o := range gatewaytest.Operations(s.t) {
		method, path, _ := strings.Cut(o, " ")
		if o = operation(method, path); !s.has(o) {
			missing = append(missing, o)
		}
	}
	if len(missing) > 0 {
		s.t.Errorf("no step of the story calls %q", missing)
	}
}

// has says whether a step called an operation. A parameter of it may be a word there.
func (s *story) has(o string) bool {
	pattern := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(o), `\{\}`, `[^/]+`) + "$")
	for called := range s.called {
		if pattern.MatchString(called) {
			return true
		}
	}
	return false
}
