package cli_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"modelgateway/tests/servertest"
)

func TestCheckListsAllFaultsAtOnceAndNoSecret(t *testing.T) {
	t.Parallel()
	g := onSQLite(t, "PORT=eighty", "REQUIRE_AUTH=true", "JWT_SECRET=changeme-SECRET", "FALLBACKS=gpt-4=no-such-model",
		"DEFAULT_KEY_MODELS=other-model", "ADMIN_EMAILS=a..b@example.com", "OPENAI_API_KEY=sk-SECRET-1,sk-SECRET-1")
	r := g.run("check")
	for _, setting := range []string{"PORT:", "JWT_SECRET:", "FALLBACKS:", "DEFAULT_KEY_MODELS:", "ADMIN_EMAILS:", "OPENAI_API_KEY:"} {
		if !strings.Contains(r.out, "error: "+setting) {
			t.Errorf("%s is missing:\n%s", setting, r.out)
		}
	}
	if !strings.Contains(r.out, " settings are wrong: ") ||
		!strings.Contains(onSQLite(t, "PORT=eighty").run("check").out, "\n1 setting is wrong: ") {
		t.Errorf("it does not count what is wrong:\n%s", r.out)
	}
	if r.code != 1 || strings.Contains(r.out+r.err, "SECRET-1") || strings.Contains(r.out+r.err, "changeme-") {
		t.Errorf("exit code %d\n%s%s", r.code, r.out, r.err)
	}
}

func TestCheckNamesWhatIsListenedOnAndWarnsAsTheStartDoes(t *testing.T) {
	t.Parallel()
	g := onSQLite(t, "PORT=4711", "OPENAI_API_KEY=sk-x,sk-y")
	text := g.do("check")
	for _, part := range []string{
		"warning: JWT_SECRET is not set", "warning: open to the network", "all interfaces, port 4711", "http://localhost:4711",
		"openai (2 keys)", "which the first start makes", "not required", "the settings are valid",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing:\n%s", part, text)
		}
	}
	simulated := onSQLite(t, "SIMULATOR=true")
	if text := simulated.do("check"); !strings.Contains(text, "simulated\n") {
		t.Error(text)
	}
	if r := onSQLite(t, "PORT=eighty").run("check"); !strings.Contains(r.out, "1 setting is wrong: the server would not start") {
		t.Error(r.out)
	}
	g.environ = append(g.environ, "HOST=127.0.0.1", "JWT_SECRET=0f9c2b7a64d18e5330bb1f6ad2c4e8971b")
	shown := g.json("check")
	if warnings, _ := shown["warnings"].([]any); shown["ok"] != true || shown["listens_on"] != "127.0.0.1:4711" || len(warnings) != 0 {
		t.Errorf("%v", shown)
	}
}

func TestCheckAsksTheDatabaseAndRedis(t *testing.T) {
	t.Parallel()
	g := &gateway{t: t, environ: []string{"DATABASE_URL=postgres://u:hidden-password@127.0.0.1:1/gw", "REDIS_URL=redis://:hidden-word@127.0.0.1:1"}}
	r := g.run("check")
	if r.code != 1 || !strings.Contains(r.out, "error: DATABASE_URL: the database does not answer") ||
		!strings.Contains(r.out, "error: REDIS_URL: Redis does not answer") || strings.Contains(r.out+r.err, "hidden-") {
		t.Errorf("exit code %d\n%s%s", r.code, r.out, r.err)
	}
	if text := g.do("check", "--offline"); !strings.Contains(text, "PostgreSQL at 127.0.0.1:1, database gw") {
		t.Error(text)
	}
	g.environ = []string{"DATABASE_URL=" + servertest.Postgres(t), "REDIS_URL=" + servertest.Redis(t), "MODEL_DISCOVERY=false"}
	if text := g.do("check"); !strings.Contains(text, "empty: the first start makes its tables") {
		t.Error(text)
	}
	g.refuses(1, []string{"empty"}, "user", "list")
	g.do("migrate")
	if text := g.do("check"); !strings.Contains(text, ", ready") {
		t.Error(text)
	}
}

func TestCheckRefusesAFolderInWhichNoFileCanBeMade(t *testing.T) {
	t.Parallel()
	g := &gateway{t: t, environ: []string{"DATABASE_URL=sqlite:/proc/self/environ/x/gateway.db"}}
	if r := g.run("check"); r.code != 1 || !strings.Contains(r.out, "error: DATABASE_URL: ") {
		t.Errorf("exit code %d\n%s%s", r.code, r.out, r.err)
	}
}

func TestCheckLiveAsksTheProvidersAndSaysWhatDiffers(t *testing.T) {
	t.Parallel()
	g := onSQLite(t, "SIMULATOR=true")
	shown := g.json("check", "--live", "--provider", "gemini")
	if lines, _ := shown["lines"].([]any); shown["ok"] != true || len(lines) != 26 {
		t.Errorf("%v", shown)
	}
	g.refuses(1, []string{"belong to --live"}, "check", "--provider", "gemini")
	g.refuses(1, []string{"no provider is configured that can be checked"}, "check", "--live", "--provider", "groq")
	upstream := httptest.NewServer(http.NotFoundHandler())
	defer upstream.Close()
	g = onSQLite(t, "GEMINI_API_KEY=AIzaSECRET-key", "GEMINI_BASE_URL="+upstream.URL)
	r := g.run("check", "--live")
	if r.code != 1 || !strings.Contains(r.out, "differs      status 404 in place of 200") || strings.Contains(r.out+r.err, "SECRET") {
		t.Errorf("exit code %d\n%s%s", r.code, r.out, r.err)
	}
}
