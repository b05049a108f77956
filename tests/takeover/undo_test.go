package takeover

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"modelgateway/models"
	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/litellmtest"
)

// undo writes a script, runs it with a curl that only writes down what it is called with, and returns these calls, as path and body, and what
// is left to do by hand.
func (m *move) undo(t *testing.T, flags ...string) (calls []string, byHand string) {
	t.Helper()
	before, err := filepath.Glob(m.dir + "/litellm-undo*")
	if err != nil {
		t.Fatal(err)
	}
	code, out, faults := gatewaytest.TryCommand(t, m.settings, "", append([]string{"takeover", "litellm", "--undo", "--out", m.dir}, flags...)...)
	if code != 0 {
		t.Fatalf("exit code %d: %s%s", code, out, faults)
	}
	after, err := filepath.Glob(m.dir + "/litellm-undo*")
	if err != nil {
		t.Fatal(err)
	}
	scripts := slices.DeleteFunc(after, func(name string) bool { return slices.Contains(before, name) })
	if len(scripts) > 1 {
		t.Fatalf("scripts: %v", scripts)
	}
	for _, script := range scripts {
		calls = append(calls, m.runScript(t, script)...)
	}
	return calls, faults
}

func (m *move) runScript(t *testing.T, script string) (calls []string) {
	t.Helper()
	if out, err := exec.Command("sh", "-n", script).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	bin, log := t.TempDir(), filepath.Join(t.TempDir(), "calls")
	curl := "#!/bin/sh\nprintf '%s\\036' \"$(cat)\" \"$@\" >> '" + log + "'\nprintf '\\035' >> '" + log + "'\n"
	if err := os.WriteFile(filepath.Join(bin, "curl"), []byte(curl), 0o700); err != nil {
		t.Fatal(err)
	}
	run := exec.Command("sh", script)
	run.Dir = t.TempDir()
	run.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "LITELLM_URL=http://127.0.0.1:4000", "LITELLM_MASTER_KEY=sk-master"}
	if out, err := run.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(log)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	for call := range strings.SplitSeq(strings.TrimSuffix(string(text), "\x1d"), "\x1d") {
		arguments := strings.Split(strings.TrimSuffix(call, "\x1e"), "\x1e")
		at := slices.IndexFunc(arguments, func(a string) bool { return strings.HasPrefix(a, "http") })
		if at < 0 || !slices.Contains(arguments, "Authorization: Bearer sk-master") || !slices.Contains(arguments, "POST") {
			t.Errorf("curl %q", arguments)
			continue
		}
		calls = append(calls, strings.TrimPrefix(arguments[at], "http://127.0.0.1:4000/")+" "+arguments[len(arguments)-1])
	}
	slices.Sort(calls)
	return calls
}

