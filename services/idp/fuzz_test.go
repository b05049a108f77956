package idp

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"modelgateway/api"
	"modelgateway/services/audit"
	"modelgateway/services/idp/idptest"
)

// fuzzRig needs no network, so that many logins take little.
func fuzzRig(f *testing.F) *rig {
	m := idptest.New(f)
	m.URL = "https://idp.example.com"
	return newRigWith(f, m, func(o *Options) { o.HTTP = &http.Client{Transport: idptest.InProcess{Handler: m}} })
}

// attempt logs in and wants either a failure of ours or ada.
func (r *rig) attempt(t *testing.T) {
	redirect, cookie, err := r.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	u, _ := url.Parse(redirect)
	r.idp.Codes["code"] = u.Query()
	token, err := r.Finish(t.Context(), url.Values{"code": {"code"}, "state": {u.Query().Get("state")}}, cookie, audit.Entry{})
	if err == nil {
		if user := r.userOf(token); user.Email == "" {
			t.Errorf("logged in %+v", user)
		}
		return
	}
	if e, ok := errors.AsType[*api.Error](err); !ok || e.Status == http.StatusInternalServerError || e.Code == api.CodeServiceUnavailable {
		t.Errorf("a provider makes us fail: %v", err)
	}
}

func FuzzIDTokenPayload(f *testing.F) {
	const good = `"iss":"https://idp.example.com","aud":"gateway/client+1","sub":"ada-1","email":"ada@example.com","email_verified":true,"nonce":"NONCE"`
	f.Add(`{` + good + `,"exp":99999999999}`)
	f.Add(`{` + good + `}`)
	f.Add(`{` + good + `,"exp":"99999999999"}`)
	f.Add(`{` + good + `,"exp":9e99}`)
	f.Add(`{` + good + `,"EXP":99999999999}`)
	f.Add(`{` + good + `,"exp":99999999999,"Exp":null}`)
	f.Add(`{` + good + `,"exp":99999999999,"email":["a"],"name":{}}`)
	f.Add(`{` + good + `,"exp":99999999999,"sub":"\u0000"}`)
	f.Add(`{"exp":{}}`)
	f.Add(`null`)
	f.Add(`[]`)
	f.Add(``)
	f.Add(`"x"`)
	r := fuzzRig(f)
	f.Fuzz(func(t *testing.T, payload string) {
		r.t = t
		r.idp.Sign = func(c jwt.MapClaims) any {
			nonce, _ := c["nonce"].(string)
			return r.idp.SignedPayload([]byte(strings.ReplaceAll(payload, "NONCE", nonce)))
		}
		r.attempt(t)
	})
}

func FuzzUserinfo(f *testing.F) {
	f.Add(`{"sub":"ada-1","email":"ada@example.com","email_verified":true}`)
	f.Add(`{"sub":"ada-1","email":"ada@example.com","email_verified":"true"}`)
	f.Add(`{"sub":"ada-1","email":"a@b.example.com","email":"c@d.example.com","email_verified":true}`)
	f.Add(`{"sub":["ada-1"],"email":{"a":1},"name":5}`)
	f.Add(`{"sub":null}`)
	f.Add(`null`)
	f.Add(`[{}]`)
	f.Add(`{`)
	f.Add(``)
	r := fuzzRig(f)
	r.idp.Person = jwt.MapClaims{"sub": "ada-1"}
	f.Fuzz(func(t *testing.T, body string) {
		r.t = t
		r.idp.Instead["/userinfo"] = says(http.StatusOK, "application/json", body)
		r.attempt(t)
	})
}

func FuzzTokenAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"access_token":"x","id_token":5}`, `{"access_token":"x","id_token":["a"]}`, `{"access_token":"a\nb","id_token":"a.b.c"}`,
		`{"access_token":"x","expires_in":-1e9,"id_token":null}`, `{"error":5}`, `null`, `[]`, `access_token=x&id_token=y`, ``,
	} {
		f.Add("application/json", seed)
		f.Add("text/plain", seed)
	}
	r := fuzzRig(f)
	f.Fuzz(func(t *testing.T, kind, body string) {
		r.t = t
		r.idp.Instead["/token"] = says(http.StatusOK, kind, body)
		r.attempt(t)
	})
}

func FuzzDiscovery(f *testing.F) {
	f.Add(
		`{"issuer":"https://idp.example.com","authorization_endpoint":"https://x/a?b=c","token_endpoint":"https://x/t","jwks_uri":"https://x/k","userinfo_endpoint":"https://x/u"}`,
	)
	f.Add(`{"issuer":"https://idp.example.com","authorization_endpoint":"https://[::1","token_endpoint":"%zz","jwks_uri":5}`)
	f.Add(`null`)
	f.Add(``)
	m := idptest.New(f)
	m.URL = "https://idp.example.com"
	l := newRigWith(f, m, func(o *Options) { o.HTTP = &http.Client{Transport: idptest.InProcess{Handler: m}} })
	f.Fuzz(func(t *testing.T, body string) {
		m.Instead["/.well-known/openid-configuration"] = says(http.StatusOK, "application/json", body)
		p, err := l.discover(t.Context())
		if err != nil {
			return
		}
		address, err := p.address(l.http, newAttempt(l.opts.Now()))
		if u, bad := url.Parse(address); err == nil && (bad != nil || u.Scheme != "https" || u.Query().Get("code_challenge") == "") {
			t.Errorf("the browser is sent to %q", address)
		}
	})
}

func FuzzCookie(f *testing.F) {
	// A key of each process's own: workers are sent the seeds of another.
	r := newRigWith(f, idptest.New(f), func(o *Options) { o.Secret = []byte(rand.Text()) })
	good := r.seal(newAttempt(r.opts.Now()))
	f.Add(good)
	f.Add(good[:40])
	f.Add("")
	f.Fuzz(func(t *testing.T, cookie string) {
		if _, err := r.open(cookie); err == nil && cookie != good {
			t.Errorf("opens %q", cookie)
		}
	})
}

func FuzzProfiles(f *testing.F) {
	f.Add(`{"id":117,"login":"ada","email":"x@example.com"}`, `[{"email":"ada@example.com","verified":true,"primary":true}]`)
	f.Add(`{"id":null}`, `[null]`)
	f.Add(`null`, `[{"verified":[]}]`)
	m := idptest.New(f)
	r := newRigWith(f, m, func(o *Options) {
		o.Config.Name, o.Config.Issuer = "github", ""
		o.HTTP = &http.Client{Transport: idptest.InProcess{Handler: m}}
	})
	m.Instead["/login/oauth/access_token"] = func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]string{"access_token": "x"})
	}
	f.Fuzz(func(t *testing.T, profile, emails string) {
		r.t = t
		m.Instead["/user"] = says(http.StatusOK, "application/json", profile)
		m.Instead["/user/emails"] = says(http.StatusOK, "application/json", emails)
		r.attempt(t)
	})
}
