//go:build !race

package embeddings

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"

	"modelgateway/tests/gatewaytest"
)

// batches answers Gemini's :batchEmbedContents with vectors of this many numbers.
func batches(dimensions int) http.Handler {
	numbers := make([]string, dimensions)
	for i := range numbers {
		numbers[i] = fmt.Sprintf("%.9f", 0.001*float64(i%50)-0.0123456)
	}
	vector := `{"values":[` + strings.Join(numbers, ",") + `]}`
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var sent struct{ Requests []json.RawMessage }
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"embeddings":[`+strings.TrimSuffix(strings.Repeat(vector+",", len(sent.Requests)), ",")+`]}`)
	})
}

// The memory of the process grows by at most four times the answer, however its numbers
// are written.
func TestMemoryOf2048InputsIsBounded(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("/proc tells the peak of a process on Linux only")
	}
	inputs, err := json.Marshal(strings.Split(strings.Repeat("a few words,", 2047)+"a few words", ","))
	if err != nil {
		t.Fatal(err)
	}
	url := gatewaytest.ServeUpstream(t, batches(3072))
	for _, encoding := range []string{"float", "base64"} {
		t.Run(encoding, func(t *testing.T) {
			p := gatewaytest.Launch(t, nil, "GEMINI_API_KEY=sk-g", "GEMINI_BASE_URL="+url, "MAX_RETRIES=0")
			body := func(inputs string) string {
				return `{"model":"` + older + `","encoding_format":"` + encoding + `","input":` + inputs + `}`
			}
			if a := post(t, p.Program, body(`"warm"`)); a.Status != http.StatusOK {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
			pid := p.Cmd.Process.Pid
			// What it holds now becomes its peak: proc(5), clear_refs.
			if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0); err != nil {
				t.Fatal(err)
			}
			before := peak(t, pid)
			resp, err := http.Post(p.URL+"/v1/embeddings", "application/json", strings.NewReader(body(string(inputs))))
			if err != nil {
				t.Fatal(err)
			}
			n, err := io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			grown := peak(t, pid) - before
			if err != nil || resp.StatusCode != http.StatusOK || n < 2048*3072*4 {
				t.Fatalf("%d, %d bytes: %v", resp.StatusCode, n, err)
			}
			t.Logf("an answer of %d MiB takes %d MiB at the peak, %.1f times as much", n>>20, grown>>20, float64(grown)/float64(n))
			if grown > 4*n {
				t.Errorf("an answer of %d MiB takes %d MiB", n>>20, grown>>20)
			}
		})
	}
}

// peak is the most memory that a process has held, in bytes.
func peak(t *testing.T, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kib int64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatal(err)
	}
	return kib << 10
}
