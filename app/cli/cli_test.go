package cli_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"modelgateway/app/cli"
)

func TestUnknownWordsAreErrorsThatNameTheNearOne(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	for _, tt := range []struct {
		args string
		near string
	}{
		{"serv", "serve"}, {"kye", "key"}, {"key lst", "list"}, {"user lits", "list"},
		{"usage --buy day", "--by"}, {"models --jsn", "--json"}, {"key list --usr x", "--user"},
		{"help usre", "user"}, {"help user lits", "list"},
	} {
		g.refuses(2, []string{"did you mean", tt.near}, strings.Fields(tt.args)...)
	}
}

func TestWrongUsageDoesNothingAndExitsWith2(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	for args, word := range map[string]string{
		"nonsense": `"nonsense"`, "migrate now": `"now"`, "key": "list", "usage --json=maybe": "json", "user list --json --quiet": "quiet",
		"serve here": `"here"`, "completion bash": `"completion"`,
	} {
		g.refuses(2, []string{word}, strings.Fields(args)...)
	}
	_, path, _ := strings.Cut(g.environ[1], "sqlite:")
	if _, err := os.Stat(filepath.Dir(path)); !os.IsNotExist(err) {
		t.Errorf("the folder of the database was made: %v", err)
	}
}

func TestHelpListsEveryCommand(t *testing.T) {
	t.Parallel()
	text := onSQLite(t).do("--help")
	for _, word := range []string{"serve", "check", "migrate", "backup", "restore", "healthcheck", "version", "admin", "user", "team", "key", "models", "usage", "providers", "audit", "chat"} {
		if !strings.Contains(text, "\n  "+word+" ") {
			t.Errorf("%s is missing:\n%s", word, text)
		}
	}
	if text := onSQLite(t).do("help", "user", "create"); !strings.Contains(text, "--budget-usd") {
		t.Error(text)
	}
}

func TestVersionIsThatOfTheFormerFlag(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	if command, flag := g.do("version"), g.do("-version"); command != flag || strings.TrimSpace(command) == "" {
		t.Errorf("%q, %q", command, flag)
	}
}

func TestReadingMakesNoDatabase(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	for _, args := range []string{"user list", "key list", "usage"} {
		g.refuses(1, []string{"empty", "modelgateway migrate"}, strings.Fields(args)...)
	}
	g.do("models")
	g.do("check")
	_, path, _ := strings.Cut(g.environ[1], "sqlite:")
	if _, err := os.Stat(filepath.Dir(path)); !os.IsNotExist(err) {
		t.Errorf("the folder of the database was made: %v", err)
	}
}

func TestMigrateMakesTheTablesOnce(t *testing.T) {
	t.Parallel()
	onEach(t, func(g *gateway) {
		g.refuses(1, []string{"empty"}, "user", "list", "--quiet")
		first := g.json("migrate")
		if first["applied"] != first["total"] || first["total"] == 0.0 {
			g.t.Errorf("%v", first)
		}
		if again := g.json("migrate"); again["applied"] != 0.0 || again["total"] != first["total"] {
			g.t.Errorf("%v after %v", again, first)
		}
		if text := g.do("user", "list"); !strings.HasPrefix(text, "EMAIL") {
			g.t.Error(text)
		}
	})
}

func TestModelsHaveProviderContextPricesAndState(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "models.yaml")
	const painter = "models: [{id: painter, provider: anthropic, price: {fees: {request: 0.01, image: 0.04}}}]"
	if err := os.WriteFile(file, []byte(painter), 0o600); err != nil {
		t.Fatal(err)
	}
	g := onSQLite(t, "ANTHROPIC_API_KEY=sk-ant-x", "DEFAULT_PRICE_USD=7/9", "MODELS_FILE="+file)
	text := g.do("models")
	if !strings.Contains(text, " request 0.01, image 0.04 ") {
		t.Error(text)
	}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if words[0] == "claude-haiku-4-5-20251001" {
			if strings.Join(words[1:8], " ") != "anthropic yes 200,000 $1.00 $5.00 - active" {
				t.Errorf("%q", line)
			}
		}
	}
	if !strings.Contains(text, "claude-haiku-4-5-20251001") {
		t.Error(text)
	}
	list, _ := g.json("models")["data"].([]any)
	if quiet := strings.Fields(g.do("models", "--quiet")); len(quiet) != len(list) || len(list) == 0 {
		t.Errorf("%d names, %d models", len(quiet), len(list))
	}
	entry, _ := list[0].(map[string]any)
	price, _ := entry["price_usd_per_million_tokens"].(map[string]any)
	if entry["object"] != "model" || entry["available"] != true || price["input"] == nil || price["output"] == nil {
		t.Errorf("%v", entry)
	}
}

// Another process that writes delays a command on SQLite; one that does not end makes
// it fail in words.
func TestCommandWaitsForAnotherWriterOfSQLite(t *testing.T) {
	t.Parallel()
	g := onSQLite(t)
	g.do("migrate")
	_, path, _ := strings.Cut(g.environ[1], "sqlite:")
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	lock := func() {
		if _, err := db.Exec("BEGIN IMMEDIATE"); err != nil {
			t.Fatal(err)
		}
	}
	lock()
	time.AfterFunc(time.Second, func() { db.Exec("COMMIT") })
	g.refuses(1, []string{"no such key"}, "key", "revoke", "key_X")
	lock()
	g.refuses(1, []string{"the database did not answer in time"}, "key", "revoke", "key_X")
}

func TestReaderThatStopsEarlyIsNoFailure(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	defer w.Close()
	var faults strings.Builder
	p := cli.Program{Args: []string{"models"}, Environ: onSQLite(t).environ, Out: w, Err: &faults}
	if code := p.Run(t.Context()); code != 0 || faults.Len() > 0 {
		t.Errorf("exit code %d: %s", code, &faults)
	}
}
