// Package simulatortest runs simulators in tests, and has clients for them.
package simulatortest

import (
	"net/http/httptest"
	"testing"
	"time"

	"modelgateway/providers/simulator"
	"modelgateway/providers/simulator/strict"
)

// Now is the time of all answers, in Unix seconds: the models of requests that were recorded before it are served.
const Now = 1760000000

// Time is a simulator's clock that stands at Now.
func Time() time.Time { return time.Unix(Now, 0) }

// Start serves a simulator until the test ends, at the time Now.
func Start(t testing.TB, opts simulator.Options) *httptest.Server {
	t.Helper()
	opts.Now = Time
	server := httptest.NewServer(simulator.New(opts))
	t.Cleanup(server.Close)
	return server
}

// Strict serves a simulator that refuses what the providers refuse.
func Strict(t testing.TB) *httptest.Server {
	t.Helper()
	return Start(t, simulator.Options{Check: strict.Check})
}

// Settings are those of a gateway whose three providers are one strict simulator.
func Settings(t testing.TB) []string {
	t.Helper()
	url := Strict(t).URL
	return []string{
		"OPENAI_BASE_URL=" + url, "OPENAI_API_KEY=simulated",
		"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=simulated",
		"GEMINI_BASE_URL=" + url, "GEMINI_API_KEY=simulated",
	}
}
