package takeover

import (
	"crypto/rand"
	"database/sql"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/litellmtest"
)

// gateway is one with keys that were taken over from LiteLLM.
type gateway struct {
	*gatewaytest.Program
	db       *sql.DB
	settings []string
	login    []string // of the user whose they are
	user     string
}

func start(t *testing.T, settings []string, more ...string) *gateway {
	t.Helper()
	settings = append(append(settings, "SIMULATOR=true", gatewaytest.JWTSecret), more...)
	g := &gateway{Program: gatewaytest.Start(t, settings...), db: gatewaytest.OpenDatabase(t, settings), settings: settings}
	g.login = g.Login(t)
	if err := g.db.QueryRowContext(t.Context(), "SELECT id FROM users WHERE email = 'ada@example.com'").Scan(&g.user); err != nil {
		t.Fatal(err)
	}
	return g
}

// add adds the row of a key, and what the takeover remembers of it; set are assignments such as rpm_limit = 1.
func (g *gateway) add(t *testing.T, text string, set ...string) (id string) {
	t.Helper()
	id = "key_" + rand.Text()
	gatewaytest.Execute(t, g.db, "INSERT INTO api_keys (id, user_id, name, hash, prefix, created_at) VALUES (?, ?, ?, ?, ?, ?)",
		id, g.user, "ci", "litellm:"+litellmtest.Token(text), "sk-..."+text[len(text)-4:], time.Now().UnixMicro())
	for _, assignment := range set {
		gatewaytest.Execute(t, g.db, "UPDATE api_keys SET "+assignment+" WHERE id = ?", id)
	}
	gatewaytest.Execute(t, g.db, "INSERT INTO takeovers (kind, foreign_id, id, taken) VALUES ('key', ?, ?, '{}')", litellmtest.Token(text), id)
	gatewaytest.Until(t, "the gateway knows of a takeover, so that LiteLLM's routes are on", func() bool {
		return g.Call(t, "GET", "/key/info", "").Status != 404
	})
	return id
}

func newText() string { return "sk-" + rand.Text()[:22] }

func bearer(text string) []string { return []string{"Authorization", "Bearer " + text} }

func apiKey(text string) []string { return []string{"X-Api-Key", text} }

func must(t *testing.T, status int, a gatewaytest.Answer) gatewaytest.Answer {
	t.Helper()
	if a.Status != status {
		t.Fatalf("%d, not %d: %s", a.Status, status, a.Body)
	}
	return a
}

const claude = `{"model":"claude-haiku-4-5-20251001","max_tokens":9,` + gatewaytest.HiMessages + `}`

func TestAKeyOfLiteLLMOpensEveryPath(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		g := start(t, settings, "REQUIRE_AUTH=true")
		for _, text := range []string{newText(), "sk-team.alpha.key-2025", "sk-a!b$c&d=e(f)~0123"} {
			g.add(t, text)
			for _, headers := range [][]string{bearer(text), apiKey(text), append(apiKey(text), bearer(text)...)} {
				for path, body := range map[string]string{
					"/v1/chat/completions": gatewaytest.HelloRequest, "/v1/messages": claude,
					"/v1/messages/count_tokens": `{"model":"claude-haiku-4-5-20251001",` + gatewaytest.HiMessages + `}`,
					"/v1/responses":             `{"model":"gpt-6-sol","input":"hi"}`, "/v1/embeddings": `{"model":"text-embedding-3-small","input":"hi"}`,
				} {
					if a := g.Call(t, "POST", path, body, headers...); a.Status != 200 {
						t.Errorf("%s %v: %d %s", path, headers, a.Status, a.Body)
					}
				}
				for _, path := range []string{"/v1/models", "/v1/usage", "/v1/calls"} {
					must(t, 200, g.Call(t, "GET", path, "", headers...))
				}
			}
			a := g.Call(t, "GET", "/auth/keys", "", bearer(text)...)
			if a.Status != 401 || g.Call(t, "GET", "/admin/users", "", bearer(text)...).Status != 401 {
				t.Errorf("a path for logins: %d %s", a.Status, a.Body)
			}
			g.Chat(t, `{"model":"`+text+`",`+gatewaytest.HiMessages+`}`, bearer(text)...)
			g.Call(t, "GET", "/v1/"+text[:20], "", bearer(text)...)
			if strings.Contains(g.Log.String(), text[:20]) {
				t.Errorf("the log has %s", text)
			}
		}
	})
}

