package console

import (
	"cmp"
	"strings"
	"testing"
)

func TestPagesFillTheWidestWindow(t *testing.T) {
	t.Parallel()
	p := onDesktop(t)
	called(t, p, 3)
	p.look(view{name: "wide", width: 2560})
	for _, tt := range []struct{ path, shows string }{
		{"/", "Base URL"}, {"/keys", "Create key"}, {"/usage?range=24h", "Time to first token"}, {"/calls", "claude-haiku-4-5"},
		{"/playground", "Send"}, {"/models", "claude-haiku-4-5"}, {"/users", root}, {"/teams", "Create team"}, {"/providers", "anthropic"},
		{"/audit", "Audit log"}, {"/settings", "REQUIRE_AUTH"}, {"/account", root},
	} {
		p.visit(tt.path)
		p.see(tt.shows)
		name, _, _ := strings.Cut(strings.TrimPrefix(tt.path, "/"), "?")
		p.inspect(cmp.Or(name, "home"))
	}
}
