package middleware

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
)

// FuzzBearer compares the reading of Authorization with its rule, written in
// another way: one line, the scheme in any case, one space, and a credential
// without spaces.
func FuzzBearer(f *testing.F) {
	for _, line := range []string{
		"", "Bearer", "Bearer ", "Bearer x", "bearer x", "BEARER x", "Bearer  x", "Bearer\tx", "Bearer x ", " Bearer x", "Bearer x y", "Bearer x\ty", "Bearer x,Bearer y",
		"Basic eDp5", "x", "Bearer a.b.c", "Bearer " + strings.Repeat("a.", 1000), "Bearer \x00", "Bearer é", "\u0432earer x", "Bearer x\r\nX-A: b", "Bearer:x", "Bearer=x",
	} {
		f.Add(line, "", false)
		f.Add("Bearer good", line, true)
	}
	rule := regexp.MustCompile(`(?s)^[Bb][Ee][Aa][Rr][Ee][Rr] ([^ \t]+)$`)
	f.Fuzz(func(t *testing.T, first, second string, two bool) {
		h := http.Header{"Authorization": {first}}
		if two {
			h.Add("Authorization", second)
		}
		got, err := bearer(h)
		want := rule.FindStringSubmatch(first)
		if two {
			want = nil
		}
		if want == nil {
			e := api.AsError(err)
			if err == nil || got != "" || e.Status != http.StatusUnauthorized || e.Code != api.CodeInvalidToken {
				t.Fatalf("%q, %q, %v is taken as %q: %v", first, second, two, got, err)
			}
			if len(first) > 8 && strings.Contains(e.Error(), first) {
				t.Fatalf("the error repeats %q", first)
			}
			return
		}
		if err != nil || got != want[1] {
			t.Fatalf("%q is taken as %q: %v", first, got, err)
		}
		if isToken(got) && len(strings.Split(got, ".")) != 3 {
			t.Fatalf("%q passes for a token", got)
		}
	})
}

// FuzzRequestID checks that an id is always valid in a header and in a line of
// the log.
func FuzzRequestID(f *testing.F) {
	for _, id := range []string{"", "abc-123_X.y:z", "a b", "a\n", "\na", "é", "a\x00", strings.Repeat("x", 128), strings.Repeat("x", 129), `{"a":1}`, "a\u2028"} {
		f.Add(id)
	}
	gin.SetMode(gin.ReleaseMode)
	chain := Chain{Log: slog.New(slog.DiscardHandler), Now: time.Now, Dialect: inChat}
	engine := gin.New()
	engine.GET("/", chain.Identify, func(c *gin.Context) { c.String(http.StatusOK, RequestID(c)) })
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-"
	f.Fuzz(func(t *testing.T, id string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header["X-Request-Id"] = []string{id}
		w := httptest.NewRecorder()
		engine.ServeHTTP(w, r)
		got := w.Header().Get("X-Request-Id")
		good := func(s string) bool { return s != "" && len(s) <= 128 && strings.Trim(s, letters) == "" }
		if !good(got) || w.Body.String() != got || good(id) != (got == id) {
			t.Fatalf("%q became %q", id, got)
		}
	})
}
