package console

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestPicturesOfTheDocuments makes the pictures of README.md and docs/console.md: `make pictures`.
func TestPicturesOfTheDocuments(t *testing.T) {
	folder := os.Getenv("PICTURES")
	if folder == "" {
		t.Skip("PICTURES names the folder for the pictures of the documents; make pictures sets it")
	}
	p := newcomer(newBrowser(t), t, desktop)
	take := func(name string) {
		t.Helper()
		// The font of code is named, since a system's own differ; so do their widths.
		ask[any](p, `{
			const sheet = new CSSStyleSheet();
			sheet.replaceSync(":root { --mono: 'JetBrains Mono', monospace; }");
			document.adoptedStyleSheets = [sheet];
		} document.fonts.ready.then(() => new Promise((r) => setTimeout(r, 500)))`, chromedp.EvalAwaitPromise)
		picture, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name+".png"), picture, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	look := func(v view, height int64) {
		p.look(v)
		touch := []chromedp.EmulateViewportOption{chromedp.EmulateScale(1.5)}
		p.do("set the size", chromedp.EmulateViewport(v.width, height, touch...))
	}
	look(desktop, 860)
	p.visit("/usage?range=7d&by=key")
	p.see("demo support-bot")
	take("console-usage")
	p.visit("/keys")
	p.see("demo support-bot")
	p.visit("/calls?range=7d&outcome=ok")
	p.openNewest()
	take("console-call")

	look(dark, 760)
	p.jump("Playground")
	p.choose("Reasoning", "Low")
	p.send("When does a partial index help in PostgreSQL?", "Send to both")
	for _, letter := range []string{"a", "b"} {
		p.lane(letter, "Copy answer")
		p.lane(letter, "$0.")
	}
	p.see("costs")
	take("console-playground")

	look(phone, 844)
	p.visit("/usage?range=7d&by=model")
	p.see("gpt-6-sol")
	take("console-phone")
}
