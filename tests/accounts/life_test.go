package accounts

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"modelgateway/services/mail/mailtest"
	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/longtest"
	"modelgateway/tests/servertest"
)

// person is a user of two replicas.
type person struct {
	email, id, password string
	changes             int
}

func (p *person) login(t testing.TB, at *gatewaytest.Program) []string {
	t.Helper()
	a := at.Patiently(t, "/auth/login", `{"email":"`+p.email+`","password":"`+p.password+`"}`)
	if a.Status != 200 {
		t.Fatalf("login: %d %s", a.Status, a.Body)
	}
	return []string{"Authorization", "Bearer " + gatewaytest.Field(t, a, "token")}
}

// The end of a token on one replica is noticed by the other within a second.
func TestTheEndOfATokenReachesTheOtherReplicaWithinASecond(t *testing.T) {
	settings := []string{
		"SIMULATOR=true", "REQUIRE_AUTH=true", gatewaytest.JWTSecret, adminSetting, "DATABASE_URL=" + servertest.Postgres(t),
	}
	a, b := gatewaytest.Start(t, settings...), gatewaytest.Start(t, settings...)
	root := loginAs(t, a, "root")
	const together = 4
	people := make([]*person, together)
	for i := range people {
		name := fmt.Sprint("u", i)
		loginAs(t, a, name)
		email := name + "@example.com"
		people[i] = &person{email: email, id: userID(t, a, email, root), password: "correct horse battery"}
	}
	post := func(t *testing.T, path, body string, token []string) {
		t.Helper()
		if r := a.Call(t, "POST", path, body, token...); r.Status != 200 {
			t.Errorf("%s: %d %s", path, r.Status, r.Body)
		}
	}
	disable := func(t *testing.T, p *person, disabled bool) {
		t.Helper()
		if r := a.Call(t, "PATCH", "/admin/users/"+p.id, fmt.Sprintf(`{"disabled":%t}`, disabled), root...); r.Status != 200 {
			t.Errorf("%d %s", r.Status, r.Body)
		}
	}
	for _, tt := range []struct {
		name   string
		others bool // whether the user's other tokens stay
		end    func(t *testing.T, p *person, token []string)
		after  func(t *testing.T, p *person)
	}{
		{"password", false, func(t *testing.T, p *person, token []string) {
			former := p.password
			p.changes++
			p.password = fmt.Sprint("password number ", p.changes)
			post(t, "/auth/password", `{"current_password":"`+former+`","new_password":"`+p.password+`"}`, token)
		}, nil},
		{"logout", true, func(t *testing.T, _ *person, token []string) { post(t, "/auth/logout", "", token) }, nil},
		{"logout_everywhere", false, func(t *testing.T, _ *person, token []string) {
			post(t, "/auth/logout", `{"everywhere":true}`, token)
		}, nil},
		{"disable", false, func(t *testing.T, p *person, _ []string) { disable(t, p, true) },
			func(t *testing.T, p *person) { disable(t, p, false) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var all sync.WaitGroup
			var mu sync.Mutex
			var longest time.Duration
			for _, p := range people {
				all.Go(func() {
					for range longtest.Size(2, 60/together) {
						took := endOnOtherReplica(t, a, b, p, tt.others, func(token []string) { tt.end(t, p, token) })
						mu.Lock()
						longest = max(longest, took)
						mu.Unlock()
						if tt.after != nil {
							tt.after(t, p)
						}
					}
				})
			}
			all.Wait()
			t.Logf("the longest took %s", longest)
		})
	}
}

// endOnOtherReplica logs a person in twice, ends the first token on replica a, and
// returns how long replica b accepted it.
func endOnOtherReplica(t *testing.T, a, b *gatewaytest.Program, p *person, others bool, end func(token []string)) time.Duration {
	opens := func(at *gatewaytest.Program, token []string) bool {
		return at.Call(t, "GET", "/v1/models", "", token...).Status == 200
	}
	token, other := p.login(t, a), p.login(t, b)
	for began := time.Now(); !opens(b, token) || !opens(b, other); { // after an enable b may still refuse
		if time.Since(began) > time.Second {
			t.Error("a new token opens nothing")
			return 0
		}
	}
	end(token)
	began := time.Now()
	for opens(b, token) {
		if time.Since(began) > time.Second {
			t.Error("still accepted a second later")
			break
		}
	}
	took := time.Since(began)
	if opens(a, token) || opens(b, other) != others {
		t.Errorf("the token opens on its replica: %v; another one opens: %v", opens(a, token), opens(b, other))
	}
	return took
}

