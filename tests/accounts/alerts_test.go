package accounts

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modelgateway/services/mail/mailtest"
	"modelgateway/tests/gatewaytest"
)

// A provider that fails, and a model in use that ends soon, are told once in each way, by one of two replicas.
func TestAlertsAreToldOnceByWebhookAndMail(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		var mu sync.Mutex
		var posts []string
		hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			mu.Lock()
			defer mu.Unlock()
			posts = append(posts, string(body))
		}))
		t.Cleanup(hook.Close)
		told := func(what string) (n int) {
			mu.Lock()
			defer mu.Unlock()
			for _, p := range posts {
				if strings.Contains(p, what) {
					n++
				}
			}
			return n
		}
		var down atomic.Bool
		upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if w.Header().Set("Content-Type", "application/json"); down.Load() {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			_, _ = io.WriteString(w, `{"id":"c","object":"chat.completion","created":1,"model":"gpt-4.1","choices":[{"index":0,"message":`+
				`{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`)
		}))
		t.Cleanup(upstream.Close)
		mails := mailtest.Serve(t)
		models := filepath.Join(t.TempDir(), "models.yaml")
		ends := time.Now().UTC().AddDate(0, 0, 9).Format(time.DateOnly)
		if err := os.WriteFile(models, []byte("models:\n  - {id: old-model, provider: openai, upstream: gpt-4.1, ends: "+ends+"}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		settings = append(settings, "OPENAI_API_KEY=sk-1", "OPENAI_BASE_URL="+upstream.URL, "MODEL_DISCOVERY=false", "MODELS_FILE="+models,
			gatewaytest.JWTSecret, adminSetting, "ALERT_WEBHOOK_URL="+hook.URL+"/hidden", "ALERT_WEBHOOK_SECRET=whsec_c2VjcmV0IG9mIGEgd2ViaG9vayBpbiBhIHRlc3QgISE=",
			"ALERT_EMAIL=ops@example.com", "SMTP_URL="+mails.URL, "SMTP_FROM=gateway@example.com", "RATE_LIMIT_RPM=0", "MAX_RETRIES=0")
		here := gatewaytest.Start(t, settings...)
		there := gatewaytest.Start(t, settings...)
		root := loginAs(t, here, "root")
		call := func(p *gatewaytest.Program) {
			p.Call(t, "POST", "/v1/chat/completions", `{"model":"old-model",`+gatewaytest.HiMessages+`}`)
		}
		call(here)
		call(there)
		down.Store(true)
		gatewaytest.Until(t, "the failure is told", func() bool {
			call(here)
			call(there)
			return told(`"type":"provider.failed"`) > 0
		})
		if err := there.Stop(); err != nil {
			t.Error(err)
		}
		gatewaytest.Start(t, settings...) // models in use are looked at by each start
		gatewaytest.Until(t, "the end of the model is told", func() bool { return told(`"type":"model.retires"`) > 0 })

		test := must(t, 200, here.Call(t, "POST", "/admin/alerts/test", "", root...))
		if n := strings.Count(test.Body, `"state":"delivered"`); n != 2 || told(`"type":"test"`) != 1 {
			t.Errorf("%s", test.Body)
		}
		list := must(t, 200, here.Call(t, "GET", "/admin/alerts", "", root...))
		if strings.Contains(list.Body, "hidden") || !strings.Contains(list.Body, `"to":"ops@example.com"`) {
			t.Error(list.Body)
		}
		gatewaytest.Until(t, "all are delivered", func() bool {
			return strings.Count(here.Call(t, "GET", "/admin/alerts", "", root...).Body, `"state":"delivered"`) == 6
		})
		var subjects []string
		for _, m := range mails.Mails() {
			if strings.Contains(m.To, "ops@example.com") {
				subjects = append(subjects, m.Subject)
			}
		}
		for _, event := range []string{"provider.failed", "model.retires", "test"} {
			if n := told(`"type":"` + event + `"`); n != 1 {
				t.Errorf("%s was told %d times", event, n)
			}
		}
		for _, text := range []string{"openai fails", "old-model is served until", "This is a test"} {
			if n := len(slices.DeleteFunc(slices.Clone(subjects), func(s string) bool { return !strings.Contains(s, text) })); n != 1 {
				t.Errorf("%q was mailed %d times", text, n)
			}
		}
		page := must(t, 200, here.Call(t, "GET", "/admin/alerts?limit=3", "", root...))
		rows := listData(t, page)
		if next := listData(t, here.Call(t, "GET", fmt.Sprintf("/admin/alerts?limit=200&after=%v", rows[2]["id"]), "", root...)); len(rows) != 3 || len(next) != 3 {
			t.Errorf("%d and %d", len(rows), len(next))
		}
	})
}

