package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"modelgateway/bench/pages"
	"modelgateway/bench/proc"
)

func found() report {
	cpu := row{Scenario: "answer", Unit: "CPU µs/request", Target: gatewayName, Floor: []float64{100, 110}, Value: []float64{120, 143}}
	cpu.Ratio = ratios(cpu.Value, cpu.Floor)
	cpu.atMost(1.3)
	rate := row{
		Scenario: "answer",
		Unit:     "requests/s <&>",
		Target:   gatewayName,
		Floor:    []float64{1000},
		Value:    []float64{500},
		Ratio:    []float64{0.5},
	}
	rate.atLeast(0.8)
	peer := row{Scenario: "answer", Unit: "CPU µs/request", Target: "other", Floor: []float64{100}, Value: []float64{-1}}
	return report{Rows: []row{cpu, rate, peer}, Errors: map[string]fault{"gateway, answer": {Count: 3, Messages: []string{"status 502"}}}}
}

func TestTableShowsWhichGoalsAreMet(t *testing.T) {
	out := found().text()
	for _, want := range []string{"1.20 / 1.25 / 1.30", "≤ 1.3 ×", "yes", "≥ 0.8 ×", "NO", "other", "–", "3 ERRORS in gateway, answer", "status 502"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestNoRoundsNeverMeetAGoal(t *testing.T) {
	var high, low row
	high.atMost(1)
	low.atLeast(1)
	if *high.Met || *low.Met {
		t.Error("met by nothing")
	}
}

func TestResultsReplaceOnlyTheMarkedPart(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, "page.md")
	markBegin, markEnd := pages.Begin(pagePart), pages.End(pagePart)
	o := options{markdown: page, json: filepath.Join(dir, "o.json"), svg: filepath.Join(dir, "o.svg")}
	for range 2 {
		if err := os.WriteFile(page, []byte("# Before\n"+markBegin+"\nold\n"+markEnd+"\nafter\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := found().write(o); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(text); !strings.HasPrefix(s, "# Before\n"+markBegin+"\n| scenario | unit | floor | gateway |") ||
		!strings.HasSuffix(s, "\n"+markEnd+"\nafter\n") || strings.Contains(s, "old") {
		t.Errorf("%s", text)
	}
	if _, err := pages.Replace([]byte("nothing"), pagePart, nil); !errors.Is(err, pages.ErrNoMarks) {
		t.Error(err)
	}
	var read report
	if text, err = os.ReadFile(o.json); err != nil || json.Unmarshal(text, &read) != nil || len(read.Rows) != 3 {
		t.Errorf("%s, %v", text, err)
	}
}

func TestPlotIsXMLWithABarForEachGoal(t *testing.T) {
	plot := found().plot()
	decoder := xml.NewDecoder(bytes.NewReader(plot))
	for {
		if _, err := decoder.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if bars := bytes.Count(plot, []byte(`rx="2"`)); bars != 2 {
		t.Errorf("%d bars", bars)
	}
}

func TestProcessIsFoundByItsPort(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("no /proc")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	peer, err := peerTarget("me=http://" + l.Addr().String() + "/v1/")
	if err != nil || peer.pid != os.Getpid() || peer.base != "http://"+l.Addr().String() {
		t.Errorf("%+v, %v", peer, err)
	}
	for _, bad := range []string{"", "x", "x=", "floor=http://127.0.0.1:1"} {
		if _, err := peerTarget(bad); err == nil {
			t.Errorf("%q is a peer", bad)
		}
	}
}

// Processor time that this process uses is measured for the process and for the
// machine.
func TestProcessorTimeIsMeasured(t *testing.T) {
	before, err := proc.CPUTime(os.Getpid())
	if err != nil {
		t.Skip("no /proc:", err)
	}
	machine, err := proc.BusyTime()
	if err != nil {
		t.Fatal(err)
	}
	for sum := 0; ; sum++ {
		now, err := proc.CPUTime(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		if now-before >= 10*proc.Tick {
			break
		}
	}
	after, err := proc.BusyTime()
	if err != nil || after <= machine {
		t.Errorf("the machine was busy for %v: %v", after-machine, err)
	}
	if rss, err := proc.ResidentMemory(os.Getpid()); err != nil || rss < 1000 {
		t.Errorf("%v KiB: %v", rss, err)
	}
}
