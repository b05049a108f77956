package responses

import (
	"strconv"
	"strings"

	"modelgateway/llm"
)

// The indices of what is not an item of the input.
const (
	instructionsItem = -2
	inputItem        = -3 // the input as one text
)

// place is a part of the client's request.
type place struct {
	item int // of the input, instructionsItem or inputItem; -1 stands for all
	part int // of the item's list; -1 = the item itself
	list string
}

// The lists of an item that have parts, and their numbers in an llm.At.
const (
	contentList = "content"
	outputList  = "output"
	listParts   = 1 << 16 // more than a list has parts
)

// anyItem is the index that stands for all items.
const anyItem = -1

// at is the place in the common form.
func (p place) at() llm.At {
	if p.list == outputList && p.part >= 0 {
		return llm.At{Item: p.item, Part: listParts + p.part}
	}
	return llm.At{Item: p.item, Part: p.part}
}

// placeOf is the place of an llm.At.
func placeOf(at llm.At) place {
	p := place{item: at.Item, part: at.Part, list: contentList}
	if at.Part >= listParts {
		p.part, p.list = at.Part-listParts, outputList
	}
	return p
}

// path names the part, or the whole item.
func (p place) path() string {
	switch {
	case p.item < 0 && p.item != anyItem:
		return itemPath(p.item)
	case p.item < 0 && p.part < 0: // any part of any item
		return "input[].content[]"
	case p.part < 0:
		return itemPath(p.item)
	}
	return itemPath(p.item) + "." + p.list + "[" + strconv.Itoa(p.part) + "]"
}

// itemPath names an item.
func itemPath(i int) string {
	switch {
	case i == instructionsItem:
		return "instructions"
	case i == inputItem:
		return "input"
	case i < 0:
		return "input[]"
	}
	return "input[" + strconv.Itoa(i) + "]"
}

// toolPath names a tool: of the request's list or of an item's, and of a namespace's where
// inner is not negative.
func toolPath(item, i, inner int) string {
	var b strings.Builder
	if item >= 0 {
		b.WriteString(itemPath(item) + ".")
	}
	b.WriteString("tools[")
	if i >= 0 {
		b.WriteString(strconv.Itoa(i))
	}
	b.WriteString("]")
	if inner >= 0 {
		b.WriteString(".tools[" + strconv.Itoa(inner) + "]")
	}
	return b.String()
}
