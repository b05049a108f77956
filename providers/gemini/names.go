package gemini

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"modelgateway/llm"
)

// The longest names of functions that Gemini takes, in bytes.
const (
	longestName    = 128
	longestOldName = 64 // of models that know only the OpenAPI subset of JSON Schema
)

// functionNames are the names of functions that Gemini does not take, and what
// they are called instead: OpenAI lets a name begin with a digit or a dash,
// Gemini wants a letter or an underscore; Anthropic's names are longer than older
// models take.
type functionNames struct {
	tools    []llm.Tool        // of the client
	longest  int               // that the model takes, in bytes
	upstream map[string]string // by the client's name; only of those that differ
	client   map[string]string // the other way round
}

// of is Gemini's name of a function, the same each time.
func (n *functionNames) of(name string) string {
	if name == "" || name[0] != '-' && (name[0] < '0' || name[0] > '9') && len(name) <= n.longest {
		return name
	}
	if known := n.upstream[name]; known != "" {
		return known
	}
	if n.upstream == nil {
		n.upstream, n.client = map[string]string{}, map[string]string{}
	}
	made := name
	if len(name) >= n.longest { // the underscore has to fit as well
		sum := sha256.Sum256([]byte(name))
		const digest = 6 // bytes, of which each takes two digits
		made = name[:n.longest-2*digest-2] + "_" + hex.EncodeToString(sum[:digest])
	}
	if c := made[0]; c == '-' || c >= '0' && c <= '9' {
		made = "_" + made
	}
	made = n.unused(made)
	n.upstream[name], n.client[made] = made, name
	return made
}

// unused is a name that no function has: this one, or with more underscores
// before it.
func (n *functionNames) unused(name string) string {
	for n.client[name] != "" || slices.ContainsFunc(n.tools, func(t llm.Tool) bool { return t.Name == name }) {
		name = "_" + name
	}
	return name
}

// clients is the name by which the client knows a function that Gemini calls.
func (n *functionNames) clients(name string) string { return cmp.Or(n.client[name], name) }
