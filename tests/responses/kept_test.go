package responses

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/servertest"
)

// encryptionKey is a key of AES-256.
const encryptionKey = "8c1f5e0a94b7d3620f8e47ac1b95d0ee37f2a861c04d9b7e5518ea72f6390bcd"

// said is the text of a whole answer.
func said(t *testing.T, a gatewaytest.Answer) (id, item, text string) {
	t.Helper()
	body := a.Body
	if _, last, ok := strings.Cut(body, "event: response.completed\ndata: "); ok {
		body = `{}`
		var event struct{ Response json.RawMessage }
		if json.Unmarshal([]byte(last), &event) == nil {
			body = string(event.Response)
		}
	}
	var r struct {
		ID     string
		Store  bool
		Output []struct {
			ID      string
			Content []struct{ Text string }
		}
	}
	if err := json.Unmarshal([]byte(body), &r); err != nil || a.Status != 200 || len(r.Output) != 1 || len(r.Output[0].Content) != 1 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	return r.ID, r.Output[0].ID, r.Output[0].Content[0].Text
}

const claude = "claude-haiku-4-5"

func TestConversationThatTheGatewayKeepsGoesOn(t *testing.T) {
	s := startShared(t, "RESPONSES_STORE_HOURS=1", "ENCRYPTION_KEY="+encryptionKey)
	first := s.ask(s.one, s.ada, claude, `"input":"plover"`)
	id, item, text := said(t, first)
	if text != "u(plover)" || !strings.Contains(first.Body, `"store":true`) || !strings.Contains(first.Body, `"previous_response_id":null`) {
		t.Fatalf("%s", first.Body)
	}
	stream := s.ask(s.two, s.ada, claude, `"input":[{"role":"user","content":"two"}],"stream":true,"previous_response_id":"`+id+`"`)
	second, _, text := said(t, stream)
	if text != "u(plover) a(u(plover)) u(two)" || !strings.Contains(stream.Body, `"previous_response_id":"`+id+`"`) {
		t.Fatalf("%s", stream.Body)
	}
	_, _, text = said(t, s.ask(s.one, s.ada, claude, `"input":"three","previous_response_id":"`+second+`"`))
	if text != "u(plover) a(u(plover)) u(two) a(u(plover) a(u(plover)) u(two)) u(three)" {
		t.Errorf("%s", text)
	}
	t.Run("by references to items", func(t *testing.T) {
		for _, reference := range []string{`{"type":"item_reference","id":"` + item + `"}`, `{"id":"` + item + `"}`} {
			_, _, text := said(t, s.ask(s.two, s.ada, claude, `"input":[{"role":"user","content":"plover"},`+reference+`,{"role":"user","content":"x"}]`))
			if text != "u(plover) a(u(plover)) u(x)" {
				t.Errorf("%s", text)
			}
		}
		kept, _, _ := said(t, s.ask(s.two, s.ada, claude, `"input":[{"type":"item_reference","id":"`+item+`"},{"role":"user","content":"x"}]`))
		if _, _, text := said(t, s.ask(s.one, s.ada, claude, `"input":"y","previous_response_id":"`+kept+`"`)); !strings.HasSuffix(text, "u(y)") || !strings.Contains(text, "a(u(plover))") {
			t.Errorf("a turn with a reference: %s", text)
		}
		for _, as := range [][]string{s.bob, s.ada} {
			name := map[bool]string{true: item, false: "msg_unknown"}[as[1] == s.bob[1]]
			a := s.ask(s.one, as, claude, `"input":[{"role":"user","content":"x"},{"type":"item_reference","id":"`+name+`"}]`)
			if e := a.APIError(t); a.Status != 400 || *e.Param != "input[1].id" || !strings.Contains(e.Message, "store:false") {
				t.Errorf("%d %s", a.Status, a.Body)
			}
		}
	})
	t.Run("by its owner only", func(t *testing.T) {
		unknown := s.ask(s.one, s.ada, claude, `"input":"x","previous_response_id":"resp_unknown"`)
		if unknown.APIError(t).Code != "previous_response_not_found" {
			t.Errorf("%d %s", unknown.Status, unknown.Body)
		}
		for _, as := range [][]string{s.bob, nil} {
			if a := s.ask(s.one, as, claude, `"input":"x","previous_response_id":"`+id+`"`); a.Status != 400 || a.Body != unknown.Body {
				t.Errorf("%d %s", a.Status, a.Body)
			}
			for path, method := range map[string]string{"": "GET", "/input_items": "GET", "/cancel": "POST", "?": "DELETE"} {
				if a := s.one.Call(t, method, "/v1/responses/"+id+path, "", as...); a.Status != 404 || a.APIError(t).Code != "response_not_found" {
					t.Errorf("%s %s: %d %s", method, path, a.Status, a.Body)
				}
			}
		}
		if a := s.ask(s.one, s.ada, "gpt-6-sol", `"input":"x","previous_response_id":"`+id+`"`); a.APIError(t).Code != "previous_response_not_found" {
			t.Errorf("a model of OpenAI: %d %s", a.Status, a.Body)
		}
	})
	t.Run("it can be read and erased", func(t *testing.T) {
		if a := s.two.Call(t, "GET", "/v1/responses/"+id, "", s.ada...); a.Status != 200 || a.Body != first.Body {
			t.Errorf("%d %s, not %s", a.Status, a.Body, first.Body)
		}
		a := s.two.Call(t, "GET", "/v1/responses/"+second+"/input_items", "", s.ada...)
		if a.Status != 200 || !strings.Contains(a.Body, `"content":[{"type":"input_text","text":"two"}]`) || strings.Contains(a.Body, "plover") {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		if a := s.two.Call(t, "POST", "/v1/responses/"+id+"/cancel", "", s.ada...); a.Status != 400 || a.APIError(t).Code != "unsupported_value" {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		if a := s.two.Call(t, "DELETE", "/v1/responses/"+id, "", s.ada...); a.Status != 200 || a.Body != `{"id":"`+id+`","object":"response","deleted":true}` {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		for _, from := range []string{id, second} { // without the first turn the conversation is not whole
			if a := s.ask(s.one, s.ada, claude, `"input":"x","previous_response_id":"`+from+`"`); a.APIError(t).Code != "previous_response_not_found" {
				t.Errorf("%d %s", a.Status, a.Body)
			}
		}
		if a := s.one.Call(t, "GET", "/v1/responses/"+id, "", s.ada...); a.Status != 404 {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	})
	t.Run("not where the client forbids it", func(t *testing.T) {
		a := s.ask(s.one, s.ada, claude, `"input":"x","store":false`)
		id, _, _ := said(t, a)
		if !strings.Contains(a.Body, `"store":false`) || s.one.Call(t, "GET", "/v1/responses/"+id, "", s.ada...).Status != 404 {
			t.Errorf("%s", a.Body)
		}
	})
	s.readsNothingInTheDatabase(t)
	s.eraseWithTheUser(t)
}

// readsNothingInTheDatabase looks for the conversation's words in all rows.
func (s *shared) readsNothingInTheDatabase(t *testing.T) {
	t.Helper()
	db := gatewaytest.OpenDatabase(t, s.settings)
	if n := gatewaytest.Sum(t, db, "SELECT count(*) FROM kept_responses"); n < 4 {
		t.Errorf("%d rows", n)
	}
	if n := gatewaytest.Sum(t, db, "SELECT count(*) FROM kept_responses WHERE position('plover'::bytea in sealed) > 0"); n > 0 {
		t.Errorf("%d rows can be read", n)
	}
}

func (s *shared) eraseWithTheUser(t *testing.T) {
	t.Helper()
	db := gatewaytest.OpenDatabase(t, s.settings)
	s.ask(s.one, s.bob, claude, `"input":"of bob"`)
	user := func(name string) string {
		return "(SELECT 'user:' || id FROM users WHERE email = '" + name + "@example.com')"
	}
	gatewaytest.Command(t, s.settings, "user", "delete", "ada@example.com")
	if n := gatewaytest.Sum(t, db, "SELECT count(*) FROM kept_responses WHERE owner <> "+user("bob")); n > 0 {
		t.Errorf("%d rows outlive their user", n)
	}
	if n := gatewaytest.Sum(t, db, "SELECT count(*) FROM kept_responses WHERE owner = "+user("bob")); n != 1 {
		t.Errorf("%d rows of another user", n)
	}
}

func TestConversationOutlivesARestartAndARotationOfTheKey(t *testing.T) {
	up := &organisations{kept: map[string]string{}}
	url := gatewaytest.ServeUpstream(t, up)
	settings := []string{
		"DATABASE_URL=sqlite:" + t.TempDir() + "/gateway.db", "ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL=" + url, "RESPONSES_STORE_HOURS=1",
	}
	const other = "ENCRYPTION_KEY=1a94b7d3620f8e47ac1b95d0ee37f2a861c04d9b7e5518ea72f6390bcd8c1f5e"
	start := func(more ...string) (*gatewaytest.Program, func(members string) gatewaytest.Answer) {
		p := gatewaytest.Start(t, append(append([]string{}, settings...), more...)...)
		return p, func(members string) gatewaytest.Answer {
			return p.Call(t, "POST", "/v1/responses", `{"model":"`+claude+`",`+members+`}`)
		}
	}
	p, ask := start("ENCRYPTION_KEY=" + encryptionKey)
	id, _, _ := said(t, ask(`"input":"one"`))
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	p, ask = start(other, "ENCRYPTION_KEY_PREVIOUS="+encryptionKey)
	second, _, text := said(t, ask(`"input":"two","previous_response_id":"`+id+`"`))
	if text != "u(one) a(u(one)) u(two)" {
		t.Errorf("%s", text)
	}
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	p, ask = start(other)
	for _, from := range []string{id, second} {
		if a := ask(`"input":"x","previous_response_id":"` + from + `"`); a.APIError(t).Code != "previous_response_not_found" {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	}
	db := gatewaytest.OpenDatabase(t, settings)
	third, _, _ := said(t, ask(`"input":"three"`))
	gatewaytest.Execute(t, db, "UPDATE kept_responses SET expires_at = ? WHERE id = ?", time.Now().UnixMicro(), third)
	if a := ask(`"input":"x","previous_response_id":"` + third + `"`); a.APIError(t).Code != "previous_response_not_found" {
		t.Errorf("after its time: %d %s", a.Status, a.Body)
	}
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := gatewaytest.TryStart(t, settings...); err == nil || !strings.Contains(err.Error(), "ENCRYPTION_KEY: missing, but required by RESPONSES_STORE_HOURS") {
		t.Errorf("without a key it starts: %v", err)
	}
}

func TestAnswerGoesOutAlsoWhenTheDatabaseIsDown(t *testing.T) {
	database := servertest.StartPostgres(t)
	up := &organisations{kept: map[string]string{}}
	server := httptest.NewServer(up)
	defer server.Close()
	p := gatewaytest.Start(t, "DATABASE_URL="+database.URL, "ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL="+server.URL,
		"RESPONSES_STORE_HOURS=1", "ENCRYPTION_KEY="+encryptionKey)
	ask := func(members string) gatewaytest.Answer {
		return p.Call(t, http.MethodPost, "/v1/responses", `{"model":"`+claude+`",`+members+`}`)
	}
	said(t, ask(`"input":"before"`))
	database.Stop()
	id, _, text := said(t, ask(`"input":"lost"`))
	stream := ask(`"input":"lost too","stream":true`)
	if _, _, also := said(t, stream); text != "u(lost)" || also != "u(lost too)" {
		t.Errorf("%s, %s", text, also)
	}
	gatewaytest.Until(t, "both losses are in the log", func() bool {
		return strings.Count(p.Log.String(), "a response was not stored") == 2
	})
	lost := regexp.MustCompile(`(?m)^modelgateway_responses_lost_total 2$`)
	if a := p.Get(t, "/metrics"); !lost.MatchString(a.Body) {
		t.Error("the losses are not counted")
	}
	if a := ask(`"input":"x","previous_response_id":"` + id + `"`); a.Status != 503 || a.APIError(t).Code != "service_unavailable" {
		t.Errorf("while it is down: %d %s", a.Status, a.Body)
	}
	database.Restart()
	gatewaytest.Until(t, "the database is back", func() bool {
		a := ask(`"input":"x","previous_response_id":"` + id + `"`)
		return a.Status == 400 && a.APIError(t).Code == "previous_response_not_found"
	})
}

// A client whose SDK refers to earlier answers by default works in the demonstration.
func TestDemonstrationKeepsConversations(t *testing.T) {
	p := gatewaytest.Launch(t, func(cmd *exec.Cmd) { cmd.Args = append(cmd.Args, "demo") }, gatewaytest.KeepArguments)
	ask := func(members string) gatewaytest.Answer {
		return p.Call(t, http.MethodPost, "/v1/responses", `{"model":"`+claude+`",`+members+`}`)
	}
	id, item, _ := said(t, ask(`"input":"one"`))
	for _, from := range []string{
		`"input":"two","previous_response_id":"` + id + `"`,
		`"input":[{"type":"item_reference","id":"` + item + `"},{"role":"user","content":"two"}]`,
	} {
		if a := ask(from); a.Status != 200 {
			t.Errorf("%s: %d %s", from, a.Status, a.Body)
		}
	}
}
