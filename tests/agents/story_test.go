package agents

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
)

// team is a gateway with all providers, and the replicas of it.
type team struct {
	clients  string
	upstream *upstream
	replicas []*gatewaytest.Program
	front    *front
	root     []string
}

func startTeam(t *testing.T, clients string, storage []string) *team {
	t.Helper()
	all := &team{clients: clients, upstream: startUpstream(t), front: startFront(t)}
	settings := append(signInSettings(), "MAX_RETRIES=0", "MODELS_LISTED=all", "PUBLIC_URL="+all.front.url)
	for _, f := range providers() {
		prefix := strings.ToUpper(f.name)
		settings = append(settings, prefix+"_API_KEY=sk-upstream", prefix+"_BASE_URL="+all.upstream.url)
	}
	replicas := 1
	if strings.Contains(strings.Join(storage, " "), "postgres") {
		replicas = 2
	}
	for range replicas {
		p := gatewaytest.Start(t, append(settings, storage...)...)
		all.replicas = append(all.replicas, p)
		all.front.add(t, p.URL)
	}
	all.root = all.replicas[0].Administrator(t)
	return all
}

// person has a machine of their own, with the clients and no key.
func (of *team) person(t *testing.T, name string) (machine *session, id string, login []string) {
	t.Helper()
	machine = &session{clients: of.clients, upstream: of.upstream, program: of.replicas[0], front: of.front, home: t.TempDir(), work: t.TempDir()}
	machine.others.url = gatewaytest.ServeUpstream(t, &machine.others)
	login = of.replicas[0].SignUp(t, name)
	return machine, machine.userID(t, of.root, name+"@example.com"), login
}

var codeShown = regexp.MustCompile(`confirm the code ([A-Z]{4}-[A-Z]{4})\.`)

