package agents

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
)

// signInSettings are those of a gateway that programs sign in to.
func signInSettings() []string {
	return []string{"REQUIRE_AUTH=true", gatewaytest.JWTSecret, "RATE_LIMIT_RPM=0", "AUTH_RATE_LIMIT_RPM=0"}
}

// question is what Claude Code asks while it signs in, as a line of JSON.
type question struct {
	State   string `json:"state"`
	Shown   string `json:"shown"`
	Code    string `json:"userCode"`
	Page    string `json:"browserUrl"`
	Message string `json:"message"`
}

// signInClaude signs Claude Code in at the gateway: a user who is logged in lets it in for a team, or for none.
func (s *session) signInClaude(t *testing.T, user []string, team string) {
	t.Helper()
	folder := filepath.Join(s.home, ".claude")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	settings := `{"forceLoginMethod":"gateway","forceLoginGatewayUrl":"` + s.front.url + `"}`
	if err := os.WriteFile(filepath.Join(folder, "settings.json"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), s.installed("claude"), "auth", "login", "--gateway-json")
	cmd.Dir, cmd.Env, cmd.Stderr = s.work, s.environment(), os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var last question
	for lines := json.NewDecoder(out); ; {
		var q question
		if err := lines.Decode(&q); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		switch {
		case q.State == "polling" && q.Code != last.Code:
			if !strings.HasSuffix(q.Page, "/device?user_code="+q.Code) {
				t.Errorf("it opens %s", q.Page)
			}
			body := `{"user_code":"` + q.Code + `","team_id":"` + team + `","approve":true}`
			if a := s.program.Patiently(t, "/auth/device/confirm", body, user...); a.Status != 204 {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
		case q.Shown != "":
			answer, _ := json.Marshal(map[string]any{"state": q.State, "shown": q.Shown, "accept": true})
			_, _ = in.Write(append(answer, '\n'))
		}
		last = q
	}
	if err := cmd.Wait(); err != nil || last.State != "done" {
		t.Fatalf("%v: %+v", err, last)
	}
}

// environment is that of a client without a credential.
func (s *session) environment() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.home, "TMPDIR=" + s.home, "LANG=C.UTF-8",
		"HTTP_PROXY=" + s.others.url, "HTTPS_PROXY=" + s.others.url, "NO_PROXY=127.0.0.1,localhost", "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
	}
}

// signedIn gives a task to a Claude Code that is signed in.
func (s *session) signedInClaude(t *testing.T, model, task string, options ...string) outcome {
	t.Helper()
	return s.run(t, []string{"DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"}, s.installed("claude"), append([]string{
		"-p", task, "--model", model,
		"--output-format", "stream-json", "--verbose", "--permission-mode", "acceptEdits", "--allowedTools", "Read,Write,Bash", "--max-turns", "10",
	}, options...)...)
}

// Two people sign Claude Code in without ever seeing a key; it does its task with models of every provider, and is off
// within a second when its user is disabled.
func TestClaudeCodeSignsInAndDoesATaskWithAnyProvider(t *testing.T) {
	folder := needClients(t)
	for _, f := range providers() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			s := f.start(t, folder, nil, signInSettings()...)
			root := s.program.Administrator(t)
			eve := s.program.SignUp(t, "eve")
			id := s.userID(t, root, "eve@example.com")
			s.signInClaude(t, eve, "")
			model := f.model
			if f.name != "anthropic" {
				model = "claude-via-" + model
			}
			o := s.signedInClaude(t, model, task)
			if o.exit != 0 || !strings.Contains(o.out, done) {
				t.Fatalf("exit code %d\n%s%s", o.exit, o.out, o.faults)
			}
			s.hasTheFile(t)
			s.upstream.acceptedAll(t)
			s.calledNoOther(t)
			for _, path := range []string{"/managed/settings", "/v1/models?limit=1000", "/v1/messages?beta=true"} {
				if s.front.answers(200, path) == 0 {
					t.Errorf("it has not asked for %s", path)
				}
			}

			s.isBooked(t)
			db := gatewaytest.OpenSQL(t, "sqlite:"+s.database)
			gatewaytest.Execute(t, db, "UPDATE spend SET cost = cost + 80000000 WHERE account = $1", "user:"+id)
			s.change(t, root, id, `{"budget_usd":100,"budget_window":"month"}`)
			time.Sleep(time.Second) // the limit holds within a second
			o = s.signedInClaude(t, model, task)
			if want := `"rate_limit_info":{"status":"allowed_warning"`; o.exit != 0 || !strings.Contains(o.out, want) || !strings.Contains(o.out, `"utilization":0.8`) {
				t.Errorf("no notice of 75 %%: exit code %d\n%s%s", o.exit, o.out, o.faults)
			}
			s.change(t, root, id, `{"budget_usd":80}`)
			time.Sleep(time.Second)
			if o = s.signedInClaude(t, model, task); !strings.Contains(o.out, `"api_error_type":"billing_error","result":"your account has a budget of $80.00 a month`) {
				t.Errorf("the spent budget is told otherwise: %s", o.out)
			}

			s.change(t, root, id, `{"disabled":true}`)
			time.Sleep(time.Second)
			before := len(s.upstream.exchanges())
			if o = s.signedInClaude(t, model, task); o.exit == 0 || len(s.upstream.exchanges()) != before {
				t.Errorf("a disabled user works on: %s", o.out)
			}
			if !strings.Contains(o.faults, "no longer accepts this session") {
				t.Errorf("%s%s", o.out, o.faults)
			}
			s.change(t, root, id, `{"disabled":false,"budget_usd":null}`)
			eve = s.login(t, "eve")
			s.signInClaude(t, eve, "")
			if o = s.signedInClaude(t, model, task); o.exit != 0 || !strings.Contains(o.out, done) {
				t.Errorf("exit code %d\n%s%s", o.exit, o.out, o.faults)
			}
		})
	}
}

func (s *session) userID(t *testing.T, root []string, email string) string {
	t.Helper()
	var list struct {
		Data []struct {
			ID string
		}
	}
	s.program.Call(t, "GET", "/admin/users?email="+email, "", root...).JSON(t, &list)
	if len(list.Data) != 1 {
		t.Fatalf("%d users", len(list.Data))
	}
	return list.Data[0].ID
}

func (s *session) change(t *testing.T, root []string, id, members string) {
	t.Helper()
	if a := s.program.Call(t, "PATCH", "/admin/users/"+id, members, root...); a.Status != 200 {
		t.Fatalf("%s: %d %s", members, a.Status, a.Body)
	}
}

func (s *session) login(t *testing.T, name string) []string {
	t.Helper()
	a := s.program.Patiently(t, "/auth/login", `{"email":"`+name+`@example.com","password":"correct horse battery"}`)
	return []string{"Authorization", "Bearer " + gatewaytest.Field(t, a, "token")}
}
