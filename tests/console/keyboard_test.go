package console

import (
	"slices"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp/kb"
)

// focused is the name of what has the focus.
func (p *page) focused() string {
	p.t.Helper()
	return ask[string](p, `((e) => (e.ariaLabel || e.labels?.[0]?.innerText || e.innerText || e.id || e.tagName)
		.replace(/\s+/g, " ").trim())(document.activeElement)`)
}

// focuses waits until this has the focus.
func (p *page) focuses(name string) {
	p.t.Helper()
	p.await("the focus is not on "+name, func() bool { return p.focused() == name })
}

func TestKeyboardReachesEveryPage(t *testing.T) {
	t.Parallel()
	p := onDesktop(t)
	p.visit("/keys")
	p.see("You have no keys yet.")
	p.press(kb.Tab)
	p.focuses("Skip to content")
	p.press(kb.Enter)
	if at := ask[string](p, "document.activeElement.id"); at != "main" {
		t.Errorf("after Skip to content the focus is on %q", at)
	}
	p.visit("/keys")
	p.see("You have no keys yet.")
	var names []string
	for range 11 {
		p.press(kb.Tab)
		names = append(names, p.focused())
		if ask[string](p, "getComputedStyle(document.activeElement).outlineStyle") == "none" {
			t.Errorf("nothing shows that the focus is on %q", p.focused())
		}
	}
	want := []string{
		"Skip to content", "Model Gateway", "Search or jump to Ctrl K", "Home", "Keys", "Usage", "Calls", "Sessions", "Playground", "Models",
		"Users",
	}
	if !slices.Equal(names, want) {
		t.Errorf("Tab goes to %q, not %q", names, want)
	}
	p.press(kb.Enter)
	p.at("/users")
	p.focuses("Users") // the title of the page
}

func TestEscapeClosesWhatFloatsAndTheFocusGoesBack(t *testing.T) {
	t.Parallel()
	p := onDesktop(t)
	p.CreateKey(t, p.Administrator(t))
	p.visit("/keys")
	p.see("mgw_")
	closed := func() bool { return ask[bool](p, `!document.querySelector("dialog, [popover].menu")`) }

	p.click("Create key")
	p.focuses("Name")
	for range 20 {
		p.press(kb.Tab)
		if !ask[bool](p, `document.activeElement === document.body || !!document.activeElement.closest("dialog")`) {
			t.Fatalf("Tab leaves the dialog for %q", p.focused())
		}
	}
	p.press(kb.Escape)
	p.await("the dialog is still there", closed)
	p.focuses("Create key")

	p.press("k", ctrl)
	p.focuses("Search or jump to")
	p.press(kb.ArrowDown)
	p.press(kb.Escape)
	p.await("the palette is still there", closed)
	p.focuses("Create key")

	p.click("Actions for app")
	p.focuses("Show its calls")
	p.press(kb.ArrowUp)
	p.focuses("Revoke")
	p.press(kb.Enter)
	p.focuses("Keep key") // the safe button
	p.press(kb.Escape)
	p.await("the question is still there", closed)
	p.click("Actions for app")
	p.press(kb.Escape)
	p.await("the menu is still there", closed)
	p.focuses("Actions for app")

	p.press("/")
	p.focuses("Find a key")
}

func TestNothingMovesWhereMotionIsNotWanted(t *testing.T) {
	t.Parallel()
	p := onDesktop(t)
	p.visit("/calls")
	p.see("There are no calls in the last hour")
	moving := func() int { return ask[int](p, "document.getAnimations().length") }
	p.await("something moves", func() bool { return moving() == 0 })
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-reduced-motion", Value: "no-preference"}},
	})
	p.await("the sign of what is live does not move", func() bool { return moving() > 0 })
}
