package anthropic

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"modelgateway/providers"
)

// TestWorkGrowsNoFasterThanTheRequest prepares requests that cost the square of
// their size where every item is compared with every other.
func TestWorkGrowsNoFasterThanTheRequest(t *testing.T) {
	const longest = 15 * time.Second // many times what it takes, and less than the square does
	list := func(n int, format string) string {
		all := make([]string, n)
		for i := range all {
			all[i] = strings.ReplaceAll(format, "#", fmt.Sprint(i+2))
		}
		return strings.Join(all, ",")
	}
	// The most that request validation accepts.
	const parts, tools, pairs = 1_000, 1_000, 4_900 // parts of one message, tools, calls with their results
	parted := func(part string) string {
		return talk(list(9, `{"role":"user","content":[`+list(parts, part)+`]}`))
	}
	call := func(id, name string) string {
		return calls(id, name, "") + "," + result(id, "1")
	}
	long := strings.Repeat("x", maxNameLength-5)
	tool := `{"type":"function","function":{"name":"f_#"}}`
	for name, body := range map[string]string{
		"one id again and again": talk(user("q"), list(pairs, call("c", "f"))),
		"ids that are taken":     talk(user("q"), list(pairs/2, call("c_#", "f")), list(pairs/2, call("c", "f"))),
		"ids that begin alike":   talk(user("q"), list(pairs/2, call(long+"#", "f")), list(pairs/2, call(long+"#", "f"))),
		"names in the history":   talk(user("q"), list(pairs, call("c#", "f#"))),
		"allowed tools": talk(user("q")) + `,"tools":[` + list(tools, tool) +
			`],"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[` + list(tools, tool) + `]}}`,
		"the name of the answer": talk(user("q")) + `,"tools":[{"type":"function","function":{"name":"f"}},` + list(tools, tool) +
			`],"response_format":{"type":"json_schema","json_schema":{"name":"f","schema":{"type":"object"}}}`,
		"ignored fields":       parted(`{"type":"image_url","image_url":{"url":"https://a.b","detail":"low"},"m#":1}`),
		"cache_control fields": parted(`{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}`),
		"members":              talk(user("q")) + "," + list(12_000, `"m#":1`),
	} {
		t.Run(name, func(t *testing.T) {
			req := chatRequest(t, `{"model":"m",`+body+`}`)
			began := time.Now()
			x, err := provider("http://127.0.0.1:1").Prepare(providers.Call{Request: req, Model: model(t, budgetOld)})
			if took := time.Since(began); err != nil || took > longest {
				t.Fatalf("%v after %s", err, took)
			}
			checkNames(t, x.(*exchange).body)
		})
	}
}

// checkNames fails when two calls of a request have the same id, or an id or a
// tool's name is longer than Anthropic takes.
func checkNames(t *testing.T, body []byte) {
	t.Helper()
	var r struct {
		Messages []struct {
			Content []struct {
				ID string `json:"id"`
			} `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		t.Fatal(err)
	}
	ids, names := map[string]bool{}, map[string]bool{}
	for _, m := range r.Messages {
		for _, b := range m.Content {
			if b.ID != "" && ids[b.ID] || len(b.ID) > maxNameLength {
				t.Fatalf("id %q", b.ID)
			}
			ids[b.ID] = true
		}
	}
	for _, tool := range r.Tools {
		if names[tool.Name] || len(tool.Name) > maxNameLength {
			t.Fatalf("tool %q", tool.Name)
		}
		names[tool.Name] = true
	}
}
