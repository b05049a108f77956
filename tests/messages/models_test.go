package messages

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
)

// modelPage is one page of the list of models.
type modelPage struct {
	Data []struct {
		Type, ID, Lifecycle string
		DisplayName         string    `json:"display_name"`
		CreatedAt           time.Time `json:"created_at"`
		MaxInput            *int64    `json:"max_input_tokens"`
		MaxTokens           *int64    `json:"max_tokens"`
		Capabilities        map[string]struct{ Supported bool }
	}
	HasMore bool    `json:"has_more"`
	FirstID *string `json:"first_id"`
	LastID  *string `json:"last_id"`
}

func (m modelPage) ids() (all []string) {
	for _, model := range m.Data {
		all = append(all, model.ID)
	}
	return all
}

func models(t *testing.T, p *gatewaytest.Program, query string, headers ...string) modelPage {
	t.Helper()
	a := p.Call(t, "GET", "/v1/models"+query, "", append(headers, "Anthropic-Version", "2023-06-01")...)
	var page modelPage
	if err := json.Unmarshal([]byte(a.Body), &page); err != nil || a.Status != 200 || a.Header.Get("Request-Id") == "" {
		t.Fatalf("%s: %d %s %v", query, a.Status, a.Body, a.Header)
	}
	return page
}

func TestModelsHaveAnthropicsFormForItsClients(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "ANTHROPIC_API_KEY=sk-a", "OPENAI_API_KEY=sk-o", "REQUIRE_AUTH=true", gatewaytest.JWTSecret,
		"MODEL_ALIASES=claude-via-gpt=gpt-6-luna;claude-opus-9*="+haiku)
	token := p.Login(t)
	_, key := p.CreateKey(t, token)
	_, narrow := p.CreateLimitedKey(t, token, `"models":["claude-via-gpt"]`)
	with := []string{"X-Api-Key", key}
	all := models(t, p, "?limit=1000", with...)
	if ids := all.ids(); !slices.Contains(ids, haiku) || !slices.Contains(ids, "claude-via-gpt") || slices.Contains(ids, "gemini-2.5-flash") ||
		slices.Contains(ids, "claude-sonnet-4-20250514") || all.HasMore || *all.FirstID != ids[0] || *all.LastID != ids[len(ids)-1] {
		t.Errorf("%v", ids)
	}
	for _, m := range all.Data {
		if m.Type != "model" || m.CreatedAt.IsZero() || m.Lifecycle != "active" && m.Lifecycle != "deprecated" {
			t.Errorf("%+v", m)
		}
		if m.ID == haiku && (*m.MaxInput != 200_000 || *m.MaxTokens != 64_000 || !m.Capabilities["image_input"].Supported ||
			!m.Capabilities["thinking"].Supported || !m.Capabilities["code_execution"].Supported || m.Capabilities["batch"].Supported) {
			t.Errorf("%+v", m)
		}
		if m.ID == "claude-via-gpt" && (m.DisplayName != "claude-via-gpt (gpt-6-luna)" || *m.MaxInput < 100_000 ||
			m.Capabilities["code_execution"].Supported || !m.Capabilities["structured_outputs"].Supported) {
			t.Errorf("%+v", m)
		}
	}
	if ids := models(t, p, "", "X-Api-Key", narrow).ids(); !slices.Equal(ids, []string{"claude-via-gpt"}) {
		t.Errorf("a limited key: %v", ids)
	}
	for name, want := range map[string]string{haiku: haiku, "claude-via-gpt": "claude-via-gpt", "claude-opus-99": "claude-opus-99"} {
		a := p.Call(t, "GET", "/v1/models/"+name, "", append(with, "Anthropic-Version", "x")...)
		if a.Status != 200 || !strings.Contains(a.Body, `"id":"`+want+`"`) || !strings.Contains(a.Body, `"type":"model"`) {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
	for _, name := range []string{"nothing", "gemini-2.5-flash", "claude-sonnet-4-20250514"} {
		a := p.Call(t, "GET", "/v1/models/"+name, "", append(with, "Anthropic-Version", "x")...)
		if e := a.Problem(t); a.Status != 404 || e.Error.Type != "not_found_error" {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
	for _, at := range []string{"/v1/models", "/v1/models/" + haiku, "/v1/models/nothing"} {
		get, head := p.Call(t, "GET", at, "", append(with, "Anthropic-Version", "x")...), p.Call(t, "HEAD", at, "", append(with, "Anthropic-Version", "x")...)
		if head.Status != get.Status || head.Body != "" {
			t.Errorf("HEAD %s: %d %q", at, head.Status, head.Body)
		}
	}
	if a := p.Call(t, "GET", "/v1/models", "", with...); !strings.Contains(a.Body, `"object":"list"`) {
		t.Errorf("without the version: %s", a.Body)
	}
}

func TestModelsComeInPages(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "SIMULATOR=true", "MODELS_LISTED=all")
	whole := models(t, p, "?limit=1000").ids()
	if first := models(t, p, ""); len(first.Data) != 20 || !first.HasMore {
		t.Errorf("%d without a limit", len(first.Data))
	}
	for _, limit := range []string{"7", "1000"} {
		var forth, back []string
		for page := models(t, p, "?limit="+limit); ; page = models(t, p, "?limit="+limit+"&after_id="+*page.LastID) {
			forth = append(forth, page.ids()...)
			if !page.HasMore {
				break
			}
		}
		for page := models(t, p, "?limit="+limit+"&before_id="+whole[len(whole)-1]); ; page = models(t, p, "?limit="+limit+"&before_id="+*page.FirstID) {
			back = append(page.ids(), back...)
			if !page.HasMore {
				break
			}
		}
		if !slices.Equal(forth, whole) || !slices.Equal(back, whole[:len(whole)-1]) {
			t.Errorf("%s a page: %d forth, %d back, %d in all", limit, len(forth), len(back), len(whole))
		}
	}
	if last := models(t, p, "?after_id="+whole[len(whole)-1]); len(last.Data) != 0 || last.FirstID != nil || last.HasMore {
		t.Errorf("after the last one: %+v", last)
	}
	for _, query := range []string{"limit=0", "limit=1001", "limit=x", "after_id=nothing", "before_id=nothing", "after_id=" + haiku + "&before_id=" + haiku} {
		a := p.Call(t, "GET", "/v1/models?"+query, "", "Anthropic-Version", "2023-06-01")
		if e := a.Problem(t); a.Status != 400 || e.Error.Type != "invalid_request_error" || !strings.Contains(e.Error.Message, query[:strings.IndexByte(query, '=')]) &&
			!strings.Contains(query, "&") {
			t.Errorf("%s: %d %s", query, a.Status, a.Body)
		}
	}
}
