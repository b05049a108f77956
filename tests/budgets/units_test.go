package budgets

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"modelgateway/tests/gatewaytest"
)

// unitModels are priced by other units than tokens.
const unitModels = `models:
  - {id: painter, provider: openai, max_output: 100, price: {input: 1, output: 2, fees: {request: 0.01, image: 0.04}}}
  - {id: gem, provider: gemini, upstream: gemini-2.5-flash-image, max_output: 100, price: {fees: {request: 0.01, image: 0.04}}}
  - {id: reader, provider: openai, max_output: 100, price: {output: 1, reasoning: 4, fees: {character: 0.000015}}}
  - {id: film, provider: openai, price: {fees: {second: 0.1}}}
`

// paint answers with as many images as the prompt says, of ten tokens for five; and with a token of
// reasoning.
func paint(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var images int
	_, after, _ := strings.Cut(string(body), "paint ")
	_, _ = fmt.Sscan(after, &images)
	if strings.Contains(r.URL.Path, "gemini") {
		parts := strings.Repeat(`{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgo="}},`, images) + `{"text":"there"}`
		answer := `{"candidates":[{"content":{"parts":[` + parts + `],"role":"model"},"finishReason":"STOP","index":0}],` +
			`"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":5,"totalTokenCount":15},"responseId":"x"}`
		if strings.Contains(r.URL.Path, "stream") {
			w.Header().Set("Content-Type", "text/event-stream")
			answer = "data: " + answer + "\r\n\r\n"
		}
		_, _ = io.WriteString(w, answer)
		return
	}
	image := `{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}`
	all := strings.TrimSuffix(strings.Repeat(image+",", images), ",")
	const usage = `"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"completion_tokens_details":{"reasoning_tokens":1}}`
	if strings.Contains(string(body), `"stream":true`) {
		const head = `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"painter",`
		w.Header().Set("Content-Type", "text/event-stream")
		begin := `"choices":[{"index":0,"delta":{"role":"assistant","content":"","images":[` + all + `]},"finish_reason":null}]}` + "\n\n"
		_, _ = io.WriteString(w, head+begin+head+`"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\n"+head+`"choices":[],`+usage+"}\n\ndata: [DONE]\n\n")
		return
	}
	_, _ = io.WriteString(w, `{"id":"c","object":"chat.completion","created":1,"model":"painter",`+
		`"choices":[{"index":0,"message":{"role":"assistant","content":"there","refusal":null,"images":[`+all+`]},"finish_reason":"stop"}],`+usage+`}`)
}

func TestModelsAreChargedByTheUnitsOfTheirPrice(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "models.yaml")
	if err := os.WriteFile(file, []byte(unitModels), 0o600); err != nil {
		t.Fatal(err)
	}
	upstream := gatewaytest.ServeUpstream(t, http.HandlerFunc(paint))
	p := gatewaytest.Start(t, "MODELS_FILE="+file, "OPENAI_API_KEY=sk-x", "OPENAI_BASE_URL="+upstream, "GEMINI_API_KEY=sk-x",
		"GEMINI_BASE_URL="+upstream, "REQUIRE_AUTH=true", gatewaytest.JWTSecret, "RATE_LIMIT_RPM=10000")
	token := p.Login(t)
	key := func(dollars, reserve string) []string {
		_, key := p.CreateLimitedKey(t, token, `"budget_usd":`+dollars+`,"budget_window":"month","budget_reserve":`+reserve)
		return []string{"Authorization", "Bearer " + key}
	}
	asking := func(model, more string) string {
		return `{"model":"` + model + `","max_tokens":100,` + more + `"messages":[{"role":"user","content":"paint 2 pictures"}]}`
	}
	for _, tt := range []struct {
		path, model, more, cost string
		parts                   []string
	}{
		// 10 × 1 + 5 × 2 + 10,000 + 2 × 40,000
		{"/v1/chat/completions", "painter", "", "0.09002", []string{"input 10", "output 5", "request 1", "image 2"}},
		{"/v1/chat/completions", "painter", `"stream":true,`, "0.09002", []string{"input 10", "output 5", "request 1", "image 2"}},
		{"/v1/messages", "painter", "", "0.09002", []string{"input 10", "output 5", "request 1", "image 2"}},
		{"/v1/messages", "painter", `"stream":true,`, "0.09002", []string{"input 10", "output 5", "request 1", "image 2"}},
		{"/v1/chat/completions", "gem", "", "0.09", []string{"input 10", "output 5", "request 1", "image 2"}},
		{"/v1/chat/completions", "gem", `"stream":true,`, "0.09", []string{"input 10", "output 5", "request 1", "image 2"}},
		// 4 × 1 + 1 × 4 + 16 × 15
		{"/v1/chat/completions", "reader", "", "0.000248", []string{"input 10", "output 4", "reasoning 1", "character 16"}},
	} {
		name := tt.path + " " + tt.model + " " + tt.more
		credential := key("1", "null")
		if a := p.Call(t, "POST", tt.path, asking(tt.model, tt.more), credential...); a.Status != 200 {
			t.Fatalf("%s: %d %s", name, a.Status, a.Body)
		}
		var list struct{ Data []struct{ ID string } }
		gatewaytest.Until(t, "the call is booked", func() bool {
			p.Call(t, "GET", "/v1/calls", "", credential...).JSON(t, &list)
			return len(list.Data) == 1
		})
		var call struct {
			Priced  bool
			CostUSD json.Number `json:"cost_usd"`
			Costs   []struct {
				What, Unit string
				Amount     int64
				Cost       json.Number `json:"cost_usd"`
			}
		}
		p.Call(t, "GET", "/v1/calls/"+list.Data[0].ID, "", credential...).JSON(t, &call)
		var parts []string
		for _, c := range call.Costs {
			parts = append(parts, fmt.Sprint(c.What, " ", c.Amount))
			if unit := map[string]string{"input": "token", "output": "token", "reasoning": "token"}[c.What]; c.Unit != unit && c.Unit != c.What {
				t.Errorf("%s: %+v", name, c)
			}
		}
		if call.CostUSD.String() != tt.cost || !call.Priced || strings.Join(parts, ", ") != strings.Join(tt.parts, ", ") {
			t.Errorf("%s: %s of %q, not %s of %q", name, call.CostUSD, parts, tt.cost, tt.parts)
		}
	}
	for _, tt := range []struct {
		model, dollars, reserve string
		status                  int
	}{
		{"painter", "0.05", "null", 402}, // a request and an image are five cents, and there are tokens
		{"painter", "0.051", "null", 200},
		{"painter", "0.41", `"worst"`, 402}, // a request and ten images
		{"painter", "0.415", `"worst"`, 200},
		{"gem", "0.049", "null", 402},
		{"gem", "0.05", "null", 200},
		{"film", "100", "null", 403},
	} {
		credential := key(tt.dollars, tt.reserve)
		if a := p.Call(t, "POST", "/v1/chat/completions", asking(tt.model, ""), credential...); a.Status != tt.status {
			t.Errorf("%s with %s, %s: %d %s", tt.model, tt.dollars, tt.reserve, a.Status, a.Body)
		}
	}
	if a := p.Call(t, "POST", "/v1/chat/completions", asking("film", ""), token...); a.Status != 200 {
		t.Errorf("without a budget: %d %s", a.Status, a.Body)
	}
	var models struct {
		Data []struct {
			ID    string
			Price struct {
				Reasoning json.Number
				Fees      map[string]json.Number
			} `json:"price_usd_per_million_tokens"`
		}
	}
	p.Call(t, "GET", "/v1/models", "", token...).JSON(t, &models)
	shown := map[string]string{}
	for _, m := range models.Data {
		shown[m.ID] = fmt.Sprint(m.Price.Reasoning, m.Price.Fees)
	}
	for id, want := range map[string]string{
		"painter": "map[image:0.04 request:0.01]", "reader": "4map[character:0.000015]", "film": "map[second:0.1]",
	} {
		if shown[id] != want {
			t.Errorf("%s is shown with %s", id, shown[id])
		}
	}
}

func TestMoreThanTwiceTheBoundOfImagesIsNotBooked(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "models.yaml")
	if err := os.WriteFile(file, []byte(unitModels), 0o600); err != nil {
		t.Fatal(err)
	}
	upstream := gatewaytest.ServeUpstream(t, http.HandlerFunc(paint))
	p := gatewaytest.Start(t, "MODELS_FILE="+file, "OPENAI_API_KEY=sk-x", "OPENAI_BASE_URL="+upstream, "REQUIRE_AUTH=true",
		gatewaytest.JWTSecret)
	_, text := p.CreateLimitedKey(t, p.Login(t), `"budget_usd":1,"budget_window":"month"`)
	credential := []string{"Authorization", "Bearer " + text}
	body := `{"model":"painter","max_tokens":100,"messages":[{"role":"user","content":"paint 30 pictures"}]}`
	if a := p.Call(t, "POST", "/v1/chat/completions", body, credential...); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	var list struct {
		Data []struct {
			ID        string
			Estimated bool
			Cost      json.Number `json:"cost_usd"`
		}
	}
	gatewaytest.Until(t, "the call is booked", func() bool {
		p.Call(t, "GET", "/v1/calls", "", credential...).JSON(t, &list)
		return len(list.Data) == 1
	})
	if c := list.Data[0]; !c.Estimated || !strings.HasPrefix(c.Cost.String(), "0.41") { // a request, ten images and the tokens
		t.Errorf("%+v", c)
	}
	if a := p.Call(t, "GET", "/v1/calls/"+list.Data[0].ID, "", credential...); !strings.Contains(a.Body, `"costs":[]`) {
		t.Error(a.Body)
	}
}
