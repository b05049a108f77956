package ledger

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"modelgateway/tests/gatewaytest"
)

func TestAStatementNamesWhoHasLeft(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		p := gatewaytest.Start(t, append(settings, "SIMULATOR=true", gatewaytest.JWTSecret)...)
		root, ada := p.Administrator(t), p.Login(t)
		key := gatewaytest.Field(t, p.Call(t, "POST", "/auth/keys", `{"name":"app"}`, ada...), "key")
		hi := gatewaytest.HelloRequest
		if a := p.Chat(t, hi, "Authorization", "Bearer "+key, "X-Gateway-Project", "ship"); a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		gatewaytest.Until(t, "the sums have the call", func() bool {
			return strings.Contains(p.Call(t, "GET", "/admin/usage", "", root...).Body, `"calls":1`)
		})
		path := "/admin/statement?month=" + time.Now().UTC().Format("2006-01")
		if a := p.Call(t, "GET", path, "", ada...); a.Status != 403 {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		_, id, _ := strings.Cut(p.Call(t, "GET", "/auth/session", "", ada...).Body, `"id":"`)
		id, _, _ = strings.Cut(id, `"`)
		if a := p.Call(t, "DELETE", "/admin/users/"+id, "", root...); a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		var statement struct {
			Lines []struct {
				TeamID    *string `json:"team_id"`
				UserEmail string  `json:"user_email"`
				DeletedAt int64   `json:"user_deleted_at"`
				Project   string  `json:"project"`
				Calls     int     `json:"calls"`
			} `json:"lines"`
		}
		a := p.Call(t, "GET", path, "", root...)
		if err := json.Unmarshal([]byte(a.Body), &statement); err != nil || len(statement.Lines) != 1 {
			t.Fatalf("%v %s", err, a.Body)
		}
		l := statement.Lines[0]
		if l.TeamID != nil || l.UserEmail != "ada@example.com" || l.DeletedAt == 0 || l.Project != "ship" || l.Calls != 1 {
			t.Errorf("%+v", l)
		}
		file := p.Call(t, "GET", path, "", accepting("text/csv", root)...)
		team, user := column(t, file.Body, "team"), column(t, file.Body, "user")
		if team[0] != "none" || !strings.HasPrefix(user[0], "ada@example.com, deleted ") {
			t.Error(file.Body)
		}
		lines := p.Call(t, "GET", path, "", accepting("application/x-ndjson", root)...).Body
		if strings.Count(lines, "\n") != 1 || !strings.Contains(a.Body, strings.TrimSpace(lines)) {
			t.Error(lines)
		}
	})
}
