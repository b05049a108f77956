package ledger

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"modelgateway/tests/gatewaytest"
)

// accepting is a credential with a type that the client accepts.
func accepting(kind string, credential []string) []string {
	return append([]string{"Accept", kind}, credential...)
}

// column is a column of a file, without its header.
func column(t *testing.T, text, name string) (cells []string) {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(rows) == 0 {
		t.Fatalf("%v: %.300s", err, text)
	}
	at := slices.Index(rows[0], name)
	if at < 0 {
		t.Fatalf("no column %s: %q", name, rows[0])
	}
	for _, row := range rows[1:] {
		cells = append(cells, row[at])
	}
	return cells
}

func TestListsAreFilesForWhoAcceptsThem(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, settings []string) {
		p := gatewaytest.Start(t, append(settings, "SIMULATOR=true", gatewaytest.JWTSecret, "RATE_LIMIT_RPM=100000")...)
		root, ada := p.Administrator(t), p.Login(t)
		formula := gatewaytest.Field(t, p.Call(t, "POST", "/auth/keys", `{"name":"=1+1"}`, ada...), "key")
		const calls = 450 // more than two pages
		ids := map[string]bool{}
		for i := range calls {
			id := fmt.Sprintf("call-%03d", i)
			ids[id] = true
			if a := p.Chat(t, gatewaytest.HelloRequest, "Authorization", "Bearer "+formula, "X-Request-Id", id); a.Status != 200 {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
		}
		awaitFirst := func() string { return p.Call(t, "GET", "/v1/usage", "", accepting("text/csv", ada)...).Body }
		gatewaytest.Until(t, "the ledger has all calls", func() bool {
			return slices.Equal(column(t, awaitFirst(), "calls"), []string{fmt.Sprint(calls)})
		})
		file := p.Call(t, "GET", "/v1/calls", "", accepting("text/csv", ada)...)
		if disposition := file.Header.Get("Content-Disposition"); file.Status != 200 || disposition != `attachment; filename="calls.csv"` {
			t.Errorf("%d %s", file.Status, disposition)
		}
		got := column(t, file.Body, "request_id")
		for _, id := range got {
			delete(ids, id)
		}
		if len(got) != calls || len(ids) > 0 {
			t.Errorf("%d calls, %d are missing", len(got), len(ids))
		}
		if names := column(t, file.Body, "key_name"); names[0] != "'=1+1" {
			t.Errorf("a formula is %q", names[0])
		}
		if few := column(t, p.Call(t, "GET", "/admin/calls?limit=3", "", accepting("text/csv", root)...).Body, "id"); len(few) != 3 {
			t.Errorf("%d calls of a file with a limit", len(few))
		}
		lines := strings.Split(strings.TrimSuffix(p.Call(t, "GET", "/v1/calls", "", accepting("application/x-ndjson", ada)...).Body, "\n"), "\n")
		var first struct {
			RequestID string `json:"request_id"`
		}
		if err := json.Unmarshal([]byte(lines[0]), &first); err != nil || len(lines) != calls || first.RequestID != got[0] {
			t.Errorf("%d lines, the first of %s, %v", len(lines), first.RequestID, err)
		}
		for path, want := range map[string]string{
			"/admin/users": "ada@example.com", "/admin/keys": "'=1+1", "/admin/audit": "", "/admin/teams": "", "/admin/invitations": "",
		} {
			file := p.Call(t, "GET", path, "", accepting("text/csv", root)...)
			if rows, err := csv.NewReader(strings.NewReader(file.Body)).ReadAll(); err != nil || file.Status != 200 || len(rows[0]) < 5 ||
				!strings.Contains(file.Body, want) {
				t.Errorf("%s: %d %.300s %v", path, file.Status, file.Body, err)
			}
		}
		if a := p.Call(t, "GET", "/admin/calls", "", accepting("text/csv", ada)...); a.Status != 403 || !strings.Contains(a.Body, "admin_required") {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		if a := p.Call(t, "GET", "/v1/calls?status=x", "", accepting("text/csv", ada)...); a.Status != 400 {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	})
}
