package console

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

//go:embed testdata/find.js
var find string

// spot is where something is that a person can press.
type spot struct {
	X, Y    float64
	Tag     string
	Focused bool
	Problem string
}

func quoted(text string) string {
	s, _ := json.Marshal(text) // a string always has a JSON form
	return string(s)
}

// visit opens a path of the gateway.
func (p *page) visit(path string) {
	p.t.Helper()
	p.do("open "+path, chromedp.Navigate(p.URL+path))
}

// spotOf waits until something with this name can be pressed.
func (p *page) spotOf(kind, name string) spot {
	p.t.Helper()
	for began, last := time.Now(), (spot{}); ; time.Sleep(pause) {
		at := ask[spot](p, fmt.Sprintf("(%s)(%s, %s)", find, quoted(kind), quoted(name)))
		if at.Problem == "" && at == last {
			return at // it does not move any more
		}
		if time.Since(began) > within {
			p.fail(fmt.Sprintf("the %s %q %s", kind, name, at.Problem))
		}
		last = at
	}
}

// pause is the time between two looks at the page.
const pause = 40 * time.Millisecond

// click presses the button, link, tab, check box or row with this name, or the first one
// whose name begins with its words.
func (p *page) click(name string) {
	p.t.Helper()
	for missed := true; missed; missed = ask[bool](p, "window.missed === true") {
		at := p.spotOf("button", name)
		p.do("click "+name, chromedp.MouseClickXY(at.X, at.Y))
	}
}

// fill replaces the text of the field with this label.
func (p *page) fill(label, text string) {
	p.t.Helper()
	for began := time.Now(); ; { // what comes late may move the field away from under the pointer
		at := p.spotOf("field", label)
		p.do("click into "+label, chromedp.MouseClickXY(at.X, at.Y))
		if ask[spot](p, fmt.Sprintf("(%s)('field', %s)", find, quoted(label))).Focused {
			break
		}
		if time.Since(began) > within {
			p.fail(fmt.Sprintf("the field %q does not take the focus", label))
		}
	}
	ask[any](p, `document.activeElement.select?.()`)
	if text == "" {
		p.press(kb.Delete)
		return
	}
	call(p, input.InsertText, input.InsertTextParams{Text: text})
}

// choose chooses an option of the list with this label, by its text or its value.
func (p *page) choose(label, option string) {
	p.t.Helper()
	at := p.spotOf("field", label)
	if at.Tag != "SELECT" {
		p.fail(fmt.Sprintf("%q is no list", label))
	}
	if !ask[bool](p, fmt.Sprintf(`((option) => {
		const list = document.elementFromPoint(%f, %f).closest("select");
		const wanted = [...list.options].find((o) => o.text === option || o.value === option);
		if (!wanted) return false;
		list.value = wanted.value;
		list.dispatchEvent(new Event("input", { bubbles: true }));
		list.dispatchEvent(new Event("change", { bubbles: true }));
		return true;
	})(%s)`, at.X, at.Y, quoted(option))) {
		p.fail(fmt.Sprintf("%q has no option %q", label, option))
	}
}

// ctrl is held while a key is pressed.
var ctrl = chromedp.KeyModifiers(chromedp.ModifierCtrl)

// press presses a key, such as kb.Enter, or writes a text letter by letter.
func (p *page) press(keys string, options ...chromedp.KeyOption) {
	p.t.Helper()
	p.do("press a key", chromedp.KeyEvent(keys, options...))
}

// shows says whether a text is visible, without regard to upper case, which styles change.
func (p *page) shows(text string) bool {
	p.t.Helper()
	return ask[bool](p, fmt.Sprintf(`((text) => {
		const tidy = (s) => s.replace(/\s+/g, " ").toLowerCase();
		return tidy(document.body?.innerText ?? "").includes(tidy(text));
	})(%s)`, quoted(text)))
}

