package middleware

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"

	"modelgateway/api"
	"modelgateway/dialects/chat"
	"modelgateway/models"
	"modelgateway/services/auth"
	"modelgateway/services/ratelimit"
)

// limited serves /at, which answers 200, with a limit of the account that the
// query names.
func limited(t *testing.T, perMinute int) (http.Handler, *int) {
	t.Helper()
	l, err := ratelimit.NewRequests(ratelimit.RequestOptions{
		Name: "test", PerMinute: perMinute, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	gin.SetMode(gin.ReleaseMode)
	engine, reached := gin.New(), new(int)
	chain := Chain{Log: slog.New(slog.DiscardHandler), Now: time.Now, Dialect: inChat}
	engine.Use(chain.Limit(l, func(c *gin.Context) string { return c.Query("account") }))
	engine.GET("/at", func(c *gin.Context) {
		*reached++
		c.String(http.StatusOK, "ok")
	})
	return engine, reached
}

func visit(h http.Handler, account string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/at?account="+account, nil))
	return w
}

func TestEveryAnswerHasTheStatusOfTheLimit(t *testing.T) {
	h, _ := limited(t, 3)
	for _, account := range []string{"a", "b"} {
		for i, remaining := range []string{"2", "1", "0", "0", "0"} {
			w := visit(h, account)
			header := w.Header()
			if header.Get("x-ratelimit-limit-requests") != "3" || header.Get("x-ratelimit-remaining-requests") != remaining {
				t.Errorf("request %d of %s: %v", i, account, header)
			}
			reset, err := time.ParseDuration(header.Get("x-ratelimit-reset-requests"))
			if err != nil || reset < 50*time.Second || reset > time.Minute || reset%time.Second != 0 {
				t.Errorf("request %d of %s: %v", i, account, header)
			}
			if refused := w.Code == http.StatusTooManyRequests; refused != (i >= 3) {
				t.Errorf("request %d of %s: %d", i, account, w.Code)
			}
		}
	}
}

func TestARequestOverTheLimitIsToldWhenToRetry(t *testing.T) {
	h, reached := limited(t, 1)
	visit(h, "a")
	w := visit(h, "a")
	var body struct {
		Error struct{ Type, Code, Message string }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &body, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	wait, err := strconv.Atoi(w.Header().Get("Retry-After"))
	if err != nil || wait < 1 || wait > 60 || !strings.Contains(body.Error.Message, "try again in "+strconv.Itoa(wait)+"s") {
		t.Errorf("Retry-After %q: %s", w.Header().Get("Retry-After"), body.Error.Message)
	}
	if reset := w.Header().Get("x-ratelimit-reset-requests"); reset != (time.Duration(wait) * time.Second).String() {
		t.Errorf("reset after %s, Retry-After %d", reset, wait)
	}
	if w.Code != http.StatusTooManyRequests || body.Error.Type != api.TypeRateLimit || body.Error.Code != api.CodeRateLimitExceeded {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w.Header().Get("x-should-retry") != "true" || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("%v", w.Header())
	}
	if *reached != 1 {
		t.Errorf("the handler was reached %d times", *reached)
	}
}

func TestALimitThatIsOffSetsNoHeaders(t *testing.T) {
	h, reached := limited(t, 0)
	for range 100 {
		w := visit(h, "a")
		for name := range w.Header() {
			if strings.HasPrefix(strings.ToLower(name), "x-ratelimit") {
				t.Fatalf("%v", w.Header())
			}
		}
	}
	if *reached != 100 {
		t.Errorf("the handler was reached %d times", *reached)
	}
}

func TestWholeSecondsAreRoundedUp(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", time.Nanosecond: "1s", time.Second: "1s", 11*time.Second + 1: "12s", time.Minute: "1m0s", time.Minute - 1: "1m0s",
	} {
		if got := WholeSeconds(d).String(); got != want {
			t.Errorf("%d: %s, want %s", d, got, want)
		}
	}
}

func TestAKeysOwnLimitReplacesTheGateways(t *testing.T) {
	for _, gateways := range []int{0, 2, 5} {
		l, err := ratelimit.NewRequests(ratelimit.RequestOptions{Name: "own", PerMinute: gateways, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		levels := models.Levels{{Account: models.KeyAccount("k"), Limits: models.Limits{Numbers: models.Numbers{RPMLimit: 3}}}}
		chain := Chain{Log: slog.New(slog.DiscardHandler), Now: time.Now, Dialect: inChat}
		gin.SetMode(gin.ReleaseMode)
		engine := gin.New()
		engine.Use(func(c *gin.Context) { setCaller(c, auth.Caller{KeyID: "k", Levels: levels}) }, chain.Limit(l, Account))
		engine.GET("/at", func(c *gin.Context) { c.String(http.StatusOK, "ok") })
		for i, want := range []string{"2", "1", "0", "0"} {
			w := visit(engine, "")
			header := w.Header()
			if header.Get("x-ratelimit-limit-requests") != "3" || header.Get("x-ratelimit-remaining-requests") != want ||
				(w.Code == http.StatusOK) != (i < 3) {
				t.Errorf("%d, request %d: %d %v", gateways, i, w.Code, header)
			}
		}
		levels[0].RPMLimit = 0
		if got, want := visit(engine, "").Code == http.StatusOK, gateways != 2; got != want {
			t.Errorf("%d, the fifth request under the gateway's own: %v", gateways, got)
		}
	}
}

// inChat writes errors as chat completions have them.
func inChat(*gin.Context) *api.Dialect { return chat.Dialect() }