// A key is tried at the address of the settings only, and leaves no trace.
func TestAKeyIsTriedAndNeitherKeptNorLogged(t *testing.T) {
	t.Parallel()
	const key = "sk-tried-4f6e0c2d9b7a"
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(other.Close)
	var answer atomic.Pointer[http.HandlerFunc]
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*answer.Load())(w, r) }))
	t.Cleanup(upstream.Close)
	settings := []string{"DATABASE_URL=sqlite:" + t.TempDir() + "/x.db"}
	p := gatewaytest.Start(t, append(settings, "OPENAI_BASE_URL="+upstream.URL, gatewaytest.JWTSecret, adminSetting, "LOG_LEVEL=debug", "AUTH_RATE_LIMIT_RPM=30")...)
	root := loginAs(t, p, "root")
	try := func(body string) gatewaytest.Answer { return p.Call(t, "POST", "/admin/providers/try", body, root...) }
	for _, tt := range []struct {
		name, want string
		answer     http.HandlerFunc
	}{
		{"a list", `"works":true,"models":2`, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer "+key || r.Method != "GET" {
				t.Errorf("%s %v", r.Method, r.Header)
			}
			_, _ = io.WriteString(w, `{"data":[{"id":"gpt-4.1"},{"id":"gpt-5"}]}`)
		}},
		{"a refusal that shows the key", `"works":false,"models":0,"error":"openai: status 401`, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"error":{"message":"Incorrect key <`+key+`> at http://10.0.0.7/x of org-secret123"}}`)
		}},
		{"a redirect", `redirect`, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		}},
		{"a huge answer", `"works":false`, func(w http.ResponseWriter, _ *http.Request) {
			piece := strings.Repeat("x", 1<<20)
			for range 300 {
				if _, err := io.WriteString(w, piece); err != nil {
					return
				}
			}
		}},
		{"no answer", `did not answer within 10s`, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
	} {
		answer.Store(&tt.answer)
		a := try(`{"preset":"openai","key":"` + key + `"}`)
		if a.Status != 200 || !strings.Contains(a.Body, tt.want) || strings.Contains(a.Body, key) || strings.Contains(a.Body, "10.0.0.7") ||
			strings.Contains(a.Body, "org-secret123") {
			t.Errorf("%s: %d %s", tt.name, a.Status, a.Body)
		}
	}
	for _, body := range []string{
		`{"preset":"` + other.URL + `","key":"k"}`, `{"preset":"openai","key":"k","base_url":"` + other.URL + `"}`, `{"preset":"ollama","key":"k"}`,
		`{"preset":"azure","key":"k"}`, `{"preset":"openai","key":"a\nX-Injected: b"}`, `{"preset":"openai","key":""}`, `{"preset":"openai","key":"a,b"}`,
		`{"preset":"openai","key":"` + strings.Repeat("k", 5000) + `"}`, `{"preset":"openai","key":5}`, `{"preset":"","key":"k"}`,
	} {
		if a := try(body); a.Status != 400 {
			t.Errorf("%.60s: %d %s", body, a.Status, a.Body)
		}
	}
	if n := elsewhere.Load(); n != 0 {
		t.Errorf("another address was asked %d times", n)
	}
	audit := p.Call(t, "GET", "/admin/audit?action=provider.", "", root...)
	if strings.Count(audit.Body, `"action":"provider.try"`) != 5 || strings.Contains(audit.Body, key) {
		t.Error(audit.Body)
	}
	if text := p.Log.String(); strings.Contains(text, key) || !strings.Contains(text, "/admin/providers/try") {
		t.Error("the log has the key, or nothing of the request")
	}
	must(t, 403, p.Call(t, "POST", "/admin/providers/try", `{"preset":"openai","key":"k"}`, loginAs(t, p, "eve")...))
	gatewaytest.Until(t, "tries are limited", func() bool { return try(`{"preset":"openai","key":""}`).Status == 429 })
}
