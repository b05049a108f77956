package main

import (
	"html/template"
	"strings"
)

// prose makes HTML of the part of CommonMark that the document uses: paragraphs,
// lists, `code` and **bold**.
func prose(s string) template.HTML {
	var b strings.Builder
	for block := range strings.SplitSeq(strings.TrimSpace(s), "\n\n") {
		if block == "" {
			continue
		}
		if !strings.HasPrefix(block, "- ") {
			b.WriteString("<p>" + inline(block) + "</p>")
			continue
		}
		b.WriteString("<ul>")
		for item := range strings.SplitSeq(strings.TrimPrefix(block, "- "), "\n- ") {
			b.WriteString("<li>" + inline(item) + "</li>")
		}
		b.WriteString("</ul>")
	}
	return template.HTML(b.String()) // inline escapes every text
}

func inline(s string) string {
	var b strings.Builder
	for i, piece := range strings.Split(s, "`") {
		piece = template.HTMLEscapeString(piece)
		if i%2 == 1 {
			b.WriteString("<code>" + piece + "</code>")
			continue
		}
		for j, word := range strings.Split(piece, "**") {
			if j%2 == 1 {
				word = "<strong>" + word + "</strong>"
			}
			b.WriteString(word)
		}
	}
	return b.String()
}
