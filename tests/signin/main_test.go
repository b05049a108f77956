package signin

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
)

func TestMain(m *testing.M) { gatewaytest.Main(m, gatewaytest.Waiting) }

const (
	deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"

	hello    = `{"model":"claude-sonnet-5","max_tokens":20,"messages":[{"role":"user","content":"hi"}]}`
	messages = "/v1/messages"
)

// settings are those of a gateway that programs sign in to, without limits of requests.
func settings(more ...string) []string {
	return append([]string{"SIMULATOR=true", "REQUIRE_AUTH=true", gatewaytest.JWTSecret, "RATE_LIMIT_RPM=0", "AUTH_RATE_LIMIT_RPM=0"}, more...)
}

// post sends a form, as programs do that sign in.
func post(t testing.TB, p *gatewaytest.Program, path string, form url.Values) gatewaytest.Answer {
	t.Helper()
	return p.Call(t, http.MethodPost, path, form.Encode(), "Content-Type", "application/x-www-form-urlencoded", "User-Agent", "claude-code/2.1.330")
}

func ask(t testing.TB, p *gatewaytest.Program, device string) gatewaytest.Answer {
	t.Helper()
	return post(t, p, "/oauth/token", url.Values{"grant_type": {deviceGrant}, "device_code": {device}})
}

func refresh(t testing.TB, p *gatewaytest.Program, token string) gatewaytest.Answer {
	t.Helper()
	return post(t, p, "/oauth/token", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}})
}

// tokens are those of a program that is signed in.
type tokens struct {
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
	Expires int64  `json:"expires_in"`
	Email   string `json:"email"`
}

func (s tokens) header() []string { return []string{"Authorization", "Bearer " + s.Access} }

// codes are those with which a program is signed in.
type codes struct {
	Device   string `json:"device_code"`
	User     string `json:"user_code"`
	Complete string `json:"verification_uri_complete"`
}

func begin(t testing.TB, p *gatewaytest.Program) (c codes) {
	t.Helper()
	a := post(t, p, "/oauth/device_authorization", url.Values{"surface": {"claude_code"}, "unknown": {"1"}})
	if a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	a.JSON(t, &c)
	return c
}

func confirm(t testing.TB, p *gatewaytest.Program, user []string, code, members string) gatewaytest.Answer {
	t.Helper()
	return p.Patiently(t, "/auth/device/confirm", `{"user_code":"`+code+`",`+members+`}`, user...)
}

// signIn signs a program in as a user; team may be empty.
func signIn(t testing.TB, p *gatewaytest.Program, user []string, team string) (s tokens) {
	t.Helper()
	c := begin(t, p)
	if a := confirm(t, p, user, c.User, `"approve":true,"team_id":"`+team+`"`); a.Status != 204 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	a := ask(t, p, c.Device)
	if a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	a.JSON(t, &s)
	return s
}

func call(t testing.TB, p *gatewaytest.Program, s tokens, body string) gatewaytest.Answer {
	t.Helper()
	return p.Patiently(t, messages, body, s.header()...)
}

// isRefusedWithinASecond checks that a token that was valid is refused on a replica that has it in its memory.
func isRefusedWithinASecond(t testing.TB, p *gatewaytest.Program, s tokens, began time.Time) {
	t.Helper()
	var a gatewaytest.Answer
	gatewaytest.Eventually(t, 10*time.Second, "the token is refused", func() bool {
		a = p.Call(t, http.MethodPost, messages, hello, s.header()...)
		return a.Status == 401
	})
	if took := time.Since(began); took > time.Second && !strings.Contains(p.Log.String(), "service_unavailable") {
		t.Errorf("refused after %s", took)
	}
	if a.Header.Get("X-Should-Retry") != "false" || a.Problem(t).Error.Type != "authentication_error" {
		t.Errorf("%s %s", a.Header.Get("X-Should-Retry"), a.Body)
	}
}
