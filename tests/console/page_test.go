package console

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"modelgateway/tests/gatewaytest"
)

// view is how a person looks at the console.
type view struct {
	name  string
	width int64
	dark  bool
}

func (v view) phone() bool { return v.width < 720 }

var (
	desktop = view{name: "light", width: 1280}
	dark    = view{name: "dark", width: 1280, dark: true}
	phone   = view{name: "phone", width: 390}
	night   = view{name: "phone-dark", width: 390, dark: true}
)

// within is how long a person waits for what they expect. The race detector and a busy
// machine make pages slow.
const within = 45 * time.Second

// root is the address of the administrator of tests.
const root = "root@example.com"

// page is a tab of a browser, in which nothing is kept from others.
type page struct {
	*gatewaytest.Program
	t    testing.TB
	ctx  context.Context
	view view
	axe  string

	mu     sync.Mutex
	faults []string // that the browser has reported
}

// open opens a tab of a browser for a gateway. The test fails for every error that the
// browser reports.
func open(browser context.Context, t testing.TB, p *gatewaytest.Program, v view) *page {
	t.Helper()
	_, axe := needBrowser(t)
	ctx, end := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	t.Cleanup(end)
	tab := &page{Program: p, t: t, ctx: ctx, view: v, axe: axe}
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("open a tab: %v", err)
	}
	if err := chromedp.Listen(ctx, tab.note); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tab.end)
	tab.look(v)
	call(tab, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{
		Source: `addEventListener("securitypolicyviolation", (e) =>
			console.error("CSP: " + e.violatedDirective + " " + e.blockedURI + " " + e.sample))`,
	})
	return tab
}

// look sets how the page is looked at: its width and colours.
func (p *page) look(v view) {
	p.t.Helper()
	p.view = v
	height, scheme := int64(900), "light"
	var touch []chromedp.EmulateViewportOption
	if v.phone() {
		height, touch = 844, []chromedp.EmulateViewportOption{chromedp.EmulateMobile, chromedp.EmulateTouch}
	}
	if v.dark {
		scheme = "dark"
	}
	p.do("set the view", chromedp.EmulateViewport(v.width, height, touch...))
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
}

// start starts a gateway that asks for a credential, with simulated providers.
func start(t testing.TB, settings ...string) *gatewaytest.Program {
	t.Helper()
	return gatewaytest.Start(t, append([]string{"SIMULATOR=true", "REQUIRE_AUTH=true", gatewaytest.JWTSecret}, settings...)...)
}

// views are those of eachView: both widths and both colours. With CONSOLE=all each width has both colours,
// which takes twice as long.
func views() []view {
	if os.Getenv("CONSOLE") == "all" {
		return []view{desktop, dark, phone, night}
	}
	return []view{desktop, night}
}

// eachView runs a test on a desktop and a phone, light and dark, each with a tab of its own
// over one gateway with an administrator, root.
func eachView(t *testing.T, test func(t *testing.T, p *page), settings ...string) {
	t.Helper()
	browser := newBrowser(t)
	gateway := start(t, settings...)
	gateway.SetUp(t, root)
	for _, v := range views() {
		t.Run(v.name, func(t *testing.T) { test(t, open(browser, t, gateway, v)) })
	}
}

// eachRoot is eachView with the administrator signed in.
func eachRoot(t *testing.T, test func(t *testing.T, p *page), settings ...string) {
	t.Helper()
	eachView(t, func(t *testing.T, p *page) {
		p.signIn(root)
		test(t, p)
	}, settings...)
}

// onDesktop opens one tab for the administrator of a gateway of its own, for what is the same in
// every view.
func onDesktop(t *testing.T, settings ...string) *page {
	t.Helper()
	gateway := start(t, settings...)
	gateway.SetUp(t, root)
	p := open(newBrowser(t), t, gateway, desktop)
	p.signIn(root)
	return p
}