func TestLimitsOfAKeyOfLiteLLMApply(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		g := start(t, settings, "REQUIRE_AUTH=true")
		past, future := time.Now().Add(-time.Second).UnixMicro(), time.Now().Add(time.Hour).UnixMicro()
		for _, tt := range []struct {
			name, set string
			first     int
			status    int
			code      string
		}{
			{"a budget that is spent", "budget = 1, budget_window = 'total'", 402, 402, "budget_exceeded"},
			{"requests", "rpm_limit = 1", 200, 429, "rate_limit_exceeded"},
			{"models", "models = 'gpt-4'", 403, 403, "model_not_allowed"},
			{"expired", fmt.Sprint("expires_at = ", past), 401, 401, "api_key_expired"},
			{"not expired yet", fmt.Sprint("expires_at = ", future), 200, 200, ""},
			{"revoked", "revoked_at = 1", 401, 401, "invalid_api_key"},
		} {
			text := newText()
			g.add(t, text, strings.Split(tt.set, ", ")...)
			for _, headers := range [][]string{bearer(text), apiKey(text)} {
				first, second := g.Chat(t, gatewaytest.HelloRequest, headers...), g.Chat(t, gatewaytest.HelloRequest, headers...)
				if headers[0] == "Authorization" && first.Status != tt.first || second.Status != tt.status {
					t.Errorf("%s: %d %s, %d %s", tt.name, first.Status, first.Body, second.Status, second.Body)
				} else if tt.code != "" && second.APIError(t).Code != tt.code {
					t.Errorf("%s: %s", tt.name, second.Body)
				}
			}
		}
	})
}

func TestAttacksOnKeysOfLiteLLMOpenNothing(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		g := start(t, settings, "REQUIRE_AUTH=true")
		text, short, chosen := newText(), "sk-0123456789ab", "a-key-without-the-prefix"
		for _, theirs := range []string{text, short, chosen} {
			g.add(t, theirs)
		}
		_, ours := g.CreateKey(t, g.login)
		var stored string
		if err := g.db.QueryRowContext(t.Context(), "SELECT hash FROM api_keys WHERE prefix LIKE 'mgw%'").Scan(&stored); err != nil {
			t.Fatal(err)
		}
		must(t, 200, g.Call(t, "GET", "/v1/models", "", bearer(text)...))
		must(t, 200, g.Call(t, "GET", "/v1/models", "", bearer(ours)...))
		for _, bad := range []string{
			litellmtest.Token(text), "litellm:" + litellmtest.Token(text), "sk-" + litellmtest.Token(text), "sk-litellm:" + litellmtest.Token(text), stored, "sk-" + stored, "litellm:" + stored,
			ours[4:47], "sk-" + ours[4:47], "sk-" + ours[4:], "sk-" + ours, strings.ToUpper(text), strings.ToLower(text), "sk-" + text[3:] + "0",
			text[:len(text)-1], text[3:], "SK-" + text[3:], "sk_" + text[3:], short, chosen, text + "é", text + text, "sk-'OR(1=1)--01234567",
		} {
			for _, headers := range [][]string{bearer(bad), apiKey(bad)} {
				if a := g.Call(t, "GET", "/v1/models", "", headers...); a.Status != 401 {
					t.Errorf("%v: %d %s", headers, a.Status, a.Body)
				}
			}
		}
		// What the client of these tests would not send.
		for _, line := range []string{
			"X-Api-Key: " + text + "\x00", "X-Api-Key: " + text + " x", "X-Api-Key: " + text + "\n 0", "X-Api-Key: " + text + ", " + text,
			"X-Api-Key: " + text + "\r\nX-Api-Key: " + text, "Authorization: Bearer  " + text, "Authorization: Basic " + text,
			"Authorization: Bearer sk-" + strings.Repeat("a", 20<<10), "Authorization: Bearer sk-" + strings.Repeat("a", 8<<20),
		} {
			if status := g.raw(t, line); strings.HasPrefix(status, "HTTP/1.1 2") || strings.HasPrefix(status, "HTTP/1.1 5") {
				t.Errorf("%.60q: %s", line, status)
			}
		}
		if status := g.raw(t, "X-Api-Key: "+text); !strings.HasPrefix(status, "HTTP/1.1 200") {
			t.Errorf("the key itself: %s", status)
		}
	})
}

// raw sends a request with this line of its header, and returns the first line of the answer, or less.
func (g *gateway) raw(t *testing.T, line string) string {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(g.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(gatewaytest.Patience))
	_, _ = fmt.Fprintf(conn, "GET /v1/models HTTP/1.1\r\nHost: x\r\n%s\r\nConnection: close\r\n\r\n", line) // it may be refused before its end
	first := make([]byte, len("HTTP/1.1 200 OK"))
	n, _ := conn.Read(first)
	return string(first[:n])
}

