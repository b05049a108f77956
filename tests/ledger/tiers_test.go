package ledger

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"

	"modelgateway/tests/gatewaytest"
)

// tieredUpstream answers as OpenAI and as Anthropic, and says that it has served calls in
// the way that the end of the prompt names.
func tieredUpstream(t *testing.T) string {
	return gatewaytest.ServeUpstream(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, served, _ := strings.Cut(string(body), "SERVED ")
		served, _, _ = strings.Cut(served, `"`)
		stream := strings.Contains(string(body), `"stream":true`)
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "/messages"):
			_, _ = fmt.Fprintf(w, `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"fine"}],`+
				`"stop_reason":"end_turn","usage":{"input_tokens":1000,"output_tokens":100,"service_tier":"standard",%s}}`,
				strings.ReplaceAll(served, "'", `"`))
		case stream:
			w.Header().Set("Content-Type", "text/event-stream")
			const head = `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","service_tier":"%[1]s",`
			_, _ = fmt.Fprintf(w, head+`"choices":[{"index":0,"delta":{"role":"assistant","content":"fine"},"finish_reason":null}]}`+"\n\n"+
				head+`"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\n"+
				head+`"choices":[],"usage":{"prompt_tokens":1000,"completion_tokens":100,"total_tokens":1100}}`+"\n\ndata: [DONE]\n\n", served)
		default:
			_, _ = fmt.Fprintf(w, `{"id":"c1","object":"chat.completion","created":1,"model":"m","service_tier":"%s","choices":[{"index":0,`+
				`"message":{"role":"assistant","content":"fine","refusal":null},"finish_reason":"stop"}],`+
				`"usage":{"prompt_tokens":1000,"completion_tokens":100,"total_tokens":1100}}`, served)
		}
	}))
}

// spentBy is what a key of a list has spent, in micro-dollars.
func spentBy(t *testing.T, list gatewaytest.Answer, id string) int {
	t.Helper()
	var keys struct {
		Data []struct {
			ID    string
			Spend float64 `json:"spend_usd"`
		}
	}
	if err := json.Unmarshal([]byte(list.Body), &keys); err != nil {
		t.Fatal(err)
	}
	for _, key := range keys.Data {
		if key.ID == id {
			return int(math.Round(key.Spend * 1e6))
		}
	}
	return -1
}

func TestCallsCostWhatTheirTierSpeedAndSearchesCost(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		url := tieredUpstream(t)
		p := gatewaytest.Start(t, append(settings, gatewaytest.JWTSecret, "OPENAI_API_KEY=k", "OPENAI_BASE_URL="+url, "ANTHROPIC_API_KEY=k",
			"ANTHROPIC_BASE_URL="+url, "HEDGE_AFTER_MS=0")...)
		token := p.Login(t)
		const gpt, opus = `"model":"gpt-5.4"`, `"model":"claude-opus-4-8"`
		const usual, opusUsual = 2500 + 1500, 5000 + 2500 // micro-dollars of 1,000 and 100 tokens
		for _, tt := range []struct {
			body, served string
			cost         int
		}{
			{gpt, "default", usual},
			{gpt + `,"service_tier":"flex"`, "flex", usual / 2},
			{gpt + `,"service_tier":"flex"`, "default", usual},
			{gpt + `,"service_tier":"priority"`, "priority", 2 * usual},
			{gpt + `,"service_tier":"priority"`, "default", usual},
			{gpt + `,"service_tier":"priority"`, "", 2 * usual}, // the answer does not say it
			{gpt, "priority", 2 * usual},                        // the project's default
			{opus, `'inference_geo':'us'`, opusUsual * 11 / 10},
			{opus, `'speed':'fast','inference_geo':'global'`, 2 * opusUsual},
			{opus, `'server_tool_use':{'web_search_requests':2,'web_fetch_requests':1}`, opusUsual + 20_000},
		} {
			for _, stream := range []bool{false, true} {
				if stream && strings.HasPrefix(tt.body, opus) {
					continue
				}
				id, key := p.CreateLimitedKey(t, token, `"budget_usd":50`)
				body := fmt.Sprintf(`{%s,"stream":%v,"max_tokens":200,"messages":[{"role":"user","content":"%sSERVED %s"}]}`,
					tt.body, stream, strings.Repeat("word ", 300), tt.served)
				if a := p.Chat(t, body, "X-API-Key", key); a.Status != 200 || a.Err != nil {
					t.Fatalf("%s: %d %s", body, a.Status, a.Body)
				}
				gatewaytest.Until(t, fmt.Sprintf("%d micro-dollars of %v", tt.cost, tt), func() bool {
					return spentBy(t, p.Call(t, "GET", "/auth/keys", "", token...), id) == tt.cost
				})
			}
		}
	})
}

func TestATierWithoutAPriceIsRefusedUnderABudgetAndCountedWithoutOne(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, gatewaytest.JWTSecret, "OPENAI_API_KEY=k", "OPENAI_BASE_URL="+tieredUpstream(t))
	token := p.Login(t)
	_, limited := p.CreateLimitedKey(t, token, `"budget_usd":50`)
	_, open := p.CreateKey(t, token)
	const body = `{"model":"gpt-4.1-nano-2025-04-14","service_tier":"%s","messages":[{"role":"user","content":"SERVED %[1]s"}]}`
	for tier, status := range map[string]int{"priority": 200, "scale": 400} {
		if a := p.Chat(t, fmt.Sprintf(body, tier), "X-API-Key", limited); a.Status != status {
			t.Errorf("%s: %d %s", tier, a.Status, a.Body)
		}
	}
	if a := p.Chat(t, `{"model":"gpt-5.4-nano","service_tier":"priority","messages":[{"role":"user","content":"SERVED x"}]}`,
		"X-API-Key", limited); a.Status != 400 || !strings.Contains(a.Body, `"param":"service_tier"`) {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := p.Chat(t, fmt.Sprintf(body, "scale"), "X-API-Key", open); a.Status != 200 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	const counted = `modelgateway_usual_price_calls_total{model="gpt-4.1-nano-2025-04-14",provider="openai"} 1`
	gatewaytest.Until(t, counted, func() bool { return strings.Contains(p.Get(t, "/metrics").Body, counted) })
	list := p.Get(t, "/v1/models/gpt-5.4").Body
	if !strings.Contains(list, `"multipliers":{"tier.priority":2,"tier.flex":0.5,"tier.batch":0.5},"fees":{"file_search_request":0.0025,`+
		`"web_search_request":0.01}`) {
		t.Errorf("%s", list)
	}
}
