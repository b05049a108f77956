package responses

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"modelgateway/tests/gatewaytest"
)

// A manager may hold a key that a member has in the team: it must not open what the member has
// made outside of the team.
func TestKeyOpensResponsesOfKeysOfItsTeamOnly(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, storage []string) {
		up := &organisations{kept: map[string]string{}}
		url := gatewaytest.ServeUpstream(t, up)
		settings := append(storage, gatewaytest.JWTSecret, "OPENAI_API_KEY=org-a", "OPENAI_BASE_URL="+url, "ANTHROPIC_API_KEY=k",
			"ANTHROPIC_BASE_URL="+url, "RESPONSES_STORE_HOURS=1", "ENCRYPTION_KEY="+encryptionKey, "AUTH_RATE_LIMIT_RPM=0")
		s := &shared{t: t, up: up, settings: settings, one: gatewaytest.Start(t, settings...)}
		as := s.callersOfTeams()
		opens := map[string][]string{
			"login": {"login", "no team", "research", "sales"}, "no team": {"login", "no team"}, "research": {"research"}, "sales": {"sales"},
			"bob in research": {"bob in research"},
		}
		for _, model := range []string{"gpt-6-sol", claude} { // kept by the provider, and by the gateway
			made := map[string]string{}
			for maker, credential := range as {
				made[maker], _, _ = said(t, s.ask(s.one, credential, model, `"input":"plover"`))
			}
			for reader, credential := range as {
				for maker, id := range made {
					s.opens(model, id, credential, reader+" of "+maker, slices.Contains(opens[reader], maker))
				}
			}
			if a := s.one.Call(t, "DELETE", "/v1/responses/"+made["research"], "", as["login"]...); a.Status != 200 {
				t.Errorf("%s: its user erases it: %d %s", model, a.Status, a.Body)
			}
		}
	})
}

// callersOfTeams are the credentials of a user: of a login, and of keys of no team and of two; and of
// a key of another user in one of the teams.
func (s *shared) callersOfTeams() map[string][]string {
	s.t.Helper()
	as := map[string][]string{"ada": s.one.SignUp(s.t, "ada"), "bob": s.one.SignUp(s.t, "bob")}
	key := func(of, body string) []string {
		return []string{"X-API-Key", gatewaytest.Field(s.t, s.one.Patiently(s.t, "/auth/keys", `{"name":"k"`+body+`}`, as[of]...), "key")}
	}
	team := func(name string) string {
		var made struct{ ID string }
		if err := json.Unmarshal([]byte(gatewaytest.Command(s.t, s.settings, "team", "create", "--name", name, "--json")), &made); err != nil {
			s.t.Fatal(err)
		}
		gatewaytest.Command(s.t, s.settings, "team", "add", name, "ada@example.com")
		return `,"team_id":"` + made.ID + `"`
	}
	research, sales := team("research"), team("sales")
	gatewaytest.Command(s.t, s.settings, "team", "add", "research", "bob@example.com")
	return map[string][]string{
		"login": as["ada"], "no team": key("ada", ""), "research": key("ada", research), "sales": key("ada", sales),
		"bob in research": key("bob", research),
	}
}

// opens checks whether a caller may use a response again, in every way but to erase it.
func (s *shared) opens(model, id string, as []string, what string, may bool) {
	s.t.Helper()
	status := map[bool][2]int{true: {200, 200}, false: {404, 400}}[may]
	for _, path := range []string{"", "/input_items"} {
		a := s.one.Call(s.t, "GET", "/v1/responses/"+id+path, "", as...)
		if a.Status != status[0] || may && path == "" && gatewaytest.Field(s.t, a, "id") != id || !may && a.APIError(s.t).Code != "response_not_found" {
			s.t.Errorf("%s: %s%s: %d %s", model, what, path, a.Status, a.Body)
		}
	}
	a := s.ask(s.one, as, model, `"input":"more","previous_response_id":"`+id+`"`)
	if a.Status != status[1] || may && !strings.Contains(a.Body, id) || !may && a.APIError(s.t).Code != "previous_response_not_found" {
		s.t.Errorf("%s: %s goes on: %d %s", model, what, a.Status, a.Body)
	}
	if may {
		return
	}
	if a := s.one.Call(s.t, "DELETE", "/v1/responses/"+id, "", as...); a.Status != 404 {
		s.t.Errorf("%s: %s erases: %d %s", model, what, a.Status, a.Body)
	}
}
