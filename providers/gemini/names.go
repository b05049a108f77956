package gemini

import (
	"cmp"
	"slices"

	"modelgateway/models/llm"
)

// functionNames are the names of functions that Gemini does not take, and what
// they are called instead: OpenAI lets a name begin with a digit or a dash,
// Gemini wants a letter or an underscore.
type functionNames struct {
	tools    []llm.Tool        // of the client
	upstream map[string]string // by the client's name; only of those that differ
	client   map[string]string // the other way round
}

// of is Gemini's name of a function, the same each time.
func (n *functionNames) of(name string) string {
	if name == "" || name[0] != '-' && (name[0] < '0' || name[0] > '9') {
		return name
	}
	if known := n.upstream[name]; known != "" {
		return known
	}
	if n.upstream == nil {
		n.upstream, n.client = map[string]string{}, map[string]string{}
	}
	made := n.unused("_" + name)
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