// note keeps what the browser reports as an error.
func (p *page) note(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			text += " " + e.ExceptionDetails.Exception.Description
		}
		p.fault("exception: " + text)
	case *runtime.EventConsoleAPICalled:
		if e.Type != "error" && e.Type != "assert" && e.Type != "warning" {
			return
		}
		var text []string
		for _, argument := range e.Args {
			text = append(text, string(argument.Value)+argument.Description)
		}
		p.fault("console: " + strings.Join(text, " "))
	case *log.EventEntryAdded:
		if e.Entry.Level == "error" && !p.isAnswer(e.Entry) {
			p.fault("log: " + e.Entry.Text + " " + e.Entry.URL)
		}
	case *cdppage.EventJavascriptDialogOpening: // the console has none
		p.fault("a dialog of a script: " + e.Message)
		go func() {
			_, _ = chromedp.Call(p.ctx, cdppage.HandleJavaScriptDialog, cdppage.HandleJavaScriptDialogParams{})
		}()
	}
}

// isAnswer says whether an entry of the log is only a status of the API below 500, which
// pages show to their users. A file or a page that is missing is an error.
func (p *page) isAnswer(e *log.Entry) bool {
	at, err := url.Parse(e.URL)
	if err != nil || e.Source != "network" || strings.Contains(e.Text, "status of 5") || !strings.Contains(e.Text, "status of ") {
		return false
	}
	return strings.HasPrefix(at.Path, "/v1/") || strings.HasPrefix(at.Path, "/auth/") || strings.HasPrefix(at.Path, "/admin/")
}

func (p *page) fault(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, text)
}

// end fails the test for what the browser has reported.
func (p *page) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, fault := range p.faults {
		p.t.Errorf("%s: %s", p.view.name, fault)
	}
}

// do runs an action of the browser.
func (p *page) do(what string, action chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, within)
	defer cancel()
	if err := chromedp.Do(ctx, action); err != nil {
		p.fail(what + ": " + err.Error())
	}
}

// fail ends the test with what the page shows.
func (p *page) fail(what string) {
	p.t.Helper()
	p.shoot("failed-" + strings.NewReplacer("/", "-", " ", "-").Replace(p.t.Name()))
	const most = 2000
	shown := ask[string](p, "document.body.innerText")
	p.t.Fatalf("%s: %s\nThe page at %s shows:\n%s", p.view.name, what, ask[string](p, "location.href"), shown[:min(len(shown), most)])
}

// signIn signs a user in, whose password is "correct horse battery".
func (p *page) signIn(email string) {
	p.t.Helper()
	answer := p.Call(p.t, "POST", "/auth/session", fmt.Sprintf(`{"email":%q,"password":"correct horse battery"}`, email))
	if answer.Status != 204 {
		p.t.Fatalf("sign in: %d %s", answer.Status, answer.Body)
	}
	value, _, _ := strings.Cut(strings.TrimPrefix(answer.Header.Get("Set-Cookie"), "mgw_session="), ";")
	only := true
	call(p, network.SetCookie, network.SetCookieParams{
		Name: "mgw_session", Value: value, URL: p.URL, Path: "/", HTTPOnly: &only, SameSite: "Strict",
	})
}

// ask returns the value of an expression of the page. It asks again while the page is being
// replaced by another one.
func ask[T any](p *page, expression string, options ...chromedp.EvaluateOption) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, within)
	defer cancel()
	for {
		value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, options...))
		if err == nil {
			return value
		}
		if ctx.Err() != nil || !replaced(err) {
			p.t.Fatalf("%s: %.200s: %v", p.view.name, expression, err)
		}
		time.Sleep(pause)
	}
}

// replaced says whether an error means that the page has made room for another one.
func replaced(err error) bool {
	for _, text := range []string{
		"navigated or closed", "context was destroyed", "Cannot find context", "Cannot find default execution context",
	} {
		if strings.Contains(err.Error(), text) {
			return true
		}
	}
	return false
}