func TestAKeyOfLiteLLMIsListedRotatedRevokedAndRestored(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		g := start(t, settings, "REQUIRE_AUTH=true")
		text, root := newText(), g.Administrator(t)
		id := g.add(t, text)
		own, ours := g.CreateKey(t, g.login)
		opens := func(text string) bool { return g.Call(t, "GET", "/v1/models", "", bearer(text)...).Status == 200 }
		listed := func(prefix string, origin any) {
			t.Helper()
			for path, login := range map[string][]string{"/auth/keys": g.login, "/admin/keys": root} {
				var list struct{ Data []map[string]any }
				must(t, 200, g.Call(t, "GET", path, "", login...)).JSON(t, &list)
				for _, k := range list.Data {
					if k["id"] == id && (k["prefix"] != prefix || k["origin"] != origin) || k["id"] == own && k["origin"] != nil {
						t.Errorf("%s: %v", path, k)
					}
				}
				if len(list.Data) != 2 {
					t.Errorf("%s: %v", path, list.Data)
				}
			}
		}
		masked := "sk-..." + text[len(text)-4:]
		listed(masked, "litellm")
		if out := gatewaytest.Command(t, g.settings, "key", "list"); !strings.Contains(out, masked+" (litellm)") || !strings.Contains(out, ours[:8]+"… ") {
			t.Errorf("%s", out)
		}

		a := must(t, 201, g.Call(t, "POST", "/auth/keys/"+id+"/rotate", `{"overlap_seconds":2}`, g.login...))
		rotated := gatewaytest.Field(t, a, "key")
		if !strings.HasPrefix(rotated, "mgw_") || !opens(rotated) {
			t.Errorf("the new key: %s", a.Body)
		}
		listed(rotated[:8], "litellm")
		gatewaytest.Until(t, "the former one has ended", func() bool { return !opens(text) })
		if !opens(rotated) || !opens(ours) {
			t.Error("the others have ended with it")
		}
		must(t, 200, g.Call(t, "DELETE", "/auth/keys/"+id, "", g.login...))
		if opens(rotated) || opens(text) {
			t.Error("open after it was revoked")
		}

		text = newText()
		id = g.add(t, text)
		if !opens(text) {
			t.Fatal("refused")
		}
		must(t, 200, g.Call(t, "DELETE", "/auth/keys/"+id, "", g.login...))
		if opens(text) {
			t.Error("open after it was revoked")
		}
		must(t, 200, g.Call(t, "POST", "/auth/keys/"+id+"/restore", "", g.login...))
		gatewaytest.Until(t, "the restored key works", func() bool { return opens(text) })
		listed("sk-..."+text[len(text)-4:], "litellm")
		must(t, 201, g.Call(t, "POST", "/admin/keys/"+id+"/rotate", `{"overlap_seconds":3600}`, root...))
		if !opens(text) {
			t.Error("refused in the overlap of an administrator's rotation")
		}
		must(t, 200, g.Call(t, "PATCH", "/auth/keys/"+id, `{"rpm_limit":1}`, g.login...))
		must(t, 200, g.Chat(t, gatewaytest.HelloRequest, bearer(text)...))
		must(t, 429, g.Chat(t, gatewaytest.HelloRequest, bearer(text)...))
	})
}

func TestARevokedKeyOfLiteLLMIsRefusedByEveryReplicaWithinASecond(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		if !strings.Contains(settings[0], "postgres") {
			t.Skip("one replica only")
		}
		here := start(t, settings, "REQUIRE_AUTH=true")
		there := gatewaytest.Start(t, here.settings...)
		for range 3 {
			text := newText()
			id := here.add(t, text)
			opens := func(p *gatewaytest.Program) bool {
				return p.Call(t, "GET", "/v1/models", "", apiKey(text)...).Status == 200
			}
			gatewaytest.Until(t, "both take it", func() bool { return opens(here.Program) && opens(there) })
			must(t, 200, here.Call(t, "DELETE", "/auth/keys/"+id, "", here.login...))
			revoked := time.Now()
			if opens(here.Program) {
				t.Error("open where it was revoked")
			}
			gatewaytest.Until(t, "the other refuses it", func() bool { return !opens(there) })
			if took := time.Since(revoked); took > 5*time.Second { // a second, on a machine that has the time
				t.Errorf("after %v", took)
			}
		}
	})
}

