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

	"modelgateway/api"
	"modelgateway/controllers"
	"modelgateway/dialects/chat"
	"modelgateway/middleware"
	"modelgateway/models"
	"modelgateway/services/ledger"
	"modelgateway/tests/storetest"
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
			FirstTokenUS:     80_000,
			DurationUS:       300_000,
			BeganAt:          now.UnixMicro(),
		},
		{ID: "b", Model: "m2", Outcome: models.OutcomeInternal, Estimated: true, BeganAt: now.UnixMicro()},
	}
	if err := store.WriteCalls(t.Context(), "r", calls); err != nil {
		t.Fatal(err)
	}
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	chain := quietChain()
	h := controllers.Usage{Service: ledger.NewUsage(store, func() time.Time { return now })}
	engine.GET("/admin/usage", chain.Identify, middleware.All.Set, chain.Handle(h.Show))
	validator, err := webtest.NewValidator()
	if err != nil {
		t.Fatal(err)
	}
	const totals = `"total":{"calls":2,"failed":1,"estimated":1,"unpriced":1,"input_tokens":5,"cached_tokens":4,"cache_write_tokens":3,"output_tokens":2,"reasoning_tokens":1,"total_tokens":7,"cost_usd":1.5},"refused":{}}`
	for query, want := range map[string]string{
		"": `{"object":"list","from":"2026-10-23","to":"2026-11-21","group_by":["day"],"data":[{"day":"2026-11-21","calls":2,"failed":1,"estimated":1,"unpriced":1,"input_tokens":5,"cached_tokens":4,"cache_write_tokens":3,"output_tokens":2,"reasoning_tokens":1,"total_tokens":7,"cost_usd":1.5}],` + totals,
		"?from=2026-11-21&group_by=user,key,model": `{"object":"list","from":"2026-11-21","to":"2026-11-21","group_by":["user","key","model"],"data":[` +
			`{"user_id":null,"key_id":null,"model":"m2","provider":null,"calls":1,"failed":1,"estimated":1,"unpriced":1,"input_tokens":0,"cached_tokens":0,"cache_write_tokens":0,"output_tokens":0,"reasoning_tokens":0,"total_tokens":0,"cost_usd":0},` +
			`{"user_id":"ada","key_id":"k1","model":"m1","provider":"openai","calls":1,"failed":0,"estimated":0,"unpriced":0,"input_tokens":5,"cached_tokens":4,"cache_write_tokens":3,"output_tokens":2,"reasoning_tokens":1,"total_tokens":7,"cost_usd":1.5}],` + totals,
		"?user_id=bob":                       `"data":[],"total":{"calls":0`,
		"?key_id=k1&model=m1":                `"total":{"calls":1,"failed":0`,
		"?model=m2&group_by=user":            `"data":[{"user_id":null,"calls":1`,
		"?provider=openai&group_by=provider": `"group_by":["provider"],"data":[{"provider":"openai","calls":1,`,
		"?from=2026-11-21&step=6h&time_zone=Asia/Kolkata&group_by=model&previous=true": `"time_zone":"Asia/Kolkata","step":"6h","series":{` +
			`"times":[1795199400,1795221000,1795242600,1795264200],"groups":[` +
			`{"model":"m1","provider":"openai","calls":[0,0,1,0],"failed":[0,0,0,0],"cost_usd":[0,0,1.5,0],"input_tokens":[0,0,5,0],` +
			`"cached_tokens":[0,0,4,0],"output_tokens":[0,0,2,0],"reasoning_tokens":[0,0,1,0]},` +
			`{"model":"m2","provider":null,"calls":[0,0,1,0],"failed":[0,0,1,0],"cost_usd":[0,0,0,0],"input_tokens":[0,0,0,0],` +
			`"cached_tokens":[0,0,0,0],"output_tokens":[0,0,0,0],"reasoning_tokens":[0,0,0,0]}],` +
			`"first_token_ms":{"p50":[null,null,85,null],"p95":[null,null,85,null]},` +
			`"duration_ms":{"p50":[null,null,0,null],"p95":[null,null,286,null]},` +
			`"errors":[{"code":"internal_error","calls":[0,0,1,0]}]},` +
			`"previous":{"from":"2026-11-20","to":"2026-11-20","total":{"calls":0,`,
		"?from=2026-11-21T11:58:20Z&step=1m": `"from":"2026-11-21T11:58:00Z","to":"2026-11-21T12:00:00Z","group_by":[],"data":[],`,
		"?step=1d&time_zone=Mars":            `"code":"invalid_value","param":"time_zone"`,
		"?step=1d&previous=yes":              `"code":"invalid_value","param":"previous"`,
		"?page=2":                            `"code":"invalid_value","param":"page"`,
		"?user_id=":                          `"param":"user_id"`,
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

func TestUsageIsATableForClientsThatAcceptCSV(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	d := storetest.SQLite(t)
	calls := []models.Call{{
		ID: "a", UserID: "ada", KeyID: "k", Model: "=HYPERLINK(\"x\"),1", Provider: "openai", Outcome: models.OutcomeOK, Priced: true,
		Cost: 1_500_000, InputTokens: 5, OutputTokens: 2, DurationUS: 300_000, BeganAt: now.UnixMicro(),
	}}
	if err := d.Store.WriteCalls(t.Context(), "r", calls); err != nil {
		t.Fatal(err)
	}
	engine := gin.New()
	chain := quietChain()
	h := controllers.Usage{Service: ledger.NewUsage(d.Store, func() time.Time { return now })}
	engine.GET("/admin/usage", chain.Identify, middleware.All.Set, chain.Handle(h.Show))
	for query, want := range map[string]string{
		"?group_by=model,user": "user_id,user_email,user_deleted_at,model,provider,calls,failed,estimated,unpriced,input_tokens,cached_tokens," +
			"cache_write_tokens,output_tokens,reasoning_tokens,total_tokens,cost_usd,cache_misses,cache_miss_cost_usd\n" +
			"ada,ada@example.com,,\"'=HYPERLINK(\"\"x\"\"),1\",openai,1,0,0,0,5,0,0,2,0,7,1.5,0,0\n",
		"?group_by=provider&previous=true": "provider,calls,failed,estimated,unpriced,input_tokens,cached_tokens,cache_write_tokens," +
			"output_tokens,reasoning_tokens,total_tokens,cost_usd,cache_misses,cache_miss_cost_usd,first_token_ms_p50,first_token_ms_p95,duration_ms_p50,duration_ms_p95\n" +
			"openai,1,0,0,0,5,0,0,2,0,7,1.5,0,0,,,286,286\n",
		"?from=2026-11-21T11:40:00Z&to=2026-11-21T12:10:00Z&step=15m&time_zone=Europe/Berlin": "time,other_groups,calls,failed,input_tokens," +
			"cached_tokens,output_tokens,reasoning_tokens,cost_usd\n" +
			"2026-11-21T11:30:00Z,0,0,0,0,0,0,0,0\n2026-11-21T11:45:00Z,0,0,0,0,0,0,0,0\n2026-11-21T12:00:00Z,0,1,0,5,0,2,0,1.5\n",
	} {
		r := httptest.NewRequest(http.MethodGet, "/admin/usage"+query, nil)
		r.Header.Set("Accept", "application/xml;q=0.5, text/csv;q=0.9")
		w := httptest.NewRecorder()
		engine.ServeHTTP(w, r)
		if w.Body.String() != want || w.Header().Get("Content-Type") != "text/csv; charset=utf-8" ||
			!strings.HasPrefix(w.Header().Get("Content-Disposition"), `attachment; filename="usage-2026-1`) {
			t.Errorf("%s: %v\n%s\n%s", query, w.Header(), w.Body, want)
		}
	}
}

// quietChain logs nothing, and writes errors as chat completions have them.
func quietChain() middleware.Chain {
	return middleware.Chain{
		Log: slog.New(slog.DiscardHandler), Now: time.Now, Dialect: func(*gin.Context) *api.Dialect { return chat.Dialect() },
	}
}