func TestATokenFromBeforeADisableStaysEnded(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "SIMULATOR=true", "REQUIRE_AUTH=true", gatewaytest.JWTSecret)
	root, bob := loginAs(t, p, "root"), loginAs(t, p, "bob")
	id := userID(t, p, "bob@example.com", root)
	for _, disabled := range []bool{true, false} {
		p.Call(t, "PATCH", "/admin/users/"+id, fmt.Sprintf(`{"disabled":%t}`, disabled), root...)
		gatewaytest.Until(t, "refused", func() bool { return p.Call(t, "GET", "/auth/keys", "", bob...).Status == 401 })
	}
	time.Sleep(time.Second) // every cache entry is older than that
	if a := p.Call(t, "GET", "/auth/keys", "", bob...); a.Status != 401 {
		t.Errorf("%d", a.Status)
	}
}

func TestSetUpLinkIsInTheLogUntilThereIsAnAdministrator(t *testing.T) {
	t.Parallel()
	settings := []string{"DATABASE_URL=sqlite:" + t.TempDir() + "/x.db", "SIMULATOR=true", gatewaytest.JWTSecret, "REGISTRATION=closed"}
	p := gatewaytest.Start(t, settings...)
	gatewaytest.Until(t, "the link is in the log", func() bool { return p.SetupToken() != "" })
	token := p.SetupToken()
	if n := strings.Count(p.Log.String(), "mgw_setup_"); n != 1 {
		t.Fatalf("%d times in the log: %s", n, p.Log)
	}
	if a := p.Call(t, "POST", "/auth/register", gatewaytest.AdaAccount); a.Status != 403 || a.APIError(t).Code != "registration_closed" {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	root := loginAs(t, p, "root")
	if a := p.Call(t, "GET", "/admin/users", "", root...); a.Status != 200 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	a := p.Call(t, "POST", "/auth/setup", `{"token":"`+token+`","email":"eve@example.com","password":"correct horse battery","name":"E"}`)
	if a.Status != 403 || a.APIError(t).Code != "invalid_setup_token" {
		t.Errorf("again: %d %s", a.Status, a.Body)
	}
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	if again := gatewaytest.Start(t, settings...); again.SetupToken() != "" {
		t.Error("shown although there is an administrator")
	}
}

func TestSetUpLinkIsShownOnceTheDatabaseAnswers(t *testing.T) {
	t.Parallel()
	settings := []string{"DATABASE_URL=sqlite:" + t.TempDir() + "/x.db", "SIMULATOR=true", gatewaytest.JWTSecret}
	if err := gatewaytest.Start(t, settings...).Stop(); err != nil {
		t.Fatal(err)
	}
	db := gatewaytest.OpenDatabase(t, settings)
	gatewaytest.Execute(t, db, "ALTER TABLE one_time_tokens RENAME TO gone")
	p := gatewaytest.Start(t, settings...)
	if token := p.SetupToken(); token != "" || !strings.Contains(p.Log.String(), "find out whether there is an administrator") {
		t.Errorf("%q is in the log: %s", token, p.Log)
	}
	gatewaytest.Execute(t, db, "ALTER TABLE gone RENAME TO one_time_tokens")
	gatewaytest.Until(t, "the link is in the log", func() bool { return p.SetupToken() != "" })
}

func TestReplicasThatStartTogetherShowOneSetUpToken(t *testing.T) {
	t.Parallel()
	settings := []string{"DATABASE_URL=" + servertest.Postgres(t), "SIMULATOR=true", gatewaytest.JWTSecret}
	tokens := make([]string, 3)
	var all sync.WaitGroup
	for i := range tokens {
		all.Go(func() {
			p := gatewaytest.Start(t, settings...)
			gatewaytest.Until(t, "the link is shown", func() bool { return p.SetupToken() != "" })
			tokens[i] = p.SetupToken()
		})
	}
	all.Wait()
	if tokens[0] == "" || tokens[1] != tokens[0] || tokens[2] != tokens[0] {
		t.Errorf("%v", tokens)
	}
}

// Programs that scan mails open every link.
func TestReadingALinkUsesNothing(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		p := gatewaytest.Start(t, append(settings, "SIMULATOR=true", gatewaytest.JWTSecret, "PUBLIC_URL=https://gateway.example/llm")...)
		token := p.SetupToken()
		read := func(token string) gatewaytest.Answer { return p.Call(t, "POST", "/auth/link", `{"token":"`+token+`"}`) }
		for range 2 {
			if a := read(token); a.Status != 200 || gatewaytest.Field(t, a, "purpose") != "setup" || a.Header.Get("Cache-Control") != "no-store" {
				t.Fatalf("%d %v %s", a.Status, a.Header, a.Body)
			}
		}
		root := p.Administrator(t)
		if a := read(token); a.Status != 403 || a.APIError(t).Code != "invalid_setup_token" {
			t.Errorf("a token that was used: %d %s", a.Status, a.Body)
		}
		team := gatewaytest.Field(t, p.Call(t, "POST", "/admin/teams", `{"name":"research"}`, root...), "id")
		made := p.Call(t, "POST", "/admin/invitations", `{"email":"ada@example.com","team_id":"`+team+`"}`, root...)
		url, invitation, _ := strings.Cut(gatewaytest.Field(t, made, "url"), "#token=")
		if url != "https://gateway.example/llm/signin" {
			t.Errorf("the token is not behind the #: %s", made.Body)
		}
		if a := read(invitation); a.Status != 200 || gatewaytest.Field(t, a, "purpose") != "invite" ||
			gatewaytest.Field(t, a, "email") != "ada@example.com" || gatewaytest.Field(t, a, "team") != "research" {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		other := `{"invitation":"` + invitation + `","email":"bob@example.com","name":"Bob","password":"correct horse battery"}`
		if a := p.Patiently(t, "/auth/register", other); a.Status != 403 || !strings.Contains(a.APIError(t).Message, "for another e-mail address") {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		if a := read("nonsense"); a.Status != 403 || a.APIError(t).Code != "invalid_link" {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		p.Client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		a := p.Get(t, "/auth/link?token="+token)
		if a.Status != 302 || a.Header.Get("Location") != "/llm/signin#token="+token || a.Header.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("the link of a former version: %d %v", a.Status, a.Header)
		}
		if strings.Contains(p.Log.String(), "correct horse") || strings.Count(p.Log.String(), token) != 1 {
			t.Error("the log has the password, or the token beyond the line of the start")
		}
	})
}

func TestUnverifiedUsersCallOnlyAfterTheyHaveOpenedTheMail(t *testing.T) {
	t.Parallel()
	for _, required := range []string{"true", "false"} {
		t.Run("REQUIRE_AUTH="+required, func(t *testing.T) {
			t.Parallel()
			server := mailtest.Serve(t)
			p := gatewaytest.Start(t, "SIMULATOR=true", "REQUIRE_AUTH="+required, gatewaytest.JWTSecret, "REQUIRE_VERIFIED_EMAIL=true",
				"SMTP_URL="+server.URL, "SMTP_FROM=Model Gateway <gateway@example.com>")
			token := p.Login(t)
			credentials := [][]string{token}
			for _, credential := range credentials {
				for _, a := range []gatewaytest.Answer{
					p.Chat(t, gatewaytest.HelloRequest, credential...), p.Call(t, "GET", "/v1/models", "", credential...),
					p.Call(t, "GET", "/v1/models/gpt-4", "", credential...), p.Call(t, "GET", "/v1/usage", "", credential...),
				} {
					if a.Status != http.StatusForbidden || a.APIError(t).Code != "verification_required" {
						t.Errorf("%s: %d %s", credential[0], a.Status, a.Body)
					}
				}
			}
			m := server.Await(t, 1)
			if a := p.Call(t, "POST", "/auth/verify", `{"token":"`+m.Token()+`","new_password":"correct horse battery"}`); a.Status != 200 ||
				gatewaytest.Field(t, a, "email") != "ada@example.com" {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
			token = p.Login(t)
			_, key := p.CreateKey(t, token)
			for _, credential := range [][]string{token, {"X-API-Key", key}} {
				gatewaytest.Until(t, "served", func() bool {
					return p.Chat(t, gatewaytest.HelloRequest, credential...).Status == 200
				})
			}
			if a := p.Call(t, "POST", "/auth/verify", `{"token":"`+m.Token()+`","new_password":"correct horse battery"}`); a.Status != 403 ||
				a.APIError(t).Code != "invalid_link" {
				t.Errorf("again: %d %s", a.Status, a.Body)
			}
			for _, email := range []string{"ada@example.com", "unknown@example.com"} {
				if a := p.Call(t, "POST", "/auth/password/forgot", `{"email":"`+email+`"}`); a.Status != 202 {
					t.Errorf("%s: %d %s", email, a.Status, a.Body)
				}
			}
			reset := server.Await(t, 2).Token()
			if a := p.Call(t, "POST", "/auth/password/reset", `{"token":"`+reset+`","new_password":"battery horse correct"}`); a.Status != 200 {
				t.Errorf("%d %s", a.Status, a.Body)
			}
			if a := p.Call(t, "GET", "/auth/keys", "", token...); a.Status != 401 {
				t.Errorf("the token of before the reset: %d", a.Status)
			}
			for _, secret := range []string{m.Token(), reset} {
				if strings.Contains(p.Log.String(), secret) {
					t.Error("the log has a link")
				}
			}
		})
	}
}

func TestOpenRegistrationBesideAnIdentityProviderIsWarnedOf(t *testing.T) {
	t.Parallel()
	const warning = "registration with a password is open beside the identity provider"
	for setting, want := range map[string]bool{
		"LOG_LEVEL=info": true, "MAX_BUDGET_USD=5": true, "REGISTRATION=invite": false, "REGISTRATION=closed": false, "REQUIRE_AUTH=false": false,
	} {
		settings := []string{
			"OPENAI_API_KEY=sk-x", "OPENAI_BASE_URL=http://127.0.0.1:1", "REQUIRE_AUTH=true", gatewaytest.JWTSecret, "PUBLIC_URL=http://localhost:8080",
			"IDP_PROVIDER=google", "IDP_CLIENT_ID=id", "IDP_CLIENT_SECRET=secret", "DATABASE_URL=sqlite:" + filepath.Join(t.TempDir(), "gateway.db"), setting,
		}
		p := gatewaytest.Start(t, settings...)
		awaitWarning(t, p, warning, want)
		log := p.Log.String()
		if got := strings.Count(log, warning); (got == 1) != want || got > 1 || strings.Contains(log, "there is no budget") {
			t.Errorf("%s: warned %d times: %s", setting, got, log)
		}
		if checked := gatewaytest.Command(t, settings, "check", "--offline"); strings.Contains(checked, warning) != want {
			t.Errorf("%s: the check: %s", setting, checked)
		}
	}
}

func TestOpenRegistrationWithoutABudgetIsWarnedOf(t *testing.T) {
	t.Parallel()
	const warning = "registration is open and there is no budget"
	for setting, want := range map[string]bool{
		"LOG_LEVEL=info": true, "REGISTRATION=invite": false, "MAX_BUDGET_USD=5": false, "DEFAULT_USER_BUDGET_USD=5": false,
		"DEFAULT_KEY_BUDGET_USD=5": false, "REQUIRE_AUTH=false": false,
	} {
		p := gatewaytest.Start(t, "OPENAI_API_KEY=sk-x", "OPENAI_BASE_URL=http://127.0.0.1:1", "REQUIRE_AUTH=true",
			gatewaytest.JWTSecret, setting)
		awaitWarning(t, p, warning, want)
		if got := strings.Count(p.Log.String(), warning); (got == 1) != want || got > 1 {
			t.Errorf("%s: warned %d times", setting, got)
		}
	}
}

// awaitWarning waits for a warning, which is logged after the gateway has begun to listen.
func awaitWarning(t *testing.T, p *gatewaytest.Program, warning string, wanted bool) {
	t.Helper()
	if wanted {
		gatewaytest.Eventually(t, gatewaytest.Patience, "the gateway warns: "+warning, func() bool {
			return strings.Contains(p.Log.String(), warning)
		})
	}
}