// Without REQUIRE_AUTH only a key that is known names its caller.
func TestWithoutRequiredKeysAKeyOfLiteLLMNamesItsCaller(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		g := start(t, settings)
		before := newText()
		must(t, 200, g.Chat(t, gatewaytest.HelloRequest, bearer(before)...)) // there was no takeover
		known, other, expired, revoked := newText(), newText(), newText(), newText()
		id, otherID := g.add(t, known), g.add(t, other)
		g.add(t, expired, "expires_at = 1")
		g.add(t, revoked, "revoked_at = 1")
		own, ours := g.CreateKey(t, g.login)
		gatewaytest.Until(t, "the takeover is noticed", func() bool {
			return g.Chat(t, gatewaytest.HelloRequest, bearer(revoked)...).Status == 401
		})
		const unknown, placeholder = "sk-ant-api03-unknown-at-this-gateway", "sk-dummy"
		for i, tt := range []struct {
			name, key, bearer string
			status            int
			caller            string
		}{
			{"no key", "", "", 200, ""},
			{"known", "", known, 200, id},
			{"known", known, "", 200, id},
			{"unknown", "", unknown, 200, ""},
			{"unknown", unknown, "", 200, ""},
			{"not a key", "", placeholder, 200, ""},
			{"expired", "", expired, 401, ""},
			{"expired", expired, "", 401, ""},
			{"revoked", "", revoked, 401, ""},
			{"revoked", revoked, "", 401, ""},
			{"known beside unknown", known, unknown, 200, id},
			{"unknown beside known", unknown, known, 200, id},
			{"twice", known, known, 200, id},
			{"two known ones", known, other, 401, ""},
			{"ours beside known", ours, known, 200, own},
			{"known beside ours", known, ours, 200, own},
			{"ours beside revoked", ours, revoked, 200, own},
			{"unknown ones", unknown, unknown + "2", 200, ""},
			{"another", other, placeholder, 200, otherID},
		} {
			request := fmt.Sprint("open-", i)
			headers := []string{"X-Request-Id", request}
			if tt.key != "" {
				headers = append(headers, apiKey(tt.key)...)
			}
			if tt.bearer != "" {
				headers = append(headers, bearer(tt.bearer)...)
			}
			a := g.Chat(t, gatewaytest.HelloRequest, headers...)
			if a.Status != tt.status {
				t.Errorf("%s: %d %s", tt.name, a.Status, a.Body)
			}
			if a.Status != 200 {
				continue
			}
			caller := ""
			gatewaytest.Until(t, "the row of "+request, func() bool {
				query := "SELECT key_id FROM ledger_calls WHERE request_id = '" + request + "'"
				return g.db.QueryRowContext(t.Context(), query).Scan(&caller) == nil
			})
			if caller != tt.caller {
				t.Errorf("%s: the caller is %q, not %q", tt.name, caller, tt.caller)
			}
		}
	})
}

// Clients of Anthropic's API send both headers where both of their variables are set.
func TestTheCredentialThatIsKnownIsUsedOfTwoOfAnthropicsClients(t *testing.T) {
	t.Parallel()
	g := start(t, []string{"DATABASE_URL=sqlite:" + t.TempDir() + "/gateway.db"}, "REQUIRE_AUTH=true")
	known, other := newText(), newText()
	g.add(t, known)
	g.add(t, other)
	_, ours := g.CreateKey(t, g.login)
	const foreign = "sk-ant-oat01-a-token-of-anthropic"
	for _, tt := range []struct {
		key, authorization string
		status             int
	}{
		{known, "Bearer " + foreign, 200},
		{foreign, "Bearer " + known, 200},
		{known, "Basic eDp5", 200},
		{known, "Bearer " + known, 200},
		{ours, "Bearer " + known, 200},
		{known, "Bearer " + ours, 200},
		{known, g.login[1], 200},
		{known, "Bearer " + other, 401},
		{foreign, "Bearer " + foreign + "2", 401},
		{foreign, "Basic eDp5", 401},
	} {
		headers := []string{"Anthropic-Version", "2023-06-01", "X-Api-Key", tt.key, "Authorization", tt.authorization}
		if a := g.Call(t, "POST", "/v1/messages", claude, headers...); a.Status != tt.status {
			t.Errorf("%s, %s: %d %s", tt.key, tt.authorization, a.Status, a.Body)
		}
		differ := tt.authorization != "Bearer "+tt.key
		if a := g.Chat(t, gatewaytest.HelloRequest, "X-Api-Key", tt.key, "Authorization", tt.authorization); differ && a.Status != 401 {
			t.Errorf("chat completions take %s, %s: %d", tt.key, tt.authorization, a.Status)
		}
	}
}
