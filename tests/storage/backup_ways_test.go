package storage

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/servertest"
)

// copied is one way of a backup: from these settings into a file, and from the file into
// a new database, whose settings are returned.
type copied struct {
	backup  func(t *testing.T, file string)
	restore func(t *testing.T, file string) []string
}

func byCommands(settings []string) copied {
	return copied{
		backup: func(t *testing.T, file string) { gatewaytest.Command(t, settings, "backup", file) },
		restore: func(t *testing.T, file string) []string {
			to := []string{"DATABASE_URL=sqlite:" + filepath.Join(t.TempDir(), "new", "gateway.db")}
			gatewaytest.Command(t, to, "restore", file)
			return to
		},
	}
}

// byRecipe runs the commands of docs/backup.md.
func byRecipe(t *testing.T, settings []string) copied {
	t.Helper()
	text, err := os.ReadFile(gatewaytest.File(t, "docs/backup.md"))
	if err != nil {
		t.Fatal(err)
	}
	programs := servertest.PostgresPrograms(t)
	run := func(t *testing.T, has string, environ ...string) {
		t.Helper()
		for _, part := range strings.Split(string(text), "```sh\n")[1:] {
			if commands, _, _ := strings.Cut(part, "```"); strings.Contains(commands, has) {
				cmd := exec.CommandContext(t.Context(), "sh", "-euc", commands)
				cmd.Env = append([]string{"PATH=" + programs + ":" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, environ...)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%s%v\n%s", commands, err, out)
				}
				return
			}
		}
		t.Fatalf("docs/backup.md has no commands with %s", has)
	}
	former := strings.Replace(settings[0], "&statement_timeout=30000", "", 1) // the programs of PostgreSQL refuse it
	return copied{
		backup: func(t *testing.T, file string) { run(t, "pg_dump", former, "BACKUP="+file) },
		restore: func(t *testing.T, file string) []string {
			name := fmt.Sprintf("restored_%d", time.Now().UnixNano())
			at := strings.LastIndexByte(former, '/')
			query := ""
			if mark := strings.IndexByte(former, '?'); mark > at {
				query = former[mark:]
			}
			to := former[:at+1] + name + query
			run(t, "pg_restore", "NEW_DATABASE="+name, "FORMER_"+former, to, "BACKUP="+file)
			db := gatewaytest.OpenDatabase(t, settings)
			t.Cleanup(func() { _, _ = db.Exec("DROP DATABASE " + name + " WITH (FORCE)") })
			return append([]string{to}, settings[1:]...)
		},
	}
}

// tables are the rows of all tables as text, sorted.
func tables(t *testing.T, settings []string) map[string][]string {
	t.Helper()
	db := gatewaytest.OpenDatabase(t, settings)
	list := "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
	if !strings.Contains(settings[0], "=sqlite:") {
		list = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
	}
	all := map[string][]string{}
	for _, name := range texts(t, settings, list) {
		rows, err := db.Query("SELECT * FROM " + name)
		if err != nil {
			t.Fatal(err)
		}
		columns, _ := rows.Columns()
		all[name] = []string{}
		for rows.Next() {
			values, into := make([]any, len(columns)), make([]any, len(columns))
			for i := range values {
				into[i] = &values[i]
			}
			if err := rows.Scan(into...); err != nil {
				t.Fatal(err)
			}
			all[name] = append(all[name], fmt.Sprintf("%v", values))
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		slices.Sort(all[name])
	}
	return all
}

func texts(t *testing.T, settings []string, query string) (all []string) {
	t.Helper()
	rows, err := gatewaytest.OpenDatabase(t, settings).Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}