// see waits until a text is visible.
func (p *page) see(text string) {
	p.t.Helper()
	p.await("it does not show "+text, func() bool { return p.shows(text) })
}

// seeNot waits until a text is not visible.
func (p *page) seeNot(text string) {
	p.t.Helper()
	p.await("it still shows "+text, func() bool { return !p.shows(text) })
}

// at waits until the page has this path and query.
func (p *page) at(path string) {
	p.t.Helper()
	p.await("it is not "+path, func() bool { return ask[string](p, "location.pathname + location.search") == path })
}

// await waits until something holds.
func (p *page) await(otherwise string, holds func() bool) {
	p.t.Helper()
	for began := time.Now(); !holds(); time.Sleep(pause) {
		if time.Since(began) > within {
			p.fail(otherwise)
		}
	}
}

// inspect takes a screenshot, and fails the test for a serious barrier that axe-core finds
// and for a page that scrolls sideways.
func (p *page) inspect(name string) {
	p.t.Helper()
	ask[any](p, `document.fonts.ready.then(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => r(true)))))`,
		chromedp.EvalAwaitPromise)
	p.shoot(name)
	// A phone zooms out of a page that is too wide, so that innerWidth is no measure.
	if wide := ask[string](p, fmt.Sprintf(`document.documentElement.scrollWidth <= %[1]d ? "" :
		document.documentElement.scrollWidth + " px: " + [...document.querySelectorAll("body *")]
			.filter((e) => e.getBoundingClientRect().right > %[1]d + 1 && e.checkVisibility())
			.map((e) => e.outerHTML.slice(0, 80)).slice(0, 3).join(" ")`, p.view.width)); wide != "" {
		p.t.Errorf("%s, %s: the page scrolls sideways: %s", name, p.view.name, wide)
	}
	found := ask[[]string](p, "window.axe ? 0 : ("+"() => {"+p.axe+"})();"+`axe.run({ resultTypes: ["violations"] }).then((r) =>
		r.violations.filter((v) => v.impact === "serious" || v.impact === "critical")
			.map((v) => v.impact + " " + v.id + ": " +
				v.nodes.map((n) => n.target.join(" ") + " " + n.failureSummary).slice(0, 3).join("; ")))`,
		chromedp.EvalAwaitPromise)
	for _, barrier := range found {
		p.t.Errorf("%s, %s: %s", name, p.view.name, barrier)
	}
}

// steady fails the test where the page has moved by more than this since it was opened, but by
// what was pressed. The measure is that of browsers, of which 0.1 is called good.
func (p *page) steady(most float64) {
	p.t.Helper()
	moved := ask[float64](p, `new Promise((done) => {
		const sum = (all) => all.filter((e) => !e.hadRecentInput).reduce((total, e) => total + e.value, 0);
		new PerformanceObserver((list) => done(sum(list.getEntries()))).observe({ type: "layout-shift", buffered: true });
		setTimeout(() => done(0), 100);
	})`, chromedp.EvalAwaitPromise)
	if moved > most {
		p.t.Errorf("%s: the page at %s has moved by %f while it was loaded", p.view.name, ask[string](p, "location.href"), moved)
	}
}

// shoot writes a screenshot of the whole page: NAME-VIEW.png in the folder SCREENSHOTS, or
// bin/screenshots of the repository.
func (p *page) shoot(name string) {
	p.t.Helper()
	folder := os.Getenv("SCREENSHOTS")
	if folder == "" {
		folder = filepath.Join("..", "..", "bin", "screenshots")
	}
	const best = 100 // writes PNG
	picture, err := chromedp.Run(p.ctx, chromedp.FullScreenshot(best))
	if err == nil {
		err = os.MkdirAll(folder, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, strings.TrimSuffix(name, "-"+p.view.name)+"-"+p.view.name+".png"), picture, 0o644)
	}
	if err != nil {
		p.t.Errorf("screenshot: %v", err)
	}
}
