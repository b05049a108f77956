package docs

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/litellmtest"
)

// standInKey is a key for the examples of the page: without owner and without limits.
func standInKey(t *testing.T, c *litellmtest.Company) *litellmtest.Key {
	t.Helper()
	for _, k := range c.Keys {
		if k.UserID == "" && k.TeamID == "" && len(k.Models) == 0 && k.Max == 0 && !k.Blocked && !k.Expired(time.Now()) && k.BudgetID == "" {
			return k
		}
	}
	t.Fatal("there is none")
	return nil
}

// The page is followed from the check of the bill to the way back, as one shell would.
func TestCommandsOfThePageOnLiteLLMWork(t *testing.T) {
	t.Parallel()
	db := litellmtest.Create(t, "newest")
	key := standInKey(t, db.Fill(t))
	var mu sync.Mutex
	var calls strings.Builder // of the way back
	theirs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/spend" { // a call of a client there
			db.Spend(t, key.Token, 1.5)
			return
		}
		body, err := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(&calls, r.Method, r.URL.Path, r.Header.Get("Authorization"), string(body), err)
	}))
	t.Cleanup(theirs.Close)

	folder, port := t.TempDir(), gatewaytest.FreePort(t)
	if err := os.WriteFile(filepath.Join(folder, "config.yaml"), []byte(litellmtest.Config()), 0o600); err != nil {
		t.Fatal(err)
	}
	const secret = "7d1b0c5e9a4f42d8b6e3a1c07f95d2648be0513cfa7698d24e1b3057ac9fd816"
	blocks := strings.Join(commands(t, "docs/litellm.md"), "")
	for _, change := range [][2]string{
		{"postgres://litellm:PASSWORD@db.example.com/litellm", db.Address + "&default_transaction_read_only=on"},
		{"LITELLM_SALT_KEY='sk-…'", "LITELLM_SALT_KEY='" + litellmtest.SaltKey + "'"}, {"LITELLM_MASTER_KEY='sk-…'", "LITELLM_MASTER_KEY=sk-master"},
		{"--dry-run\n", "--dry-run || echo exit $?\n"},
		{"--accept-losses\ncat", "--accept-losses 2>&1 | tee taken\n" +
			"sed -n 's/^set *\\([A-Z0-9_]*\\) to .*/\\1=" + secret + "/p' taken >> .env\ncat"},
		{"modelgateway serve\n", "modelgateway serve > log 2>&1 &\ntrap \"kill $!; wait\" EXIT\n" +
			"curl -s --retry 60 --retry-delay 1 --retry-connrefused localhost:8080/livez\n"},
		{"--follow\n", "--follow > followed 2>&1 &\nfor i in $(seq 600); do grep -q '^taken over' followed && break; sleep 0.1; done\n" +
			"curl -s " + theirs.URL + "/spend\nkill -INT $!\nwait $!\ncat followed\ncurl -s localhost:8080/key/info -H \"Authorization: Bearer $LITELLM_KEY\"\n"},
		{"KEY_ID", `$(curl -s localhost:8080/key/info -H "Authorization: Bearer $LITELLM_KEY" | grep -o 'key_[A-Z0-9]\{9,\}')`},
		{"LITELLM_URL=", "rm .curlrc\nLITELLM_URL="}, // the script says itself how curl fails
		{"litellm-undo-20261129T120000.000.sh", "litellm-undo-*.sh"},
		{"http://localhost:4000", theirs.URL},
		{"localhost:8080", "127.0.0.1:" + port},
	} {
		if !strings.Contains(blocks, change[0]) {
			t.Fatalf("the page has no %q", change[0])
		}
		blocks = strings.ReplaceAll(blocks, change[0], change[1])
	}
	out := runScript(t, "set -m\n"+blocks, folder, []string{
		"SIMULATOR=true", "HOST=127.0.0.1", "PORT=" + port, "DATABASE_URL=sqlite:gateway.db", "LITELLM_KEY=" + key.Text,
	})

	page, err := os.ReadFile(gatewaytest.File(t, "docs/litellm.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(page), "```\nMODEL ")
	example, _, _ = strings.Cut(example, "```")
	rest := out
	for _, want := range append(strings.Split(strings.TrimSpace("MODEL "+example), "\n"),
		"lost  guardrails", "lost  models without a price", "would be: 5", "nothing was written", "exit 3", "wrote litellm", "wrote litellm", "set   OPENAI_API_KEY to",
		"taken over: 5", "listens on", "(litellm)", `"object":"chat.completion"`, `"key_alias":"`, "signin#token=", "signin#token=",
		"taken over: 0 new, 0 changed", "taken over: 0 new, 1 changed, 0 keys revoked",
		fmt.Sprintf(`"spend":%.2f`, key.Spend+1.5), // and what the call here cost
		"mgw_", "is revoked", "takeover.litellm", "wrote litellm-undo-",
		"by hand: the key "+key.Alias+" was rotated here", "500 keys are no longer known here",
	) {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("they do not print %s, or elsewhere: %s", want, out)
		}
		rest = after
	}
	mu.Lock()
	defer mu.Unlock()
	for _, call := range []string{`/key/update Bearer sk-master \{"key":"` + key.Token + `","spend":1\.\d+\}`, `/key/block Bearer sk-master \{"key":"` + key.Token + `"\}`} {
		if !regexp.MustCompile("(?m)^POST " + call + " <nil>$").MatchString(calls.String()) {
			t.Errorf("the way back has no %s: %s", call, calls.String())
		}
	}
}
