package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"modelgateway/tools/rig"
)

func TestShapesAreJSONOfTheirSize(t *testing.T) {
	const size = 1 << 20
	names := map[string]bool{}
	for _, s := range everyShape() {
		if names[s.name] {
			t.Errorf("two shapes are named %s", s.name)
		}
		names[s.name] = true
		for _, model := range s.models {
			body := s.body(model, size)
			valid := s.name != "no end" && s.name != "nested as deep as the body is long"
			if len(body) > size || len(body) < size*9/10 || json.Valid([]byte(body)) != valid {
				t.Errorf("%s: %d bytes, valid %v: %.100s … %.60s", s.name, len(body), json.Valid([]byte(body)), body, body[len(body)-60:])
			}
		}
	}
}

func TestTableHasTheShapesWithTheMostMemory(t *testing.T) {
	costs := func(cpu time.Duration, memory int64, status int, code string) []cost {
		return []cost{{bytes: 1 << 20, status: 200, cpu: 20 * time.Millisecond, memory: 1 << 20}, {bytes: 4 << 20, status: status, code: code, cpu: cpu, memory: memory}}
	}
	rows := []row{
		{shape: "a", model: rig.OpenAIModel, costs: costs(80*time.Millisecond, 8<<20, 200, "")},
		{shape: "a", model: rig.GeminiModel, costs: costs(240*time.Millisecond, 8<<20, 413, "large")},
		{shape: "b", model: rig.OpenAIModel, costs: costs(time.Millisecond, 49<<20, 200, "")},
		{shape: "c", model: rig.OpenAIModel, costs: costs(time.Millisecond, 48<<20, 200, "")},
	}
	const want = `| Shape | Served up to, MiB | Answer to the largest | CPU of the largest, ms | CPU of a byte | Memory, MiB | Memory / largest | Kept |
|---|---|---|---|---|---|---|---|
| b | 4 / – / – | – | 1 / – / – | 1.0 / – / – | 49 / – / – | 12.2 / – / – | **no** |
| c | 4 / – / – | – | 1 / – / – | 1.0 / – / – | 48 / – / – | 12.0 / – / – | yes |
| d0 | 4 / – / – | – | 1 / – / – | 1.0 / – / – | 12 / – / – | 3.0 / – / – | yes |
`
	const last = `
| d7 | 4 / – / – | – | 1 / – / – | 1.0 / – / – | 12 / – / – | 3.0 / – / – | yes |
| a | 4 / – / 1 | – / – / 413 large | 80 / – / 240 | 1.0 / – / 3.0 | 8 / – / 8 | 2.0 / – / 2.0 | **no** |

13 shapes were measured, of which 2 do not keep the bounds; those above take the most memory.
`
	for i := range 10 {
		rows = append(rows, row{shape: fmt.Sprintf("d%d", i), model: rig.OpenAIModel, costs: costs(time.Millisecond, 12<<20, 200, "")})
	}
	to := rig.NewSection("shapes")
	table(to, rows)
	if got := string(to.Markdown()); !strings.HasPrefix(got, want) || !strings.Contains(got, last) {
		t.Errorf("%s\nnot\n%s…%s", got, want, last)
	}
	if err := verdict(rows); err == nil || !strings.Contains(err.Error(), "2 of 14") {
		t.Error(err)
	}
}
