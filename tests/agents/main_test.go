// Package agents runs real clients, such as Claude Code and Codex, against the program,
// with scripted upstreams behind it.
package agents

import (
	"testing"

	"modelgateway/tests/gatewaytest"
)

// Two agents at once are enough for two processors: each is a Node.js program.
func TestMain(m *testing.M) { gatewaytest.Main(m, 2) }
