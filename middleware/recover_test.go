package middleware

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"

	"modelgateway/services/auth"
	"modelgateway/services/ratelimit"
)

// lines is a log that may be read while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// serve serves middleware, whose last handler answers, over HTTP, and collects
// the log, that of net/http included.
func serve(t *testing.T, steps func(Chain) []gin.HandlerFunc) (string, *lines) {
	t.Helper()
	gin.SetMode(gin.ReleaseMode)
	log := new(lines)
	chain := Chain{Log: slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})), Now: time.Now, Dialect: inChat}
	engine := gin.New()
	engine.Any("/at", steps(chain)...)
	server := httptest.NewUnstartedServer(engine)
	server.Config.ErrorLog = slog.NewLogLogger(chain.Log.Handler(), slog.LevelDebug)
	server.Start()
	t.Cleanup(server.Close)
	return server.URL + "/at", log
}

const (
	secretToken  = "canary.token.4411" // in the form of a JWT
	secretKey    = "canary-key-4412"
	secretBody   = "canary-prompt-4413"
	secretQuery  = "canary-query-4414"
	secretCookie = "canary-cookie-4415"
)

// request sends a request full of secrets. The error is that of the answer's
// header or of its body.
func request(t *testing.T, url string) (*http.Response, string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"?code="+secretQuery, strings.NewReader(secretBody))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+secretToken)
	req.Header.Set("X-API-Key", secretKey)
	req.Header.Set("Cookie", "session="+secretCookie)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	return resp, string(text), err
}

// isInternal says what is wrong with an answer that should be an internal
// error.
func isInternal(resp *http.Response, body string, err error) string {
	if err != nil {
		return "no whole answer: " + err.Error()
	}
	var fault struct {
		Error struct{ Type, Code, Message string }
	}
	if err := json.Unmarshal([]byte(body), &fault, json.MatchCaseInsensitiveNames(true)); err != nil {
		return "not JSON: " + body
	}
	if resp.StatusCode != http.StatusInternalServerError || fault.Error.Type != "api_error" || fault.Error.Code != "internal_error" ||
		fault.Error.Message == "" {
		return resp.Status + " " + body
	}
	if resp.Header.Get("Content-Type") != "application/json" || resp.Header.Get("X-Request-Id") == "" ||
		resp.Header.Get("X-Should-Retry") != "true" {
		return "header: " + strings.Join(resp.Header.Values("Content-Type"), ", ")
	}
	return ""
}

func hasNoSecret(t *testing.T, told string) {
	t.Helper()
	for _, secret := range []string{secretToken, secretKey, secretBody, secretQuery, secretCookie} {
		if strings.Contains(told, secret) {
			t.Errorf("%s is shown: %s", secret, told)
		}
	}
}

