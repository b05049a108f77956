package console

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

func TestPersonSignsIn(t *testing.T) {
	t.Parallel()
	eachView(t, func(t *testing.T, p *page) {
		p.visit("/keys")
		p.see("Sign in")
		p.inspect("signin")
		p.fill("E-mail", "root@example.com")
		p.fill("Password", "wrong horse battery")
		p.click("Sign in")
		p.see("E-mail or password is wrong")
		p.inspect("signin-wrong")
		p.fill("Password", "correct horse battery")
		p.press(kb.Enter)
		p.seeNot("E-mail or password is wrong")
		p.await("there is no session", func() bool {
			return ask[bool](p, `fetch("/auth/session").then((r) => r.ok)`, chromedp.EvalAwaitPromise)
		})
		if cookies := ask[string](p, "document.cookie"); cookies != "" {
			t.Errorf("a script reads the cookies %s", cookies)
		}
	})
}
