package cli_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"modelgateway/app/signin"
)

// signInServer is a gateway that confirms every code at once, and lists a model to who is signed in.
func signInServer(t *testing.T) string {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	url := "http://" + server.Listener.Addr().String()
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/.well-known/oauth-authorization-server":
			_, _ = fmt.Fprintf(w, `{"device_authorization_endpoint":"%s/device","token_endpoint":"%s/token"}`, url, url)
		case "/device":
			_, _ = fmt.Fprint(w, `{"device_code":"d","user_code":"C","verification_uri":"/","expires_in":600,"interval":1}`)
		case "/token":
			_, _ = fmt.Fprint(w, `{"access_token":"access","expires_in":3600,"refresh_token":"refresh"}`)
		case "/v1/models":
			if r.Header.Get("Authorization") != "Bearer access" || !r.URL.Query().Has("client_version") {
				w.WriteHeader(http.StatusUnauthorized)
			}
			_, _ = fmt.Fprint(w, `{"data":[],"models":[{"slug":"ours","context_window":5},{"slug":"both","from":"gateway"}]}`)
		}
	})
	server.Start()
	t.Cleanup(server.Close)
	return url
}

func TestTokenIsAloneOnStandardOutput(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	url, g := signInServer(t), onSQLite(t)
	g.refuses(1, []string{"not signed in to " + url, "`modelgateway token --url " + url + "` in a terminal"}, "token", "--url", url)
	g.refuses(1, []string{"401"}, "codex-catalog", "--url", url)

	dir, err := signin.Dir()
	if err != nil || !strings.HasPrefix(dir, home) {
		t.Fatalf("%s: %v", dir, err)
	}
	terminal := &signin.Gateway{URL: url, Dir: dir, Show: func(string) {}}
	if _, err := terminal.Token(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := g.run("token", "--url", url+"/"); r.code != 0 || r.out != "access\n" || r.err != "" {
		t.Errorf("%+v", r)
	}
	if out := g.do("codex-catalog", "--url", url); out != `{"models":[{"slug":"ours","context_window":5},{"slug":"both","from":"gateway"}]}`+"\n" {
		t.Error(out)
	}
	g.in = `{"models":[{"slug":"both","from":"codex"},{"slug":"theirs"}]}`
	if out := g.do("codex-catalog", "--url", url, "--with", "-"); out != `{"models":[{"slug":"both","from":"codex"},{"slug":"theirs"},`+
		`{"slug":"ours","context_window":5}]}`+"\n" {
		t.Error(out)
	}
	g.in = `{"models":[]}`
	g.refuses(1, []string{"--with", "codex debug models --bundled"}, "codex-catalog", "--url", url, "--with", "-")
}
