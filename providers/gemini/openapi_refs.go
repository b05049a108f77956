package gemini

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

func (c *converter) convert(raw jsontext.Value) jsontext.Value {
	outer := len(c.refs)
	c.depth++
	defer func() {
		c.refs = c.refs[:outer]
		c.depth--
	}()
	return c.write(c.flatten(raw))
}

// flatten reads a schema, with what it refers to and all it combines.
func (c *converter) flatten(raw jsontext.Value) keywords {
	if !c.spendBytes(len(raw)) || !isObject(raw) {
		c.lossy = true
		return nil
	}
	k := keywords(members(raw))
	if ref := text(k.get("$ref")); ref != "" {
		if slices.Contains(c.refs, ref) { // the recursion would not end
			c.lossy = true
			return keywords{{"type", jsontext.Value(`"object"`)}}
		}
		c.refs = append(c.refs, ref)
		k = c.merge(k, c.flatten(c.resolve(ref)))
	}
	for _, sub := range elements(k.get("allOf")) {
		k = c.merge(k, c.flatten(sub))
	}
	return slices.DeleteFunc(k, func(m member) bool { return m.name == "$ref" || m.name == "allOf" })
}

// spendBytes says whether another n bytes may be read, and counts them.
func (c *converter) spendBytes(n int) bool {
	const least = 64 // empty schemas cost time too
	c.bytesLeft -= n + least
	return c.bytesLeft >= 0
}

// merge adds the keywords of more to k.
func (c *converter) merge(k, more keywords) keywords {
	if len(k)+len(more) > maxMembers {
		c.lossy = true
		return k
	}
	for _, m := range more {
		have := k.get(m.name)
		switch {
		case have == nil:
			k.set(m.name, m.value)
		case m.name == "properties":
			k.set(m.name, c.union(have, m.value))
		case m.name == "required" && c.spendBytes(len(have)):
			k.set(m.name, list(append(elements(have), elements(m.value)...)))
		case string(have) != string(m.value) && m.name != "description" && m.name != "title":
			c.lossy = true
		}
	}
	return k
}

func (c *converter) union(a, b jsontext.Value) jsontext.Value {
	all, more := keywords(members(a)), keywords(members(b))
	if !c.spendBytes(len(a)) || len(all)+len(more) > maxMembers {
		c.lossy = true
		return a
	}
	for _, m := range more {
		if all.get(m.name) == nil {
			all.set(m.name, m.value)
		}
	}
	var out object
	for _, m := range all {
		out.add(m.name, m.value)
	}
	return out.done()
}

// resolve finds what a reference within the same schema points at.
func (c *converter) resolve(ref string) jsontext.Value {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	at := c.root
	for token := range jsontext.Pointer(pointer).Tokens() {
		if !c.spendBytes(len(at)) {
			return nil
		}
		if i, err := strconv.Atoi(token); err == nil && at.Kind() == jsontext.KindBeginArray {
			all := elements(at)
			if i < 0 || i >= len(all) {
				return nil
			}
			at = all[i]
			continue
		}
		at = keywords(members(at)).get(token)
	}
	return at
}
