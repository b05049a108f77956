package responses

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
)

// toolName is the rule of all providers for the names of functions.
var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// longestName is how many bytes the name of a function has at most.
const longestName = 64

// names of the client's tools, by what they are to the client.
type names map[calledAs]string

// function is the name of the function that stands for a tool: the tool's own name, with that
// of its namespace before it. One that another tool has, or that is too long, ends in a hash
// of what the tool is to the client, so that it is the same in every turn.
func (b *builder) function(as calledAs) string {
	if name, known := b.names[as]; known {
		return name
	}
	name := as.name
	if name == "" {
		name = strings.TrimSuffix(string(as.item), "_call")
	}
	if as.namespace != "" {
		name = as.namespace + "__" + name
	}
	if _, taken := b.request.called[name]; taken || !toolName.MatchString(name) {
		name = hashed(name, as)
	}
	if b.names == nil {
		b.names, b.request.called = names{}, map[string]calledAs{}
	}
	b.names[as], b.request.called[name] = name, as
	return name
}

// hashed is the beginning of a name and a piece of the hash of a tool.
func hashed(name string, as calledAs) string {
	const digits = 8
	sum := sha256.Sum256([]byte(string(as.item) + "\x00" + as.namespace + "\x00" + as.name))
	kept := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, name[:min(len(name), longestName-1-digits)])
	return kept + "_" + hex.EncodeToString(sum[:digits/2])
}