// signInByCommand runs modelgateway token in a terminal, where a person sees a code and confirms it.
func (s *session) signInByCommand(t *testing.T, login []string) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s.command(t, "exec env "+strings.Join(gatewaytest.AsProgram(), " ")+" "+program+` "$@"`)
	cmd := exec.CommandContext(t.Context(), "script", "-qec", "modelgateway token --url "+s.front.url, "/dev/null") // has a terminal
	cmd.Env, cmd.Dir = append(s.environment(), s.path()), s.work
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var shown []string
	for lines := bufio.NewReader(out); ; {
		line, err := lines.ReadString('\n')
		shown = append(shown, strings.TrimSpace(line))
		if code := codeShown.FindStringSubmatch(line); code != nil {
			a := s.program.Patiently(t, "/auth/device/confirm", `{"user_code":"`+code[1]+`","approve":true}`, login...)
			if a.Status != 204 {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
		}
		if err != nil {
			break
		}
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(strings.Join(shown, "\n"), "mgwa_") {
		t.Fatalf("%v: %q", err, shown)
	}
	t.Logf("modelgateway token shows %q", shown[:len(shown)-2])
}

// agentSession is a session as an administrator sees it.
type agentSession struct {
	ID      string  `json:"id"`
	Email   string  `json:"user_email"`
	Agent   string  `json:"agent"`
	Calls   int     `json:"calls"`
	CostUSD float64 `json:"cost_usd"`
	Misses  int     `json:"cache_misses"`
	MissUSD float64 `json:"cache_miss_cost_usd"`
	Models  []string
	Agents  []struct {
		Depth   int
		Calls   int
		CostUSD float64 `json:"cost_usd"`
	}
}

// Two people sign Claude Code in and one Codex, none of whom sees a key. Each of them works with models of all
// providers; an administrator sees what their sessions, with the agents in them, cost and missed in the caches of the
// providers; and who is disabled is out, while the others work on.
func TestATeamSignsItsAgentsInAndIsSeen(t *testing.T) {
	folder := needClients(t)
	gatewaytest.EachStorage(t, func(t *testing.T, storage []string) {
		all := startTeam(t, folder, storage)
		ada, adaID, adaLogin := all.person(t, "ada")
		bob, _, bobLogin := all.person(t, "bob")
		carol, _, carolLogin := all.person(t, "carol")
		ada.signInClaude(t, adaLogin, "")
		bob.signInClaude(t, bobLogin, "")
		carol.signInByCommand(t, carolLogin)
		carol.codexByCommand(t)

		for _, f := range providers() {
			model := f.model
			if f.name != "anthropic" {
				model = "claude-via-" + model
			}
			for _, s := range []*session{ada, bob} {
				s.work = t.TempDir()
				if o := s.signedInClaude(t, model, task); o.exit != 0 || !strings.Contains(o.out, done) {
					t.Fatalf("%s: exit code %d\n%s%s", model, o.exit, o.out, o.faults)
				}
				s.hasTheFile(t)
			}
			carol.work = t.TempDir()
			carol.codexDidTheTask(t, carol.runCodex(t, "-m", f.model, task))
		}
		all.upstream.mu.Lock()
		all.upstream.simulator = newSimulator() // which has nothing in its cache
		all.upstream.mu.Unlock()
		if o := bob.signedInClaude(t, "claude-via-gemini-3.5-flash", "What did you do?", "--continue"); o.exit != 0 {
			t.Errorf("exit code %d\n%s%s", o.exit, o.out, o.faults)
		}
		all.upstream.mu.Lock()
		all.upstream.faults = []fault{delegate}
		all.upstream.mu.Unlock()
		r := ada.run(t, nil, ada.installed("claude"), "-p", "Describe a harbour and a lighthouse with two agents", "--model", "claude-opus-5-5",
			"--output-format", "json", "--allowedTools", "Agent,Task", "--max-turns", "10")
		if r.exit != 0 {
			t.Errorf("%s%s", r.out, r.faults)
		}
		all.upstream.acceptedAll(t)
		all.isSeen(t, map[string]int{"ada@example.com": 4, "bob@example.com": 3, "carol@example.com": 3})

		bob.change(t, all.root, adaID, `{"disabled":true}`)
		time.Sleep(time.Second)
		before := len(all.upstream.exchanges())
		o := ada.signedInClaude(t, "claude-opus-5-5", task)
		if o.exit == 0 || len(all.upstream.exchanges()) != before || !strings.Contains(o.faults, "no longer accepts this session") {
			t.Errorf("exit code %d: %s%s", o.exit, o.out, o.faults)
		}
		t.Logf("who is disabled reads: %s", strings.TrimSpace(o.faults))
		bob.work = t.TempDir()
		if o := bob.signedInClaude(t, "claude-opus-5-5", task); o.exit != 0 || !strings.Contains(o.out, done) {
			t.Errorf("exit code %d: %s%s", o.exit, o.out, o.faults)
		}
		ada.calledNoOther(t)
		bob.calledNoOther(t)
		for _, s := range []*session{ada, bob, carol} {
			s.sawNoKey(t)
		}
	})
}

// isSeen requires so many sessions of each user, one of them with two agents, and that what agents, sessions and calls
// cost and missed adds up.
func (of *team) isSeen(t *testing.T, sessions map[string]int) {
	t.Helper()
	calls := len(of.upstream.exchanges())
	var list struct{ Data []agentSession }
	gatewaytest.Until(t, "the ledger has every call", func() bool {
		of.replicas[0].Call(t, "GET", "/admin/sessions?limit=100", "", of.root...).JSON(t, &list)
		n := 0
		for _, one := range list.Data {
			n += one.Calls
		}
		return n == calls
	})
	var cost, missed float64
	misses, delegated := 0, 0
	for _, one := range list.Data {
		of.replicas[0].Call(t, "GET", "/admin/sessions/"+one.ID, "", of.root...).JSON(t, &one)
		t.Logf("%s, %s with %v: %d calls, $%.6f, %d misses for $%.6f, agents %+v", one.Email, one.Agent, one.Models, one.Calls, one.CostUSD,
			one.Misses, one.MissUSD, one.Agents)
		sessions[one.Email]--
		parts := 0.0
		for _, a := range one.Agents {
			parts += a.CostUSD
		}
		if len(one.Agents) == 3 && one.Agents[1].Depth == 1 && one.Agents[2].Depth == 1 && one.Agents[1].Calls*one.Agents[2].Calls > 0 {
			delegated++
		}
		if want := map[bool]string{true: "codex", false: "claude-code"}[strings.HasPrefix(one.Email, "carol")]; one.Agent != want {
			t.Errorf("%s is of %s", one.ID, one.Agent)
		}
		if one.CostUSD <= 0 || fmt.Sprintf("%.6f", parts) != fmt.Sprintf("%.6f", one.CostUSD) {
			t.Errorf("%s costs $%f, its agents $%f", one.ID, one.CostUSD, parts)
		}
		cost, missed, misses = cost+one.CostUSD, missed+one.MissUSD, misses+one.Misses
	}
	for email, n := range sessions {
		if n != 0 {
			t.Errorf("%s has %d sessions too few", email, n)
		}
	}
	if delegated != 1 || misses == 0 {
		t.Errorf("%d sessions with two agents, %d misses", delegated, misses)
	}
	var usage struct {
		Total struct {
			CostUSD float64 `json:"cost_usd"`
			Misses  int     `json:"cache_misses"`
			MissUSD float64 `json:"cache_miss_cost_usd"`
		}
	}
	of.replicas[0].Call(t, "GET", "/admin/usage?group_by=user", "", of.root...).JSON(t, &usage)
	if got, want := fmt.Sprintf("$%.6f, %d misses for $%.6f", usage.Total.CostUSD, usage.Total.Misses, usage.Total.MissUSD),
		fmt.Sprintf("$%.6f, %d misses for $%.6f", cost, misses, missed); got != want {
		t.Errorf("usage has %s, the sessions %s", got, want)
	}
}

// sawNoKey requires that no file of a person's machine has a key of the gateway.
func (s *session) sawNoKey(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(s.home, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil //nolint:nilerr // a client deletes its files meanwhile
		}
		text, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(text), "mgw_") {
			t.Errorf("%s has a key", path)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