func (m *move) wantCalls(t *testing.T, got []string, want ...string) {
	t.Helper()
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("calls\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestTheWayBack(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		m := newMove(t, "newest", settings)
		gatewaytest.Command(t, m.settings, "team", "create", "--name", "North / Search") // a name that a team there will have
		m.take(t)
		m.thereUnchanged(t)
		calls, _ := m.undo(t)
		m.wantCalls(t, calls)

		p := m.gateway(t, 5, "PUBLIC_URL=http://gateway.example.com")
		ofTwo := []string{"user-03", "user-04"}
		personal := m.usable(func(k *litellmtest.Key) bool {
			return hasAccount(k) && k.TeamID == "" && !slices.Contains(ofTwo, k.UserID)
		})
		budget, list, name, revoked, rotated, spends, expires := personal[0], personal[1], personal[2], personal[3], personal[4], personal[5], personal[6]
		id := func(k *litellmtest.Key) string { return m.idOf(t, "key", k.Token) }
		command := func(args ...string) { gatewaytest.Command(t, m.settings, args...) }
		command("key", "limits", id(budget), "--budget-usd", "5.25", "--budget-window", "week", "--max-parallel-requests", "7")
		command("key", "limits", id(list), "--models", "gpt-4o,anthropic/*")
		command("key", "limits", id(expires), "--expires-at", "30d")
		command("key", "rotate", id(rotated), "--overlap", "1h")
		command("key", "create", "--user", "person03@example.com", "--name", "made here")
		command("user", "limits", "person03@example.com", "--rpm-limit", "none", "--tpm-limit", "5000")
		command("user", "rename", "person04@example.com", `O'Neil "the $HOME" \ `+"`id` é")
		root := m.resetPassword(t, p, "person00@example.com")
		must(t, 200, p.Call(t, "DELETE", "/admin/keys/"+id(revoked), "", root...))
		must(t, 200, p.Call(t, "PATCH", "/admin/keys/"+id(name), `{"name":"it's; rm -rf $HOME"}`, root...))
		must(t, 200, p.Call(t, "PATCH", "/admin/teams/"+m.idOf(t, "team", "team-00"), `{"name":"North / Core","tpm_limit":null,"budget_usd":null}`, root...))
		must(t, 200, chat(t, p, spends.Text, "gpt-4o"))
		must(t, 200, chat(t, p, spends.Text, "gpt-4o"))
		owner := m.company.Users[slices.IndexFunc(m.company.Users, func(u *litellmtest.User) bool { return u.ID == spends.UserID })]
		of := models.KeyAccount(id(spends))
		gatewaytest.Until(t, "the calls are charged", func() bool {
			return gatewaytest.Sum(t, m.db, "SELECT CAST(SUM(cost) AS BIGINT) FROM spend WHERE day NOT LIKE '%litellm' AND account = '"+of+"'") == 10
		})

		things := func() []string { // without what a running gateway writes by itself
			return query(t, m.db, `SELECT id, name, hash, previous_hash, models, budget, revoked_at FROM api_keys UNION ALL SELECT id, name, email, '', models, budget, admin_at FROM users
				UNION ALL SELECT id, name, '', '', models, budget, 0 FROM teams UNION ALL SELECT team_id, user_id, role, '', '', 0, 0 FROM team_members
				UNION ALL SELECT account, day, '', '', '', cost, 0 FROM spend`)
		}
		before := things()
		calls, byHand := m.undo(t)
		dollars := func(micros int64) string {
			text := fmt.Sprintf("%d.%06d", micros/1e6, micros%1e6)
			return strings.TrimRight(strings.TrimRight(text, "0"), ".")
		}
		seconds := ""
		for i, call := range calls {
			if strings.Contains(call, `"duration"`) { // it depends on the time
				_, seconds, _ = strings.Cut(call, `"duration":"`)
				calls = slices.Delete(calls, i, i+1)
				break
			}
		}
		if !strings.HasSuffix(seconds, `s","key":"`+expires.Token+`"}`) || !strings.HasPrefix(seconds, "2592000") && !strings.HasPrefix(seconds, "2591") {
			t.Errorf("the expiry: %s", seconds)
		}
		m.wantCalls(t, calls,
			`key/update {"budget_duration":"7d","key":"`+budget.Token+`","max_budget":5.25,"max_parallel_requests":7,"spend":0}`, // of the week
			`key/update {"key":"`+list.Token+`","models":["gpt-4o","anthropic/*"]}`,
			`key/update {"key":"`+name.Token+`","key_alias":"it's; rm -rf $HOME"}`,
			`key/block {"key":"`+revoked.Token+`"}`,
			`key/update {"key":"`+spends.Token+`","spend":`+dollars(micros(spends.Spend)+10)+`}`,
			`user/update {"spend":`+dollars(micros(owner.Spend)+10)+`,"user_id":"`+owner.ID+`"}`,
			`user/update {"rpm_limit":null,"tpm_limit":5000,"user_id":"user-03"}`,
			`user/update {"user_alias":"O'Neil \"the $HOME\" \\ `+"`id` é"+`","user_id":"user-04"}`,
			`team/update {"budget_duration":null,"max_budget":null,"team_alias":"Core","team_id":"team-00","tpm_limit":null}`,
		)
		if strings.Count(byHand, "by hand: ") != 1 || !strings.Contains(byHand, "the key "+rotated.Alias+" was rotated here") {
			t.Errorf("by hand: %s", byHand)
		}
		if !slices.Equal(things(), before) {
			t.Error("a script changes something here")
		}

		// Only what is new since.
		calls, byHand = m.undo(t)
		m.wantCalls(t, calls)
		if strings.Contains(byHand, "by hand") {
			t.Error(byHand)
		}
		must(t, 200, p.Call(t, "POST", "/admin/keys/"+id(revoked)+"/restore", "", root...))
		command("key", "limits", id(list), "--models", "none")
		calls, _ = m.undo(t)
		m.wantCalls(t, calls, `key/unblock {"key":"`+revoked.Token+`"}`, `key/update {"key":"`+list.Token+`","models":[]}`)
		if scripts, _ := filepath.Glob(m.dir + "/litellm-undo*"); len(scripts) < 2 {
			t.Errorf("a script has replaced another: %v", scripts)
		}
		command("key", "limits", id(expires), "--expires-at", "none")
		command("team", "limits", "North / Core", "--models", "gpt-4o", "--budget-usd", "0.5", "--budget-window", "day")
		calls, _ = m.undo(t)
		m.wantCalls(t, calls, `key/update {"duration":"-1","key":"`+expires.Token+`"}`,
			`team/update {"budget_duration":"1d","max_budget":0.5,"models":["gpt-4o"],"team_id":"team-00"}`)

		// And then it never was.
		code, out, faults := gatewaytest.TryCommand(t, m.settings, "", "takeover", "litellm", "--forget")
		if code == 0 {
			t.Errorf("--forget alone: %s%s", out, faults)
		}
		m.undo(t, "--forget")
		for _, k := range append(personal, m.company.Keys[:100]...) {
			gatewaytest.Until(t, k.Alias+" opens nothing", func() bool { return chat(t, p, k.Text, "gpt-4o").Status == 401 })
		}
		left := []string{"person00@example.com", "person03@example.com", "person" + strings.TrimPrefix(rotated.UserID, "user-") + "@example.com"}
		slices.Sort(left) // one has logged in, and two have keys that were made here
		if got := query(t, m.db, "SELECT email FROM users"); !slices.Equal(got, left) {
			t.Errorf("users that are left: %v, want %v", got, left)
		}
		must(t, 200, p.Call(t, "GET", "/auth/keys", "", root...))
		if n := gatewaytest.Sum(t, m.db, "SELECT count(*) FROM takeovers") + gatewaytest.Sum(t, m.db, "SELECT count(*) FROM spend WHERE day LIKE '%litellm'") +
			gatewaytest.Sum(t, m.db, "SELECT count(*) FROM ledger_sums WHERE part = 'litellm'"); n != 0 {
			t.Errorf("%d rows are left", n)
		}
		if names := query(t, m.db, "SELECT name FROM teams"); !slices.Equal(names, []string{"North / Search"}) {
			t.Errorf("teams that are left: %v", names)
		}

		if done, kept := m.take(t); done.made < 560 || !strings.Contains(kept, "person00@example.com has an account here") {
			t.Errorf("taken over again: %+v %s", done, kept)
		}
		for _, k := range personal[5:15] {
			gatewaytest.Until(t, k.Alias+" opens again", func() bool { return chat(t, p, k.Text, "gpt-4o").Status == 200 })
		}
		if done, _ := m.take(t); done.made+done.revoked != 0 {
			t.Errorf("%+v", done)
		}
	})
}

// resetPassword gives a user a password, by the link that an administrator has from the command line, and returns the header of a login.
func (m *move) resetPassword(t *testing.T, p *gatewaytest.Program, email string) []string {
	t.Helper()
	link := gatewaytest.Command(t, m.settings, "user", "reset-password", email, "-q")
	_, token, found := strings.Cut(link, "token=")
	if !found {
		t.Fatal(link)
	}
	must(t, 200, p.Patiently(t, "/auth/password/reset", `{"token":"`+strings.TrimSpace(token)+`","new_password":"correct horse battery"}`))
	a := must(t, 200, p.Patiently(t, "/auth/login", `{"email":"`+email+`","password":"correct horse battery"}`))
	return []string{"Authorization", "Bearer " + gatewaytest.Field(t, a, "token")}
}
