package console

import "testing"

// TestPageOfTheAPIIsSearched uses the keyboard: the page has thousands of elements, and to look for one by its name takes long.
func TestPageOfTheAPIIsSearched(t *testing.T) {
	t.Parallel()
	eachView(t, func(t *testing.T, p *page) {
		p.visit("/docs")
		p.press("/")
		p.press("embeddings")
		p.press("\r")
		p.await("it does not go there", func() bool { return ask[string](p, "location.hash") == "#createEmbeddings" })
		const shown = `document.querySelector("#createEmbeddings .example pre:not([hidden]).`
		ask[any](p, `document.querySelector("#createEmbeddings .try [value=python]").click()`)
		if !ask[bool](p, shown+`python").checkVisibility()`) || ask[bool](p, shown+`curl").checkVisibility()`) {
			t.Error("the call is not shown in Python")
		}
		if colour := ask[string](p, "getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"; colour == p.view.dark {
			t.Error("the page has the wrong colours")
		}
	})
}

func TestGuidesAreSearchedAndRead(t *testing.T) {
	t.Parallel()
	eachView(t, func(t *testing.T, p *page) {
		p.visit("/docs/quick-start")
		p.press("/")
		p.await("the search has no focus", func() bool { return ask[string](p, "document.activeElement.id") == "search" })
		ask[any](p, `document.activeElement.value = ""`) // the browser of the tests writes the key although the page takes it
		p.press("budget held")
		p.see("Found")
		p.await("no section is found", func() bool { return ask[bool](p, `!!document.querySelector("nav section:not([hidden]) a .where")`) })
		p.press("\r")
		p.await("it does not go there", func() bool { return ask[string](p, "location.pathname") != "/docs/quick-start" })
		for _, guide := range []string{"troubleshooting", "quick-start"} {
			p.visit("/docs/" + guide)
			p.await("the guide is not shown", func() bool { return ask[bool](p, `!!document.querySelector("main.guide h1")`) })
			p.inspect("guide-" + guide)
		}
		p.visit("/docs/console")
		p.await("a picture is missing", func() bool {
			return ask[bool](p, `[...document.querySelectorAll("main img")].every((i) => (i.loading = "eager") && i.complete && i.naturalWidth > 0)`)
		})
	})
}
