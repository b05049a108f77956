package web

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// What a link or a user brings is text of the page: it makes no element and no attribute.
func TestValuesOfTheFormMakeNoElement(t *testing.T) {
	const evil = `"'><script>alert(1)</script>{}{MAIN}{STYLE}&lt;`
	form := Form{
		Title: evil, Text: evil, Fault: evil, Token: evil, Button: evil, Done: true,
		Fields: []FormField{{Name: "name", Label: evil, Type: "text", Autocomplete: "name", Value: evil}, {Name: "password", Type: "password"}},
	}
	var tags, found []string
	tokens := html.NewTokenizer(strings.NewReader(string(form.Page())))
	for {
		kind := tokens.Next()
		if kind == html.ErrorToken {
			if err := tokens.Err(); err != io.EOF { //nolint:errorlint // the tokenizer returns it bare
				t.Fatal(err)
			}
			break
		}
		token := tokens.Token()
		if kind == html.StartTagToken {
			tags = append(tags, token.Data)
		}
		for _, a := range token.Attr {
			if a.Val == evil {
				found = append(found, token.Data+" "+a.Key)
			}
		}
		if kind == html.TextToken && strings.Contains(token.Data, evil) {
			found = append(found, "text")
		}
	}
	if i := slices.Index(tags, "main"); i < 0 || fmt.Sprint(tags[i:]) != "[main h1 p p form input div label input div label input button p a]" {
		t.Errorf("elements: %v", tags)
	}
	if got := fmt.Sprint(found); got != "[text text text text input value text input value text]" {
		t.Errorf("the text is found in %s", got)
	}
}

func TestAFormWithoutAButtonOnlyInforms(t *testing.T) {
	page := string(Form{Title: "This link is not complete", Text: "Ask for another one."}.Page())
	if strings.Contains(page, "<form") || strings.Contains(page, "signin") || !strings.Contains(page, `<p class="lead">Ask for another one.</p>`) {
		t.Error(page)
	}
}
