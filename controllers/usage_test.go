package controllers_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"modelgateway/controllers"
	"modelgateway/middleware"
	"modelgateway/models"
	"modelgateway/services/ledger"
	"modelgateway/web/webtest"
)

func TestAdminUsageMatchesTheDocument(t *testing.T) {
	store, err := models.Open("sqlite:" + filepath.Join(t.TempDir(), "gateway.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	if err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	calls := []models.Call{
		{
			ID:               "a",
			UserID:           "ada",
			KeyID:            "k1",
			Model:            "m1",
			Provider:         "openai",
			Outcome:          models.OutcomeOK,
			Priced:           true,
			Cost:             1_500_000,
			InputTokens:      5,
			CachedTokens:     4,
			CacheWriteTokens: 3,
			OutputTokens:     2,
			ReasoningTokens:  1,
			BeganAt:          now.UnixMicro(),
		},
		{ID: "b", Model: "m2", Outcome: models.OutcomeInternal, Estimated: true, BeganAt: now.UnixMicro()},
	}
	if err := store.WriteCalls(t.Context(), "r", calls); err != nil {
		t.Fatal(err)
	}
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	chain := middleware.Chain{Log: slog.New(slog.DiscardHandler), Now: time.Now}
	h := controllers.Usage{Service: ledger.NewUsage(store, func() time.Time { return now })}
	engine.GET("/admin/usage", chain.Identify, chain.Handle(h.All))
	validator, err := webtest.NewValidator()
	if err != nil {
		t.Fatal(err)
	}
	const totals = `"total":{"calls":2,"failed":1,"estimated":1,"unpriced":1,"input_tokens":5,"cached_tokens":4,"cache_write_tokens":3,"output_tokens":2,"reasoning_tokens":1,"total_tokens":7,"cost_usd":1.5}}`
	for query, want := range map[string]string{
		"": `{"object":"list","from":"2026-10-23","to":"2026-11-21","group_by":["day"],"data":[{"day":"2026-11-21","calls":2,"failed":1,"estimated":1,"unpriced":1,"input_tokens":5,"cached_tokens":4,"cache_write_tokens":3,"output_tokens":2,"reasoning_tokens":1,"total_tokens":7,"cost_usd":1.5}],` + totals,
		"?from=2026-11-21&group_by=user,key,model": `{"object":"list","from":"2026-11-21","to":"2026-11-21","group_by":["user","key","model"],"data":[` +
			`{"user_id":null,"key_id":null,"model":"m2","provider":null,"calls":1,"failed":1,"estimated":1,"unpriced":1,"input_tokens":0,"cached_tokens":0,"cache_write_tokens":0,"output_tokens":0,"reasoning_tokens":0,"total_tokens":0,"cost_usd":0},` +
			`{"user_id":"ada","key_id":"k1","model":"m1","provider":"openai","calls":1,"failed":0,"estimated":0,"unpriced":0,"input_tokens":5,"cached_tokens":4,"cache_write_tokens":3,"output_tokens":2,"reasoning_tokens":1,"total_tokens":7,"cost_usd":1.5}],` + totals,
		"?user_id=bob":            `"data":[],"total":{"calls":0`,
		"?key_id=k1&model=m1":     `"total":{"calls":1,"failed":0`,
		"?model=m2&group_by=user": `"data":[{"user_id":null,"calls":1`,
		"?page=2":                 `"code":"invalid_value","param":"page"`,
		"?user_id=":               `"param":"user_id"`,
	} {
		r := httptest.NewRequest(http.MethodGet, "/admin/usage"+query, nil)
		w := httptest.NewRecorder()
		engine.ServeHTTP(w, r)
		if err := validator.Response(r, w.Code, w.Header(), w.Body.Bytes()); err != nil {
			t.Errorf("%s: %v", query, err)
		}
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %s", query, w.Body)
		}
	}
}