// noLimit is a limit that is off.
func noLimit(t *testing.T) *ratelimit.Requests {
	t.Helper()
	l, err := ratelimit.NewRequests(ratelimit.RequestOptions{Name: "none", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestAPanicInAStepNeverReachesTheHandler(t *testing.T) {
	names := []string{"Identify", "Access", "Recover", "Bound", "CORS", "Caller", "Limit"}
	for at := range len(names) + 1 {
		place := "before the handler"
		if at < len(names) {
			place = "before " + names[at]
		}
		t.Run(place, func(t *testing.T) {
			reached := false
			url, log := serve(t, func(m Chain) []gin.HandlerFunc {
				steps := []gin.HandlerFunc{
					m.Identify, m.Access, m.Recover, m.Bound, m.CORS([]string{"https://a.example"}),
					m.Caller(Auth{Tokens: auth.NewTokens(auth.TokenOptions{Now: time.Now})}), m.Limit(noLimit(t), Account),
				}
				bomb := func(*gin.Context) { panic("boom") }
				return append(slices.Insert(steps, at, gin.HandlerFunc(bomb)), m.Handle(func(c *gin.Context) error {
					reached = true
					c.String(http.StatusOK, "ok")
					return nil
				}))
			})
			resp, body, err := request(t, url)
			if reached {
				t.Error("the handler was reached")
			}
			if at <= slices.Index(names, "Recover") {
				if err == nil {
					t.Errorf("there is an answer from outside Recover: %s %s", resp.Status, body)
				}
			} else if wrong := isInternal(resp, body, err); wrong != "" {
				t.Error(wrong)
			}
			hasNoSecret(t, log.String()+body)
		})
	}
}

func TestAPanicInsideAStepNeverReachesTheHandler(t *testing.T) {
	for name, tt := range map[string]struct {
		step func(Chain) gin.HandlerFunc
		cut  bool // it runs outside Recover
	}{
		"Access": {func(m Chain) gin.HandlerFunc {
			m.Now = func() time.Time { panic("the clock") }
			return m.Access
		}, true},
		"Caller": {func(m Chain) gin.HandlerFunc { return m.Caller(Auth{}) }, false},
		"User":   {func(m Chain) gin.HandlerFunc { return m.User(nil) }, false},
		"Limit": {func(m Chain) gin.HandlerFunc {
			return m.Limit(noLimit(t), func(*gin.Context) string { panic("the account") })
		}, false},
		"a limit that is not there": {func(m Chain) gin.HandlerFunc { return m.Limit(nil, Account) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			reached := false
			url, log := serve(t, func(m Chain) []gin.HandlerFunc {
				handler := func(c *gin.Context) {
					reached = true
					c.String(http.StatusOK, "ok")
				}
				if tt.cut {
					return []gin.HandlerFunc{m.Identify, tt.step(m), m.Recover, handler}
				}
				return []gin.HandlerFunc{m.Identify, m.Access, m.Recover, tt.step(m), handler}
			})
			resp, body, err := request(t, url)
			if reached {
				t.Error("the handler was reached")
			}
			if wrong := isInternal(resp, body, err); wrong != "" && !tt.cut {
				t.Error(wrong)
			}
			if tt.cut && err == nil {
				t.Errorf("there is an answer from outside Recover: %s", body)
			}
			hasNoSecret(t, log.String()+body)
		})
	}
}

// faults are what a handler may panic with.
func faults() map[string]func() {
	return map[string]func(){
		"a word":          func() { panic("cannot read " + secretBody) },
		"an error":        func() { panic(errors.New("cannot read " + secretBody)) },
		"nothing":         func() { panic(nil) }, //nolint:govet // nil is tested
		"an index":        func() { _ = []int{}[len(names(3))] },
		"a nil pointer":   func() { _ = (*auth.Caller)(nil).UserID },
		"a nil map":       func() { counts(0)["a"]++ },
		"an answer's end": func() { panic(http.ErrAbortHandler) },
	}
}

func names(n int) []string { return make([]string, n) }

// counts is a map, or none.
func counts(n int) map[string]int {
	if n == 0 {
		return nil
	}
	return make(map[string]int, n)
}

func TestAPanicInAHandlerIsA500OrClosesTheConnection(t *testing.T) {
	for name, fault := range faults() {
		for when, begin := range map[string]func(c *gin.Context){
			"at once":       func(*gin.Context) {},
			"with a status": func(c *gin.Context) { c.Status(http.StatusCreated) },
			"with the header of a stream": func(c *gin.Context) {
				c.Header("Content-Type", "text/event-stream")
				c.Writer.WriteHeader(http.StatusOK)
			},
			"with a length":                   func(c *gin.Context) { c.Header("Content-Length", "5000"); c.Status(http.StatusOK) },
			"after the first byte":            func(c *gin.Context) { _, _ = c.Writer.WriteString("data: a\n\n"); c.Writer.Flush() },
			"after a byte that is still kept": func(c *gin.Context) { _, _ = c.Writer.WriteString("data: a\n\n") },
			"after the first byte of a length": func(c *gin.Context) {
				c.Header("Content-Length", "5000")
				_, _ = c.Writer.WriteString("{")
				c.Writer.Flush()
			},
			"after the header": func(c *gin.Context) { c.Status(http.StatusOK); c.Writer.Flush() },
		} {
			t.Run(name+" "+when, func(t *testing.T) {
				url, log := serve(t, func(m Chain) []gin.HandlerFunc {
					return []gin.HandlerFunc{m.Identify, m.Access, m.Recover, m.Bound, m.Handle(func(c *gin.Context) error {
						begin(c)
						fault()
						return nil
					})}
				})
				resp, body, err := request(t, url)
				aborts := name == "an answer's end"
				switch {
				case strings.HasPrefix(when, "after") && err == nil:
					t.Errorf("the part looks like a whole answer: %s %q", resp.Status, body)
				case strings.HasPrefix(when, "after") && resp != nil && !errors.Is(err, io.ErrUnexpectedEOF):
					t.Errorf("the body ended with %v", err)
				case aborts && err == nil:
					t.Errorf("%s %q", resp.Status, body)
				case !strings.HasPrefix(when, "after") && !aborts:
					if wrong := isInternal(resp, body, err); wrong != "" {
						t.Error(wrong)
					}
				}
				text := log.String()
				if told := strings.Contains(text, `"msg":"a handler panicked"`) && strings.Contains(text, "recover_test.go"); told == aborts {
					t.Errorf("the log: %s", text)
				}
				if !strings.Contains(text, `"msg":"request"`) {
					t.Errorf("the request has no line in the log: %s", text)
				}
				hasNoSecret(t, text+body)
				if name == "an index" && !strings.Contains(text, `"error":"runtime error: index out of range [3] with length 0"`) {
					t.Errorf("the log: %s", text)
				}
			})
		}
	}
}

func TestTheRequestAfterAPanicIsServed(t *testing.T) {
	bad := true
	url, _ := serve(t, func(m Chain) []gin.HandlerFunc {
		return []gin.HandlerFunc{m.Identify, m.Access, m.Recover, func(c *gin.Context) {
			if bad {
				bad = false
				panic("boom")
			}
			c.String(http.StatusOK, "ok")
		}}
	})
	if wrong := isInternal(request(t, url)); wrong != "" {
		t.Error(wrong)
	}
	if resp, body, err := request(t, url); err != nil || resp.StatusCode != http.StatusOK || body != "ok" {
		t.Errorf("%v %q", err, body)
	}
}
