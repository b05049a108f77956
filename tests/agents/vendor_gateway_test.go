package agents

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"modelgateway/services/idp/idptest"
	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/servertest"
)

// server is one of the two gateways that are compared.
type server struct {
	url     string
	confirm func(t *testing.T, code string) // lets in the program with this code
	signIn  struct{ access, refresh, device string }
}

// startVendor starts the gateway that lies in Claude Code, with an identity provider that logs in every user.
func startVendor(t *testing.T, claude string) *server {
	t.Helper()
	provider := idptest.Serve(t)
	provider.Instead["/authorize"] = func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		provider.Set(func(p *idptest.Provider) { p.Codes["the-code"] = q })
		back := url.Values{"code": {"the-code"}, "state": {q.Get("state")}}
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
	}
	provider.Document = func(doc map[string]any) {
		doc["response_types_supported"], doc["subject_types_supported"] = []string{"code"}, []string{"public"}
		doc["code_challenge_methods_supported"] = []string{"S256"}
		doc["id_token_signing_alg_values_supported"] = []string{"RS256"} // it takes no other one
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	provider.Sign = func(claims jwt.MapClaims) any {
		token := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
		token.Header["kid"] = "rsa"
		text, _ := token.SignedString(key)
		return text
	}
	provider.Instead["/keys"] = func(w http.ResponseWriter, _ *http.Request) {
		idptest.Answer(w, http.StatusOK, map[string]any{"keys": []any{map[string]any{
			"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "rsa", "e": "AQAB", "n": base64.RawURLEncoding.EncodeToString(key.N.Bytes()),
		}}})
	}
	port, folder := gatewaytest.FreePort(t), t.TempDir()
	v := &server{url: "http://localhost:" + port}
	config := fmt.Sprintf(`
listen: {host: 127.0.0.1, port: %s, public_url: "%s"}
oidc: {issuer: "%s", client_id: %q, client_secret: %q}
session: {jwt_secret: "0123456789abcdef0123456789abcdef0123456789ab"}
store: {postgres_url: %q}
upstreams: [{provider: anthropic, auth: {api_key: dummy}}]
auto_include_builtin_models: true
admin: {write_keys: [{id: t, key: "0123456789abcdef0123456789abcdef"}]}
managed: {policies: [{match: {}, cli: {availableModels: [claude-opus-4-8], enforceAvailableModels: true, env: {A: "1"}}}]}
`, port, v.url, provider.URL, idptest.ClientID, idptest.ClientSecret, servertest.Postgres(t))
	file := filepath.Join(folder, "gateway.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), claude, "gateway", "--config", file)
	log, err := os.Create(filepath.Join(folder, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, folder
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + folder, "CLAUDE_GATEWAY_ALLOW_LOOPBACK=1"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Cancel()
		_ = cmd.Wait()
		if text, _ := os.ReadFile(log.Name()); t.Failed() {
			t.Logf("the vendor's gateway: %s", text)
		}
	})
	gatewaytest.Eventually(t, time.Minute, "the vendor's gateway answers", func() bool {
		resp, err := http.Get(v.url + "/protocol") //nolint:noctx // in a test
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	v.confirm = func(t *testing.T, code string) {
		t.Helper()
		jar, _ := cookiejar.New(nil)
		browser := &http.Client{Jar: jar, Timeout: time.Minute, Transport: fromOwnPage(v.url)}
		page, err := browser.PostForm(v.url+"/device", url.Values{"user_code": {code}}) //nolint:noctx // in a test
		for step := 0; err == nil && step < 3; step++ {
			text, _ := io.ReadAll(page.Body)
			_ = page.Body.Close()
			form := regexp.MustCompile(`<form method="post" action="([^"]+)"`).FindStringSubmatch(string(text))
			if form == nil {
				return
			}
			fields := url.Values{}
			for _, field := range regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)"`).FindAllStringSubmatch(string(text), -1) {
				fields.Set(field[1], field[2])
			}
			page, err = browser.PostForm(v.url+form[1], fields) //nolint:noctx // in a test
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return v
}

// fromOwnPage sends requests as a browser does from a page of this origin.
type fromOwnPage string

// RoundTrip implements http.RoundTripper.
func (origin fromOwnPage) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost {
		r = r.Clone(r.Context())
		r.Header.Set("Origin", string(origin))
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	return http.DefaultTransport.RoundTrip(r)
}

// ask is a request of the comparison; %a, %r and %d stand for the tokens and the device code of the sign-in.
type ask struct {
	name, method, path, form, json string
	header                         []string
	differs                        string // why the two may differ; empty: they may not
}

const bearer = "Bearer %a"

func asks() []ask {
	const grant = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code"
	as := []string{"Authorization", bearer, "Anthropic-Version", "2023-06-01"}
	wrong := []string{"Authorization", "Bearer wrong", "Anthropic-Version", "2023-06-01"}
	message := `{"model":"claude-nobody-1","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`
	all := []ask{
		{name: "discovery", method: "GET", path: "/.well-known/oauth-authorization-server",
			differs: "2.1.330 has no revocation_endpoint, which its page describes; it names how clients authenticate, which is not at all"},
		{name: "codes", path: "/oauth/device_authorization", form: "surface=claude_code&new=1"},
		{name: "unknown code", path: "/oauth/token", form: grant + "&device_code=unknown"},
		{name: "used code", path: "/oauth/token", form: grant + "&device_code=%d"},
		{name: "no code", path: "/oauth/token", form: grant},
		{name: "no grant", path: "/oauth/token", form: "a=b", differs: "a field that is missing is invalid_request in RFC 6749, 5.2"},
		{name: "another grant", path: "/oauth/token", form: "grant_type=password"},
		{name: "no refresh token", path: "/oauth/token", form: "grant_type=refresh_token"},
		{name: "unknown refresh token", path: "/oauth/token", form: "grant_type=refresh_token&refresh_token=unknown"},
		{name: "JSON", path: "/oauth/token", json: `{}`},
		{name: "refresh", path: "/oauth/token", form: "grant_type=refresh_token&refresh_token=%r",
			differs: "the vendor's asks its identity provider, and that of this test refreshes nothing"},
		{name: "settings", method: "GET", path: "/managed/settings", header: as},
		{name: "no settings for strangers", method: "GET", path: "/managed/settings", header: wrong},
		{name: "models", method: "GET", path: "/v1/models?limit=1000", header: as, differs: "our list has more members of each model, and what Anthropic's has around it"},
		{name: "no models for strangers", method: "GET", path: "/v1/models", header: wrong},
		{name: "usage without a budget", method: "GET", path: "/api/oauth/usage", header: as},
		{name: "a model that is not there", path: "/v1/messages", json: message, header: as,
			differs: "the vendor's has a list of its own models; here it is 404, as in Anthropic's API, and 400 where a limit forbids it"},
		{name: "no JSON", path: "/v1/messages", json: `{`, header: as},
		{name: "no message for strangers", path: "/v1/messages", json: message, header: wrong},
		{name: "no count for strangers", path: "/v1/messages/count_tokens", json: message, header: wrong},
	}
	for _, signal := range []string{"metrics", "logs", "traces"} {
		all = append(all, ask{name: signal, path: "/v1/" + signal, json: `{}`, header: as, differs: "the answer of OTLP is an object"},
			ask{name: signal + " of strangers", path: "/v1/" + signal, json: `{}`, header: wrong})
	}
	return all
}

// answered is what is compared of an answer: its status, x-should-retry of a 401, an ETag, and the names in its body with the
// codes of errors.
func (v *server) answered(t *testing.T, a ask) string {
	t.Helper()
	fill := strings.NewReplacer("%a", v.signIn.access, "%r", v.signIn.refresh, "%d", v.signIn.device)
	body, kind, method := a.form, "application/x-www-form-urlencoded", a.method
	if a.json != "" {
		body, kind = a.json, "application/json"
	}
	if method == "" {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(t.Context(), method, v.url+a.path, strings.NewReader(fill.Replace(body)))
	if err != nil {
		t.Fatal(err)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", kind)
	}
	for i := 0; i < len(a.header); i += 2 {
		req.Header.Set(a.header[i], fill.Replace(a.header[i+1]))
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, _ := io.ReadAll(resp.Body)
	var value any
	shape := fmt.Sprintf("%q", text)
	if json.Unmarshal(text, &value) == nil {
		shape = shapeOf(value)
	}
	tag := ""
	if resp.Header.Get("Etag") != "" {
		tag = " etag"
	}
	return fmt.Sprint(resp.StatusCode, tag, " ", shape)
}

// shapeOf has the names of a value, and the texts of members that are codes.
func shapeOf(value any) string {
	switch v := value.(type) {
	case map[string]any:
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			switch text, isText := v[name].(string); {
			case name == "request_id", name == "error_description", name == "settings", name == "login_notice":
			case isText && (name == "error" || name == "type" || name == "token_type"):
				parts = append(parts, name+"="+text)
			default:
				parts = append(parts, name+shapeOf(v[name]))
			}
		}
		return "{" + strings.Join(parts, " ") + "}"
	case []any:
		if len(v) == 0 {
			return "[]"
		}
		return "[" + shapeOf(v[0]) + "]"
	case nil:
		return ":null"
	}
	return ""
}

// signInProgram signs a program in with its code.
func (v *server) signInProgram(t *testing.T) {
	t.Helper()
	post := func(path string, form url.Values, into any) int {
		resp, err := http.PostForm(v.url+path, form) //nolint:noctx // in a test
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		text, _ := io.ReadAll(resp.Body)
		if err := json.Unmarshal(text, into); err != nil {
			t.Fatalf("%s: %s", path, text)
		}
		return resp.StatusCode
	}
	var codes struct {
		Device string `json:"device_code"`
		User   string `json:"user_code"`
	}
	post("/oauth/device_authorization", url.Values{"surface": {"claude_code"}}, &codes)
	v.confirm(t, codes.User)
	var tokens struct {
		Access  string `json:"access_token"`
		Refresh string `json:"refresh_token"`
		Error   string
	}
	form := url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}, "device_code": {codes.Device}}
	if status := post("/oauth/token", form, &tokens); status != http.StatusOK {
		t.Fatalf("%s is not signed in: %d %s", v.url, status, tokens.Error)
	}
	v.signIn.access, v.signIn.refresh, v.signIn.device = tokens.Access, tokens.Refresh, codes.Device
}

// Over every path of the protocol the gateway answers as the vendor's own does.
func TestSignInAnswersAsTheVendorsOwnGateway(t *testing.T) {
	folder := needClients(t)
	vendor := startVendor(t, filepath.Join(folder, "node_modules", ".bin", "claude"))
	p := gatewaytest.Start(t, append(signInSettings(), "SIMULATOR=true")...)
	ada := p.Login(t)
	ours := &server{url: p.URL, confirm: func(t *testing.T, code string) {
		t.Helper()
		if a := p.Patiently(t, "/auth/device/confirm", `{"user_code":"`+code+`","approve":true}`, ada...); a.Status != 204 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
	}}
	vendor.signInProgram(t)
	ours.signInProgram(t)
	differences := 0
	for _, a := range asks() {
		theirs, own := vendor.answered(t, a), ours.answered(t, a)
		switch same := theirs == own; {
		case !same && a.differs == "":
			t.Errorf("%s: the vendor's gateway answers\n%s\nours\n%s", a.name, theirs, own)
		case !same:
			differences++
			t.Logf("%s differs, since %s:\n%s\n%s", a.name, a.differs, theirs, own)
		case a.differs != "":
			t.Errorf("%s does not differ any more", a.name)
		}
	}
	t.Logf("%d requests, %d differences with a reason", len(asks()), differences)
}
