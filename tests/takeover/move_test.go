package takeover

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"modelgateway/models"
	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/litellmtest"
	"modelgateway/tests/servertest"
)

// move is a LiteLLM with a company, and the gateway that takes it over.
type move struct {
	there    *litellmtest.Database
	company  *litellmtest.Company
	dir      string   // where the command writes its files
	settings []string // of the gateway and of the command
	db       *sql.DB  // the gateway's
}

// newMove makes both databases, and fills LiteLLM's.
func newMove(t *testing.T, version string, settings []string) *move {
	t.Helper()
	m := &move{there: litellmtest.Create(t, version), dir: t.TempDir()}
	m.company = m.there.Fill(t)
	config := filepath.Join(m.dir, "config.yaml")
	if err := os.WriteFile(config, []byte(litellmtest.Config()), 0o600); err != nil {
		t.Fatal(err)
	}
	m.settings = append(slices.Clone(settings), "LITELLM_SALT_KEY="+litellmtest.SaltKey, "LITELLM_DATABASE_URL="+m.there.Address, gatewaytest.JWTSecret,
		"REQUIRE_AUTH=true", "HOST=127.0.0.1", "PORT=0")
	gatewaytest.Command(t, m.settings, "migrate")
	m.db = gatewaytest.OpenDatabase(t, m.settings)
	return m
}

func sqlite(t testing.TB) []string {
	return []string{"DATABASE_URL=sqlite:" + filepath.Join(t.TempDir(), "gateway.db")}
}

func servers(t testing.TB) []string {
	return []string{"DATABASE_URL=" + servertest.Postgres(t), "REDIS_URL=" + servertest.Redis(t)}
}

func (m *move) arguments(more []string) []string {
	return append([]string{"takeover", "litellm", "--config", filepath.Join(m.dir, "config.yaml"), "--out", m.dir}, more...)
}

// try runs the command.
func (m *move) try(t testing.TB, more ...string) (code int, out, faults string) {
	t.Helper()
	return gatewaytest.TryCommand(t, m.settings, "", m.arguments(more)...)
}

// counts are those that a run prints.
type counts struct{ made, changed, revoked int }

var printed = regexp.MustCompile(`(\d+) new, (\d+) changed, (\d+) keys revoked`)

func countsIn(t testing.TB, out string) (c counts) {
	t.Helper()
	found := printed.FindStringSubmatch(out)
	if found == nil {
		t.Fatalf("no counts in %q", out)
	}
	for i, to := range []*int{&c.made, &c.changed, &c.revoked} {
		*to, _ = strconv.Atoi(found[i+1])
	}
	return c
}

// take runs the command, which must succeed, and returns the counts and the lines with what was kept.
func (m *move) take(t testing.TB, more ...string) (counts, string) {
	t.Helper()
	code, out, faults := m.try(t, append(more, "--accept-losses")...)
	var kept []string
	for line := range strings.Lines(faults) {
		if strings.HasPrefix(line, "kept") {
			kept = append(kept, line)
		}
	}
	if code != 0 {
		t.Fatalf("exit code %d: %s%s", code, out, faults[max(0, len(faults)-500):])
	}
	return countsIn(t, out), strings.Join(kept, "")
}

// start starts a process of the command that goes on by itself.
func (m *move) start(t *testing.T, more ...string) (c *exec.Cmd, output *gatewaytest.LogBuffer) {
	t.Helper()
	c, output = exec.Command(os.Args[0], m.arguments(append(more, "--accept-losses"))...), gatewaytest.NewLogBuffer()
	c.Dir, c.Stdout, c.Stderr = m.dir, output, output
	c.Env = slices.Concat([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "MODEL_DISCOVERY=false"}, gatewaytest.AsProgram(), m.settings)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill() })
	return c, output
}

// names are the models that the tests call; the last one is allowed to nobody by its name.
func names() []string {
	return []string{"gpt-4o", "claude-sonnet", "gpt-5", "claude-opus", "anthropic/claude-opus-4-1", "gemini-flash"}
}

