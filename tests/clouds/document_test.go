package clouds

import (
	"flag"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"modelgateway/tests/cloudtest"
	"modelgateway/tests/gatewaytest"
)

var update = flag.Bool("update", false, "rewrite the table of docs/clouds.md")

// The table of docs/clouds.md says what the gateway does with each call, by what reaches the clouds.
func TestTheTableOfTheDocumentIsWhatHappens(t *testing.T) {
	t.Parallel()
	p, c := all(t, "MODELS_FILE="+write(t, "models.yaml", applications))
	table := "| row | model | chat | responses | messages | embeddings | count of tokens |\n|---|---|---|---|---|---|---|\n"
	row := func(name, model string) {
		table += "| " + name + " | `" + model + "` |"
		for _, of := range columns() {
			table += " " + c.served(t, p, model, of) + " |"
		}
		table += "\n"
	}
	for _, f := range families() {
		row(f.name, f.model)
	}
	for _, v := range embeddings() {
		row(v.name, v.model)
	}
	table += "\n*Own bytes*: the cloud gets the prompt as the client wrote it. Each cell is held by a test of `tests/clouds` with its row in its name: " +
		"`TestEveryFamilyAnswersInEveryDialect/ROW/COLUMN/(whole|streamed)(/tool)?`, `TestEmbeddingsOfEveryCloud/ROW` and `TestTokensAreCounted/ROW`.\n"
	const file, begin, end = "../../docs/clouds.md", "<!-- table: tests/clouds -->\n", "<!-- /table -->"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begun := strings.Cut(string(page), begin)
	old, after, ended := strings.Cut(rest, end)
	switch {
	case !begun || !ended:
		t.Fatalf("%s has no place for the table", file)
	case *update:
		if err := os.WriteFile(file, []byte(before+begin+table+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	case old != table:
		t.Errorf("the table of %s should be (go test ./tests/clouds -run TheTable -update):\n%s", file, table)
	}
}

// column is a call of the table: the members of a client up to its prompt, and the prompt up to
// its text and after it. Its spaces tell whether a cloud has got the client's own bytes.
type column struct{ path, members, before, after string }

func columns() []column {
	const turns, end = `[ { "role" : "user",  "content" : "`, `" } ]`
	return []column{
		{"/v1/chat/completions", `"messages":`, turns, end},
		{"/v1/responses", `"store":false,"input":`, turns, end},
		{"/v1/messages", `"max_tokens":500,"messages":`, turns, end},
		{"/v1/embeddings", `"input":`, `[ "`, `" ]`},
		{"/v1/messages/count_tokens", `"messages":`, turns, end},
	}
}

// served says how the gateway serves a call. The text of each is another.
func (c clouds) served(t *testing.T, p *gatewaytest.Process, model string, of column) string {
	t.Helper()
	prompt := of.before + model + " at " + of.path + of.after
	a := p.Call(t, http.MethodPost, of.path, ask(model, of.members+prompt))
	all := slices.Concat(c.aws.Calls(), c.google.Calls(), c.azure.Calls())
	switch {
	case a.Status == http.StatusBadRequest || a.Status == http.StatusNotFound:
		return "–"
	case a.Status != http.StatusOK:
		t.Errorf("%s at %s: %d %s", model, of.path, a.Status, a.Body)
		return ""
	case a.Header.Get("X-Gateway-Token-Count") == "estimate":
		return "estimated"
	case strings.HasSuffix(of.path, "/count_tokens"):
		return "counted"
	case slices.ContainsFunc(all, func(call cloudtest.Call) bool { return strings.Contains(call.Body, prompt) }):
		return "own bytes"
	}
	return "translated"
}
