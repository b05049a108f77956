package models_test

import (
	"strings"
	"testing"
)

// A page of all keys or users is read from an index: to sort them all for each page took a
// fifth of a second with 100,000 keys.
func TestListsReadTheNewestFromAnIndex(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		migrated(t, address)
		conn, err := rawDB(t, address).Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		explain := "EXPLAIN QUERY PLAN "
		if !strings.HasPrefix(address, "sqlite:") {
			explain = "EXPLAIN "
			// PostgreSQL sorts a small table although there is an index.
			if _, err := conn.ExecContext(t.Context(), "SET enable_sort = off; SET enable_seqscan = off"); err != nil {
				t.Fatal(err)
			}
		}
		for query, index := range map[string]string{
			"SELECT * FROM api_keys WHERE revoked_at = 0 ORDER BY created_at DESC, id DESC LIMIT 50": "api_keys_created",
			"SELECT * FROM users ORDER BY created_at DESC, id DESC LIMIT 50":                         "users_created",
			"SELECT * FROM refusals WHERE key_id = 'k' AND id >= 'a' ORDER BY id DESC LIMIT 51":      "refusals_key",
			"SELECT * FROM refusals WHERE team_id = 't' AND id >= 'a' ORDER BY id DESC LIMIT 51":     "refusals_team",
			"SELECT * FROM alerts ORDER BY created_at DESC, id DESC LIMIT 51":                        "alerts_created",
		} {
			rows, err := conn.QueryContext(t.Context(), explain+query)
			if err != nil {
				t.Fatal(err)
			}
			var plan strings.Builder
			columns, err := rows.Columns()
			if err != nil {
				t.Fatal(err)
			}
			for rows.Next() {
				cells := make([]any, len(columns))
				var text string
				for i := range cells {
					cells[i] = new(any)
				}
				cells[len(cells)-1] = &text
				if err := rows.Scan(cells...); err != nil {
					t.Fatal(err)
				}
				plan.WriteString(text + "\n")
			}
			if err := rows.Err(); err != nil {
				t.Fatal(err)
			}
			text := plan.String()
			if !strings.Contains(text, index) || strings.Contains(text, "Sort") || strings.Contains(text, "B-TREE") {
				t.Errorf("%s: %s", query, text)
			}
		}
	})
}
