package accounts

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"modelgateway/services/mail/mailtest"
	"modelgateway/tests/gatewaytest"
)

const (
	publicURL = "PUBLIC_URL=https://gateway.example.com"
	keysPage  = "https://gateway.example.com/keys?scope=own" // where users fetch secrets
)

// A manager who holds the secret of a member's key spends in the member's name: only the member sees it.
func TestTheSecretOfAMembersKeyIsFetchedByTheMember(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		p := gatewaytest.Start(t, append(settings, "SIMULATOR=true", "REQUIRE_AUTH=true", "AUTH_RATE_LIMIT_RPM=0", gatewaytest.JWTSecret, publicURL)...)
		root, eve, mia := loginAs(t, p, "root"), loginAs(t, p, "eve"), loginAs(t, p, "mia")
		team := member(t, must(t, 201, p.Call(t, "POST", "/admin/teams", `{"name":"Research"}`, root...)), "id")
		must(t, 201, p.Call(t, "POST", "/admin/teams/"+team+"/members", `{"email":"eve@example.com","role":"manager"}`, root...))
		added := must(t, 201, p.Call(t, "POST", "/admin/teams/"+team+"/members", `{"email":"mia@example.com"}`, root...))
		keys := "/auth/teams/" + team + "/keys"
		for _, by := range []struct {
			path, of string
			as       []string
		}{{keys, "", eve}, {"/admin/keys", `,"team_id":"` + team + `"`, root}} {
			a := must(t, 201, p.Call(t, "POST", by.path, `{"name":"k","user_id":"`+member(t, added, "user_id")+`"`+by.of+`}`, by.as...))
			checkMembers(t, by.path, jsonObject(t, a), `{"key":null,"pending":true,"prefix":"","link":"`+keysPage+`"}`)
			id := member(t, a, "id")
			for path, as := range map[string][]string{keys: eve, "/admin/keys": root, "/auth/keys": mia} {
				checkMembers(t, path, findListed(t, p, path, id, as), `{"pending":true,"prefix":""}`)
			}
			for _, as := range [][]string{eve, root} {
				wantRefusal(t, 404, "key_not_found", p.Call(t, "POST", "/auth/keys/"+id+"/secret", "", as...))
			}
			wantRefusal(t, 409, "key_pending", p.Call(t, "POST", "/auth/keys/"+id+"/rotate", "", mia...))
			secret := fetchAtOnce(t, p, id, mia)
			wantRefusal(t, 409, "secret_fetched", p.Call(t, "POST", "/auth/keys/"+id+"/secret", "", mia...))
			must(t, 200, p.Chat(t, gatewaytest.HelloRequest, "X-API-Key", secret))
			if listed := findListed(t, p, keys, id, eve); listed["pending"] != nil || !strings.HasPrefix(secret, listed["prefix"].(string)) {
				t.Errorf("after it was fetched: %v", listed)
			}
			wantRefusal(t, 403, "secret_withheld", p.Call(t, "POST", keys+"/"+id+"/rotate", "", eve...))
			wantRefusal(t, 401, "invalid_token", p.Call(t, "POST", "/auth/keys/"+id+"/secret", "", "Authorization", "Bearer "+secret))
			must(t, 200, p.Call(t, "PATCH", keys+"/"+id, `{"name":"limited"}`, eve...))
			rotated := must(t, 201, p.Call(t, "POST", "/admin/keys/"+id+"/rotate", "", root...))
			checkMembers(t, "rotated", jsonObject(t, rotated), `{"key":null,"pending":true}`)
			must(t, 200, p.Chat(t, gatewaytest.HelloRequest, "X-API-Key", secret)) // it works on
			must(t, 200, p.Chat(t, gatewaytest.HelloRequest, "X-API-Key", fetchAtOnce(t, p, id, mia)))
			must(t, 200, p.Call(t, "DELETE", keys+"/"+id, "", eve...))
		}
		wantRefusal(t, 403, "secret_withheld", p.Call(t, "POST", keys, `{"name":"k","reveal":true,"user_id":"`+member(t, added, "user_id")+`"}`, eve...))
		for _, own := range []string{``, `,"user_id":"` + userID(t, p, "eve@example.com", root) + `"`} { // of the team, and of the manager
			a := must(t, 201, p.Call(t, "POST", keys, `{"name":"k"`+own+`}`, eve...))
			again := must(t, 201, p.Call(t, "POST", keys+"/"+member(t, a, "id")+"/rotate", "", eve...))
			for _, shown := range []gatewaytest.Answer{a, again} {
				must(t, 200, p.Chat(t, gatewaytest.HelloRequest, "X-API-Key", member(t, shown, "key")))
			}
		}
	})
}

