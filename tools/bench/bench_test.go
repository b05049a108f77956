package main

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"modelgateway/tests/longtest"
	"modelgateway/tools/rig"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 3 && !strings.HasPrefix(os.Args[1], "-") {
		main() // plays a role
	}
	os.Exit(m.Run())
}

// TestEveryPartMeasures runs some scenarios of each kind and all other parts in small, and
// reads the page that it writes.
func TestEveryPartMeasures(t *testing.T) {
	longtest.Skip(t)
	page := filepath.Join(t.TempDir(), "performance.md")
	if err := os.WriteFile(page, []byte("<!-- bench -->\nold\n<!-- /bench -->\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := parse([]string{
		"-quick", "-rounds", "1", "-window", "300ms", "-md", page, "-only",
		"answer-openai-200B|stream-anthropic$|messages-native-stream|bedrock-stream$|embeddings|rate|start|memory-live",
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if rows := strings.Count(string(text), "\n| "); rows != 16 || strings.Contains(string(text), "NaN") || strings.Contains(string(text), "old") {
		t.Errorf("%d rows: %s", rows, text)
	}
}

func TestTheFloorForwardsAnswersAndTheirCuts(t *testing.T) {
	t.Parallel()
	var cut bool
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Seen", r.URL.Path)
		_, _ = io.Copy(w, r.Body)
		if cut {
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	}))
	defer up.Close()
	front := httptest.NewServer(floor(up.URL))
	defer front.Close()
	for _, cut = range []bool{false, true} {
		resp, err := http.Post(front.URL+"/v1/embeddings", "application/json", strings.NewReader("a body"))
		if err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if string(said) != "a body" || resp.Header.Get("X-Seen") != "/v1/embeddings" || errors.Is(err, io.ErrUnexpectedEOF) != cut {
			t.Errorf("%q, %v, %v", said, resp.Header, err)
		}
	}
}

func TestMediansAndRatiosLeaveOutTheUnknown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values []float64
		want   float64
	}{{nil, -1}, {[]float64{3}, 3}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 1, 2, 9}, 3}, {[]float64{-1, 7, -1}, 7}} {
		if got := median(c.values); got != c.want {
			t.Errorf("median of %v is %v", c.values, got)
		}
	}
	if got := ratios([]float64{2, -1, 3, 8}, []float64{4, 1, 0, 2}); !slices.Equal(got, []float64{0.5, 4}) {
		t.Errorf("ratios %v", got)
	}
}

func TestTheTableShowsWhichGoalsAreMet(t *testing.T) {
	t.Parallel()
	met := row{scenario: "a", unit: "µs", target: gatewayName, floor: []float64{100, 110}, value: []float64{120, 143}}
	met.ratio = ratios(met.value, met.floor)
	met.atMost(1.3)
	missed := row{scenario: "b", unit: "calls/s", target: gatewayName, ratio: []float64{0.5}}
	missed.atLeast(0.8)
	unknown := row{scenario: "c", target: "other", value: []float64{-1}}
	unknown.atMost(1)
	b := &bench{section: rig.NewSection("bench"), rows: []row{met, missed, unknown}}
	b.report()
	text := string(b.section.Markdown())
	for _, want := range []string{"| a | µs | 105 | 132 | 1.20 / 1.25 / 1.30 | ≤ 1.3 × | yes |", "0.50 | ≥ 0.8 × | NO |", "| c |  | – | – | – | ≤ 1 × | NO |"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
