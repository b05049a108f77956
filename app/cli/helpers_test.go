package cli_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"modelgateway/app/cli"
	"modelgateway/tests/servertest"
)

// result is what a command left.
type result struct {
	code     int
	out, err string
}

// gateway is a command line with settings.
type gateway struct {
	t       *testing.T
	environ []string
	in      string // standard input of the next command
}

// onEach runs a test on an empty database of each kind.
func onEach(t *testing.T, test func(g *gateway)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(onSQLite(t))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(&gateway{t: t, environ: []string{"MODEL_DISCOVERY=false", "DATABASE_URL=" + servertest.Postgres(t)}})
	})
}

func onSQLite(t *testing.T, settings ...string) *gateway {
	file := filepath.Join(t.TempDir(), "data", "gateway.db")
	return &gateway{t: t, environ: append([]string{"MODEL_DISCOVERY=false", "DATABASE_URL=sqlite:" + file}, settings...)}
}

// run runs a command line.
func (g *gateway) run(args ...string) result {
	g.t.Helper()
	var out, err strings.Builder
	p := cli.Program{Args: args, Environ: g.environ, In: strings.NewReader(g.in), Out: &out, Err: &err}
	g.in = ""
	return result{p.Run(g.t.Context()), out.String(), err.String()}
}

// do runs a command line that must succeed, and returns its standard output.
func (g *gateway) do(args ...string) string {
	g.t.Helper()
	r := g.run(args...)
	if r.code != 0 {
		g.t.Fatalf("%q: exit code %d\n%s%s", args, r.code, r.out, r.err)
	}
	return r.out
}

// json runs a command line with --json, and returns the object that it prints.
func (g *gateway) json(args ...string) map[string]any {
	g.t.Helper()
	text := g.do(append(args, "--json")...)
	var object map[string]any
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		g.t.Fatalf("%q: %v: %s", args, err, text)
	}
	return object
}

// refuses runs a command line that must fail with this code, and name each word on
// standard error.
func (g *gateway) refuses(code int, words []string, args ...string) {
	g.t.Helper()
	r := g.run(args...)
	missing := slices.DeleteFunc(words, func(word string) bool { return strings.Contains(r.err, word) })
	if r.code != code || r.out != "" || len(missing) > 0 {
		g.t.Errorf("%q: exit code %d, not %d; not named: %q\n%s%s", args, r.code, code, missing, r.out, r.err)
	}
}