// fetchAtOnce fetches a secret several times at once: one answer has it.
func fetchAtOnce(t *testing.T, p *gatewaytest.Program, id string, as []string) string {
	t.Helper()
	var all sync.WaitGroup
	var secret atomic.Pointer[string]
	for range 5 {
		all.Go(func() {
			a := p.Call(t, "POST", "/auth/keys/"+id+"/secret", "", as...)
			if a.Status == 409 {
				return
			}
			text := gatewaytest.Field(t, a, "key")
			if a.Status != 201 || a.Header.Get("Cache-Control") != "no-store" || !secret.CompareAndSwap(nil, &text) {
				t.Errorf("fetched: %d %s", a.Status, a.Header)
			}
		})
	}
	all.Wait()
	if secret.Load() == nil {
		t.Fatal("no answer has the secret")
	}
	return *secret.Load()
}

func TestOwnersAreMailedWhereTheirSecretIsAndWhoHasSeenIt(t *testing.T) {
	t.Parallel()
	server := mailtest.Serve(t)
	settings := []string{"DATABASE_URL=sqlite:" + t.TempDir() + "/gateway.db"}
	p := gatewaytest.Start(t, append(settings, "SIMULATOR=true", "AUTH_RATE_LIMIT_RPM=0", gatewaytest.JWTSecret, publicURL,
		"SMTP_URL="+server.URL, "SMTP_FROM=gateway@example.com")...)
	root := loginAs(t, p, "root")
	mails := 0
	mailed := func(subject, text string) {
		t.Helper()
		mails++
		if m := server.Await(t, mails); m.To != "<mia@example.com>" || !strings.Contains(m.Text, text) {
			t.Errorf("%s: %+v", subject, m)
		}
	}
	made := must(t, 201, p.Call(t, "POST", "/admin/users", `{"email":"mia@example.com","password":"correct horse battery","key":{"name":"first"}}`, root...))
	id := member(t, made, "key", "id")
	if member(t, made, "key", "link") != keysPage || member(t, made, "key", "key") != "" {
		t.Errorf("%s", made.Body)
	}
	mailed("a first key", keysPage)
	must(t, 201, p.Call(t, "POST", "/auth/keys/"+id+"/secret", "", bearer(t, p.Call(t, "POST", "/auth/login", `{"email":"mia@example.com","password":"correct horse battery"}`))...))
	must(t, 201, p.Call(t, "POST", "/admin/keys/"+id+"/rotate", `{"overlap_seconds":0}`, root...))
	mailed("rotated", keysPage)
	a := must(t, 201, p.Call(t, "POST", "/admin/keys", `{"name":"second","reveal":true,"user_id":"`+member(t, made, "id")+`"}`, root...))
	if member(t, a, "key") == "" {
		t.Errorf("%s", a.Body)
	}
	mailed("shown", "was made by root@example.com, who has seen it")
	must(t, 201, p.Call(t, "POST", "/admin/keys/"+member(t, a, "id")+"/rotate", `{"reveal":true}`, root...))
	mailed("rotated and shown", "was made by root@example.com, who has seen it")
	for _, m := range server.Mails() {
		if strings.Contains(m.Text, "mgw_") {
			t.Errorf("a mail with a secret: %s", m.Text)
		}
	}
	shown := 0
	for _, entry := range listData(t, p.Call(t, "GET", "/admin/audit?action=key.", "", root...)) {
		if by, ok := entry["detail"].(map[string]any)["secret_shown_to"]; ok {
			shown++
			if by != "root@example.com" || entry["actor_email"] != "root@example.com" {
				t.Errorf("%v", entry)
			}
		}
	}
	if shown != 2 {
		t.Errorf("the audit has %d secrets that were shown", shown)
	}
}

// An account whose address is not verified may be a stranger's, who registered it first.
func TestUnverifiedUsersFetchNoSecretWhereTheGatewaySendsMail(t *testing.T) {
	t.Parallel()
	server := mailtest.Serve(t)
	p := gatewaytest.Start(t, "SIMULATOR=true", "AUTH_RATE_LIMIT_RPM=0", gatewaytest.JWTSecret, "SMTP_URL="+server.URL, "SMTP_FROM=gateway@example.com")
	root, mia := loginAs(t, p, "root"), loginAs(t, p, "mia")
	a := must(t, 201, p.Call(t, "POST", "/admin/keys", `{"name":"k","user_id":"`+userID(t, p, "mia@example.com", root)+`"}`, root...))
	wantRefusal(t, 403, "email_not_verified", p.Call(t, "POST", "/auth/keys/"+member(t, a, "id")+"/secret", "", mia...))
}
