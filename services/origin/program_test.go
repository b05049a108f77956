package origin

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
)

func newService() *Service { return New(nil, slog.New(slog.DiscardHandler), time.Now) }

// What the clients call themselves was recorded from them (2026-11).
func TestProgramsHaveShortNamesWithoutVersions(t *testing.T) {
	s := newService()
	for _, tt := range []struct{ userAgent, originator, want string }{
		{"claude-cli/2.1.330 (external, sdk-cli)", "", "claude-code"},
		{"claude-cli/2.1.330 (external, sdk-ts, agent-sdk/0.3.330)", "", "claude-code"},
		{"claude-code/2.1.330", "", "claude-code"},
		{"codex_exec/0.169.0 (Debian 12.0.0; x86_64) dumb (codex_exec; 0.169.0)", "codex_exec", "codex"},
		{"codex_cli_rs/0.38.0 (Ubuntu 24.04.2 LTS; x86_64)", "", "codex"},
		{"Codex Desktop/1.0 (Mac OS 26.0.0; arm64)", "Codex Desktop", "codex"},
		{"opencode/1.18.33 ai-sdk/provider-utils/4.0.46 runtime/bun/1.3.14", "", "opencode"},
		{"Anthropic/JS 1.12.0", "", "anthropic-js"},
		{"Anthropic/Go 1.84.0", "", "anthropic-go"},
		{"OpenAI/JS 7.57.0", "", "openai-js"},
		{"AsyncOpenAI/Python 2.8.1", "", "openai-python"},
		{"ai-sdk-anthropic/4.0.105 ai-sdk-provider-utils/5.0.81 node.js/24", "", "ai-sdk"},
		{"curl/8.5.0", "", "curl"},
		{"node", "", "node"},
		{"My_Service.v2/1", "", "my_service.v2"},
		{"My_Service.v2/1", "elsewhere", "my_service.v2"},
		{strings.Repeat("a", 32) + "/1", "", strings.Repeat("a", 32)},

		{"", "", ""},
		{"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36", "", ""},
		{"a program", "", ""},
		{"my-program", "", ""},
		{"My Program/1.0", "", ""},
		{"/1.0", "", ""},
		{"/JS 1.0", "", ""},
		{"naïve/1.0", "", ""},
		{"<b>/1.0", "", ""},
		{strings.Repeat("a", 33) + "/1", "", ""},
		{strings.Repeat("a", 30) + "/js 1", "", ""},
	} {
		if got := s.Program(tt.userAgent, tt.originator); got != tt.want {
			t.Errorf("%q of %q: %q, not %q", tt.userAgent, tt.originator, got, tt.want)
		}
	}
}

// Calls are grouped by the names: a client that has a new one for each call does not make more of
// them, and hides no program that is known.
func TestTheNamesOfUnknownProgramsAreBounded(t *testing.T) {
	s := newService()
	var group sync.WaitGroup
	for part := range 4 {
		group.Go(func() {
			for i := range 1000 {
				s.Program(fmt.Sprintf("program-%d/1", 1000*part+i), "")
			}
		})
	}
	group.Wait()
	names := map[string]bool{}
	for i := range 4000 {
		names[s.Program(fmt.Sprintf("program-%d/1", i), "")] = true
	}
	if len(names) != maxPrograms+1 || !names[others] {
		t.Errorf("%d names", len(names))
	}
	if got := s.Program("curl/8", ""); got != "curl" {
		t.Error(got)
	}
}

func TestTheNameOfAProgramIsNotAllocated(t *testing.T) {
	s := newService()
	for _, agent := range []string{"claude-cli/2.1.330 (external, sdk-cli)", "My_Service.v2/1", "OpenAI/JS 7.57.0", ""} {
		s.Program(agent, "")
		if n := testing.AllocsPerRun(100, func() { s.Program(agent, "codex_exec_of_others") }); n > 0 {
			t.Errorf("%s: %v allocations", agent, n)
		}
	}
}

func TestIdentifiersAreShortAndVisible(t *testing.T) {
	long := strings.Repeat("s", maxIdentifier)
	for want, texts := range map[string][]string{
		"first": {"first", "second"}, "second": {"", "second"}, long: {long + "s", long},
		"ses_1": {"\x00", "a\nb", "\xff", "a\u202eb", "ses_1"}, "": nil, "Ω 1": {"Ω 1"},
	} {
		if got := Identifier(texts...); got != want {
			t.Errorf("%q: %q, not %q", texts, got, want)
		}
	}
}

func BenchmarkProgram(b *testing.B) {
	s := newService()
	b.ReportAllocs()
	for b.Loop() {
		s.Program("OpenAI/JS 7.57.0", "")
	}
}
