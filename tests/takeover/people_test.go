package takeover

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"modelgateway/services/idp/idptest"
	"modelgateway/services/mail/mailtest"
	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/litellmtest"
)

func TestPeopleOfALiteLLM(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		m := newMove(t, "newest", settings)
		mails := mailtest.Serve(t)
		provider := idptest.Serve(t)
		p := m.gateway(t, 1, "SMTP_URL="+mails.URL, "SMTP_FROM=gateway@example.com", "PUBLIC_URL="+strings.TrimSuffix(idptest.Callback, "/auth/idp/callback"),
			"IDP_CLIENT_ID="+idptest.ClientID, "IDP_CLIENT_SECRET="+idptest.ClientSecret, "IDP_PROVIDER=oidc", "IDP_ISSUER="+provider.URL)
		root := p.Administrator(t)
		stranger, owner := p.SignUp(t, "person11"), []string(nil)
		p.SignUp(t, "person12")
		token := func(email string) (token string) { // of the mail to an address
			t.Helper()
			gatewaytest.Until(t, "a mail to "+email, func() bool {
				for _, mail := range mails.Mails() {
					if strings.Contains(mail.To, email) {
						token = mail.Token()
					}
				}
				return token != ""
			})
			return token
		}
		must(t, 200, p.Call(t, "POST", "/auth/verify", `{"token":"`+token("person12@example.com")+`","new_password":"the owner's own one"}`))
		gatewaytest.Command(t, m.settings, "user", "limits", "person12@example.com", "--budget-usd", "3", "--budget-window", "month")
		login := func(email, password string) gatewaytest.Answer {
			return p.Patiently(t, "/auth/login", `{"email":"`+email+`","password":"`+password+`"}`)
		}
		owner = []string{"Authorization", "Bearer " + gatewaytest.Field(t, must(t, 200, login("person12@example.com", "the owner's own one")), "token")}

		_, kept := m.take(t)
		if strings.Count(kept, "\n") != 2 || !strings.Contains(kept, "person11@example.com has an account here whose address is not proven") ||
			!strings.Contains(kept, "person12@example.com has an account here: it keeps") {
			t.Errorf("kept: %s", kept)
		}
		of := func(user string) *litellmtest.Key {
			at := slices.IndexFunc(m.company.Keys, func(k *litellmtest.Key) bool {
				return k.UserID == user && k.TeamID == "" && m.want(k, "gpt-4o", time.Now()) == 200
			})
			if at < 0 {
				t.Fatalf("%s has no key", user)
			}
			return m.company.Keys[at]
		}
		gatewaytest.Until(t, "the takeover is noticed", func() bool { return chat(t, p, of("user-05").Text, "gpt-4o").Status == 200 })

		// An administrator there is none here before a login.
		for _, password := range []string{"", " ", "correct horse battery"} {
			if a := login("person01@example.com", password); a.Status == 200 {
				t.Errorf("a login without a password: %s", a.Body)
			}
		}
		must(t, 401, p.Call(t, "GET", "/admin/users", "", bearer(of("user-01").Text)...))
		must(t, 200, p.Call(t, "GET", "/admin/users", "", m.resetPassword(t, p, "person01@example.com")...))
		must(t, 403, p.Call(t, "GET", "/admin/users", "", m.resetPassword(t, p, "person30@example.com")...))

		// A proof of the address later ends no key.
		must(t, 201, p.Call(t, "POST", "/admin/users/"+m.idOf(t, "user", "user-05")+"/reset", "", root...))
		must(t, 200, p.Call(t, "POST", "/auth/password/reset", `{"token":"`+token("person05@example.com")+`","new_password":"the owner's next one"}`))
		must(t, 200, login("person05@example.com", "the owner's next one"))
		for _, k := range m.usable(func(k *litellmtest.Key) bool { return k.UserID == "user-05" }) {
			must(t, 200, chat(t, p, k.Text, "gpt-4o"))
		}
		provider.Set(func(at *idptest.Provider) { at.Person["email"] = "person06@example.com" })
		logInByProvider(t, p)
		for _, k := range m.usable(func(k *litellmtest.Key) bool { return k.UserID == "user-06" }) {
			must(t, 200, chat(t, p, k.Text, "gpt-4o"))
		}
		if got := query(t, m.db, "SELECT user_id FROM identities"); len(got) != 1 || got[0] != m.idOf(t, "user", "user-06") {
			t.Errorf("identities: %v", got)
		}
		if got := query(t, m.db, "SELECT teams.name, role FROM team_members JOIN teams ON teams.id = team_id JOIN users ON users.id = user_id WHERE email = 'person05@example.com'"); len(got) != 1 ||
			got[0] != "North / Finance|manager" {
			t.Errorf("teams: %v", got)
		}

		// Whoever has registered the address of another gets nothing of theirs, whose keys work all the same.
		for _, path := range []string{"/auth/keys", "/auth/teams"} {
			if a := p.Call(t, "GET", path, "", stranger...); strings.Contains(a.Body, `"id"`) {
				t.Errorf("%s of a stranger: %d %s", path, a.Status, a.Body)
			}
		}
		k := of("user-11")
		must(t, 200, chat(t, p, k.Text, "gpt-4o"))
		if got := query(t, m.db, "SELECT user_id, teams.name FROM api_keys JOIN teams ON teams.id = team_id WHERE hash = 'litellm:"+k.Token+"'"); len(got) != 1 || got[0] != "|LiteLLM / user-11" {
			t.Errorf("a key of an address that is not proven: %v", got)
		}
		// Who was here and has proven the address keeps the limits, and has the keys.
		if got := query(t, m.db, "SELECT budget, admin_at FROM users WHERE email = 'person12@example.com'"); len(got) != 1 || got[0] != "3000000|0" {
			t.Errorf("who was here before: %v", got)
		}
		if a := must(t, 200, p.Call(t, "GET", "/auth/keys", "", owner...)); strings.Count(a.Body, `"origin":"litellm"`) < 3 {
			t.Errorf("keys of who was here before: %s", a.Body)
		}
		must(t, 200, chat(t, p, of("user-12").Text, "gpt-4o"))
		if done, _ := m.take(t); done != (counts{}) {
			t.Errorf("a second run: %+v", done)
		}
		must(t, 200, p.Call(t, "GET", "/admin/users", "", root...))
	})
}

// logInByProvider logs in at the identity provider, as a browser does.
func logInByProvider(t *testing.T, p *gatewaytest.Program) {
	t.Helper()
	client := *p.Client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	browser := *p
	browser.Client = &client
	began := must(t, 302, browser.Call(t, "GET", "/auth/idp", ""))
	resp, err := (&http.Client{CheckRedirect: client.CheckRedirect}).Get(began.Header.Get("Location"))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	back, err := resp.Location()
	if err != nil {
		t.Fatal(err)
	}
	var cookies []string
	for _, cookie := range (&http.Response{Header: began.Header}).Cookies() {
		cookies = append(cookies, cookie.Name+"="+cookie.Value)
	}
	if a := browser.Call(t, "GET", back.RequestURI(), "", "Cookie", strings.Join(cookies, "; ")); a.Status >= 400 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
}