// gateway starts the gateway with those models. A call costs so many micro-dollars.
func (m *move) gateway(t *testing.T, cost int, more ...string) *gatewaytest.Program {
	t.Helper()
	upstream := gatewaytest.ServeUpstream(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"x","object":"chat.completion","created":5,"model":"x","choices":[{"index":0,"finish_reason":"stop",`+
			`"message":{"role":"assistant","content":"fine"}}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`)
	}))
	file := "providers:\n  - name: company\n    type: openai\n    base_url: " + upstream + "/v1\n    auth: none\n    models:\n"
	for _, name := range names() {
		file += fmt.Sprintf("      - {id: %s, upstream: x, max_output: 10, price: {input: 0, output: %d}}\n", name, cost)
	}
	path := filepath.Join(t.TempDir(), "models.yaml")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	m.settings = append(m.settings, "MODELS_FILE="+path)
	return gatewaytest.Start(t, slices.Concat(m.settings, []string{"RATE_LIMIT_RPM=0"}, more)...)
}

func chat(t testing.TB, p *gatewaytest.Program, key, model string) gatewaytest.Answer {
	t.Helper()
	return p.Chat(t, `{"model":"`+model+`","max_tokens":1,`+gatewaytest.HiMessages+`}`, bearer(key)...)
}

// dump is all that a database has in its tables, by table.
func dump(t testing.TB, db *sql.DB) map[string]string {
	t.Helper()
	list := "SELECT name FROM sqlite_master WHERE type = 'table'"
	if strings.Contains(fmt.Sprintf("%T", db.Driver()), "stdlib") {
		list = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
	}
	all := map[string]string{}
	for _, table := range query(t, db, list) {
		all[table] = strings.Join(query(t, db, `SELECT * FROM "`+table+`"`), "\n")
	}
	if len(all) < 10 {
		t.Fatalf("%d tables", len(all))
	}
	return all
}

// query are the rows of a query, sorted; the columns have | between them.
func query(t testing.TB, db *sql.DB, statement string) (all []string) {
	t.Helper()
	rows, err := db.QueryContext(context.WithoutCancel(t.Context()), statement)
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		texts := make([]string, len(values))
		for i, value := range values {
			texts[i] = fmt.Sprint(value)
		}
		all = append(all, strings.Join(texts, "|"))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}

// sameTables fails for the tables that differ.
func sameTables(t testing.TB, what string, before, after map[string]string) {
	t.Helper()
	for _, table := range slices.Sorted(maps.Keys(after)) {
		if before[table] != after[table] {
			t.Errorf("%s: the table %s differs", what, table)
		}
	}
}

// thereUnchanged checks at the end of the test that LiteLLM's database is as it is now.
func (m *move) thereUnchanged(t *testing.T) {
	t.Helper()
	db := gatewaytest.OpenSQL(t, m.there.Address)
	before := dump(t, db)
	t.Cleanup(func() { sameTables(t, "LiteLLM's database", before, dump(t, db)) })
}

// idOf is the id here of a thing there; empty where it was not taken.
func (m *move) idOf(t testing.TB, kind, foreignID string) string {
	t.Helper()
	found := query(t, m.db, "SELECT id FROM takeovers WHERE kind = '"+kind+"' AND foreign_id = '"+foreignID+"'")
	return strings.Join(found, " ")
}

// spent is what an account has spent in the window of a budget.
func (m *move) spent(t testing.TB, kind, foreignID string, w models.Window) int64 {
	t.Helper()
	return gatewaytest.Sum(t, m.db, "SELECT CAST(SUM(cost) AS BIGINT) FROM spend WHERE account = '"+models.BudgetKind(kind).Account(m.idOf(t, kind, foreignID))+
		"' AND day >= '"+w.FirstDay(time.Now())+"'")
}
