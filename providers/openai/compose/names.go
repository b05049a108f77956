package compose

// longestName is what OpenAI takes for the name of a tool, in bytes.
const longestName = 64

// ToolNames are the tools of a request whose names the upstream cannot have, by
// the names that it knows them by.
type ToolNames map[string]toolName

type toolName struct{ namespace, name string }

// Original is the namespace and the name that the client gave a tool.
func (n ToolNames) Original(name string) (namespace, original string) {
	if known, ok := n[name]; ok {
		return known.namespace, known.name
	}
	return "", name
}

// Upstream is the name of a tool upstream, always the same from the same: where
// it has a namespace that comes first, and what is too long is shortened.
func (n *ToolNames) Upstream(namespace, name string) string {
	out := name
	if namespace != "" {
		out = namespace + "__" + name
	}
	out = legal(out)
	if len(out) > longestName {
		end := "_" + Hash(out)[:12]
		out = out[:longestName-len(end)] + end
	}
	if out != name {
		if *n == nil {
			*n = ToolNames{}
		}
		(*n)[out] = toolName{namespace, name}
	}
	return out
}
