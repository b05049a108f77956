//go:build unix

package main

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"modelgateway/bench/pages"
	"modelgateway/tests/longtest"
)

func TestMain(m *testing.M) {
	if playRole() {
		return
	}
	os.Exit(m.Run())
}

// TestEveryPartMeasures runs all parts in small, with real servers and replicas, and reads
// the page that they write.
func TestEveryPartMeasures(t *testing.T) {
	longtest.Skip(t)
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("processor time is read from /proc")
	}
	runtime.LockOSThread() // children end with the thread that started them
	defer runtime.UnlockOSThread()
	page := filepath.Join(t.TempDir(), "scaling.md")
	var marks strings.Builder
	names := strings.Split(partNames(), ", ")
	for _, name := range names {
		marks.WriteString("<!-- scale:" + name + " -->\nold\n<!-- /scale:" + name + " -->\n")
	}
	if err := os.WriteFile(page, []byte(marks.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := parse([]string{"-quick", "-md", page})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if err := run(ctx, o); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		part, _, _ := strings.Cut(string(text)[strings.Index(string(text), "<!-- scale:"+name+" -->"):], "<!-- /scale:")
		if rows := strings.Count(part, "\n|"); rows < 3 || strings.Contains(part, "NaN") || strings.Contains(part, "\nold\n") {
			t.Errorf("%s: %s", name, part)
		}
	}
	if overdrawn := regexp.MustCompile(`\| yes \| (yes|no) \|`).FindString(string(text)); overdrawn != "" {
		t.Errorf("a budget was overdrawn:\n%s", text)
	}
}

func TestTheModelFindsTheCostsOfMeasurements(t *testing.T) {
	var points []point
	for i, replicas := range []float64{1, 2, 8} {
		for j, rate := range []float64{100, 1000} {
			idle := 0.9 - 0.1*float64(i) - 0.4*float64(j)
			points = append(points, point{replicas, rate, idle, 3*replicas + 0.09*rate + 0.2*rate*idle})
		}
	}
	m, err := fit(points)
	if err != nil || math.Abs(m.perReplica-3) > 1e-6 || math.Abs(m.perCall-90) > 1e-6 || math.Abs(m.perWake-200) > 1e-6 || m.off > 1e-6 {
		t.Errorf("%+v, %v", m, err)
	}
	points[0].used *= 2
	if m, err = fit(points); err != nil || m.off < 0.1 || m.typical >= m.off {
		t.Errorf("a measurement that differs: %+v, %v", m, err)
	}
	for i := range points {
		points[i].used = 0.1*points[i].rate + 0.01*points[i].rate*(1-points[i].idle) // less on an idle machine
	}
	if m, err = fit(points); err != nil || m.perWake != 0 || m.perReplica < 0 || m.perCall < 90 {
		t.Errorf("a negative cost: %+v, %v", m, err)
	}
	for i := range points {
		points[i].idle = 0
	}
	if m, err = fit(points); err != nil || m.perWake != 0 || m.perCall < 90 {
		t.Errorf("a machine that is never idle: %+v, %v", m, err)
	}
	if _, err := fit(points[:1]); err == nil {
		t.Error("one measurement has no line")
	}
}

func TestWaitsAreReadFromAProfile(t *testing.T) {
	const text = "--- mutex:\ncycles/second=1000000000\nsampling period=1\n" +
		"2000000 4 @ 0x1 0x2 0x3\n#\t0x1\tsync.(*Mutex).Unlock+0x10\t/go/mutex.go:65\n" +
		"#\t0x2\tgithub.com/a/b.(*Cache).Get+0x20\t/m/b.go:10\n" +
		"#\t0x3\tmodelgateway/services/auth.(*Keys).Authenticate+0x30\tservices/auth/x.go:1\n\n" +
		"1000000 1 @ 0x4\n#\t0x4\truntime.unlock+0x1\t/go/lock.go:1\n"
	p, err := parseProfile(text)
	if err != nil {
		t.Fatal(err)
	}
	const where = "github.com/a/b.(*Cache).Get of services/auth.(*Keys).Authenticate"
	before := profile{{where, true}: {where: where, lock: true, count: 1, seconds: 0.0005}}
	waits := p.since(before)
	if len(waits) != 2 || waits[0].where != where || !waits[0].lock || waits[0].count != 3 || math.Abs(waits[0].seconds-0.0015) > 1e-9 ||
		waits[1].where != "runtime.unlock" || waits[1].lock {
		t.Errorf("%+v", waits)
	}
	if _, err := parseProfile("404 page not found"); err == nil {
		t.Error("that is no profile")
	}
}

func TestASectionReplacesOnlyItsPart(t *testing.T) {
	s := &section{name: "calls", began: time.Now()}
	s.add("", "a", "b").row(1, 12345.6)
	page, err := pages.Replace([]byte("before\n<!-- scale:calls -->\nold\n<!-- /scale:calls -->\nafter\n"), s.part(), s.markdown())
	if err != nil || !strings.HasPrefix(string(page), "before\n<!-- scale:calls -->\n| a | b |\n|---|---|\n| 1 | 12,345 |\n") ||
		!strings.HasSuffix(string(page), "*\n<!-- /scale:calls -->\nafter\n") {
		t.Errorf("%v\n%s", err, page)
	}
	if _, err := pages.Replace([]byte("nothing"), s.part(), s.markdown()); err == nil {
		t.Error("a page without marks is refused")
	}
}
