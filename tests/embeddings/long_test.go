package embeddings

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

// long is an answer of about n KiB.
func long(n int) string {
	vector := `{"object":"embedding","index":0,"embedding":[` + strings.Repeat("-0.0123456,", 92) + `1]},`
	return `{"object":"list","data":[` + strings.TrimSuffix(strings.Repeat(vector, n), ",") + `],"model":"m",` +
		`"usage":{"prompt_tokens":1000,"total_tokens":1000}}`
}

func TestALongAnswerIsPassedOnByteForByte(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ledger.db")
	p, u := openai(t, "DATABASE_URL=sqlite:"+file)
	whole := gatewaytest.JSON(http.StatusOK, long(300))
	announced := whole
	announced.Header = http.Header{"Content-Type": {"application/json"}, "Content-Length": {fmt.Sprint(len(long(300)))}}
	for name, script := range map[string]providertest.Script{
		"at once": whole, "announced": announced, "in pieces": whole.Split(1, 64<<10, 1, 70<<10), "at the border": whole.Split(64 << 10),
	} {
		u.Play(script)
		got := post(t, p, `{"model":"`+small+`","input":["a","b"]}`)
		if got.Status != http.StatusOK || got.Body != long(300) {
			t.Errorf("%s: %d, %d bytes of %d", name, got.Status, len(got.Body), len(long(300)))
		}
		if row := gatewaytest.AwaitLedgerRow(t, file, got.Header.Get("X-Request-Id")); row.Prompt != 1000 || row.Cost != 20 || row.Outcome != "ok" {
			t.Errorf("%s: %+v", name, row)
		}
	}
}

func TestALongAnswerThatBreaksOffIsNotMistakenForAWholeOne(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ledger.db")
	p, u := openai(t, "DATABASE_URL=sqlite:"+file)
	for name, end := range map[string]providertest.End{"reset": providertest.Reset, "ended": providertest.Proper} {
		u.Play(gatewaytest.JSON(http.StatusOK, long(300)).Cut(200<<10, end))
		id := "cut-" + name
		resp := begin(t.Context(), t, p, id)
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err == nil || !strings.HasPrefix(long(300), string(text)) {
			t.Errorf("%s: the client read %d bytes as a whole answer", name, len(text))
		}
		if row := gatewaytest.AwaitLedgerRow(t, file, id); row.Outcome != "provider_error" || row.Prompt == 0 {
			t.Errorf("%s: %+v", name, row)
		}
	}
}

// Until something has been sent, another key may answer.
func TestALongAnswerThatBreaksOffAtItsBeginningComesFromAnotherKey(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ledger.db")
	p, u := openai(t, "OPENAI_API_KEY=sk-o1,sk-o2", "MAX_RETRIES=1", "DATABASE_URL=sqlite:"+file)
	u.Play(gatewaytest.JSON(http.StatusOK, long(300)).Cut(20<<10, providertest.Reset), gatewaytest.JSON(http.StatusOK, long(300)))
	got := post(t, p, `{"model":"`+small+`","input":"a"}`)
	if got.Body != long(300) || len(u.Requests()) != 2 {
		t.Errorf("%d, %d bytes after %d calls", got.Status, len(got.Body), len(u.Requests()))
	}
}

func TestAClientThatLeavesALongAnswerPaysForItsPrompt(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ledger.db")
	p, u := openai(t, "DATABASE_URL=sqlite:"+file)
	u.Play(gatewaytest.JSON(http.StatusOK, long(300)).Cut(200<<10, providertest.Hold))
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	resp := begin(ctx, t, p, "left")
	if _, err := io.ReadFull(resp.Body, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	leave()
	_ = resp.Body.Close()
	row := gatewaytest.AwaitLedgerRow(t, file, "left")
	if row.Outcome != "client_gone" || row.Prompt < 400 || row.Prompt > 600 || row.Cost == 0 {
		t.Errorf("%+v", row)
	}
}

// begin asks for the vectors of 500 words, and returns the answer when it begins.
func begin(ctx context.Context, t *testing.T, p *gatewaytest.Program, id string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL+"/v1/embeddings",
		strings.NewReader(`{"model":"`+small+`","input":"`+strings.Repeat("word ", 500)+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Request-Id", id)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}
