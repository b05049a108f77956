package console

import (
	"strings"
	"testing"

	cdppage "github.com/chromedp/cdproto/page"
)

// While a script of the test says so, the API answers with an error, or not at all.
const breaking = `{
	const real = window.fetch, always = /^\/(auth\/(methods|session)|health)/;
	const error = { message: "The database did not answer in 10 s.", type: "server_error", code: "internal_error", param: null };
	window.fetch = (path, init) => {
		const how = sessionStorage.getItem("broken");
		if (how === "gone") return Promise.reject(new TypeError("Failed to fetch"));
		if (how !== "fails" || always.test(path)) return real(path, init);
		const headers = { "Content-Type": "application/json", "X-Request-Id": "req_0000000000" };
		return Promise.resolve(new Response(JSON.stringify({ error }), { status: 503, headers }));
	};
}`

// broken opens a page on a desktop, of which the API can be made to fail.
func broken(t *testing.T) (p *page, set func(how string)) {
	t.Helper()
	p = onDesktop(t)
	call(p, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: breaking})
	p.visit("/account")
	p.see("Change password")
	return p, func(how string) { ask[any](p, `sessionStorage.setItem("broken", `+quoted(how)+`) ?? null`) }
}

func TestPagesSayWhatCouldNotBeLoadedAndTryAgain(t *testing.T) {
	t.Parallel()
	p, set := broken(t)
	for path, shown := range map[string]string{
		"/keys": "You have no keys yet.", "/usage": "No calls in the last 7 days", "/calls": "There are no calls in the last hour",
		"/models": "gemini-2.5-flash-lite", "/playground": "Send to both", "/users": root, "/teams": "How limits combine",
		"/providers": "Healthy", "/audit": "set up this gateway", "/settings": "JWT_SECRET", "/": "First steps",
		"/statement": "No calls in",
	} {
		set("fails")
		p.visit(path)
		p.see("could not be loaded.")
		p.see("The database did not answer in 10 s.")
		p.see("req_0000000000")
		p.inspect("unloaded" + strings.ReplaceAll(path, "/", "-"))
		set("")
		ask[any](p, `[...document.querySelectorAll("main button")].filter((b) => b.textContent === "Try again")
			.forEach((b) => b.click()) ?? null`) // Home has one in each card
		p.see(shown)
		p.seeNot("could not be loaded.")
	}
}

func TestGatewayThatDoesNotAnswerIsAskedAgain(t *testing.T) {
	t.Parallel()
	p, set := broken(t)
	p.visit("/calls")
	p.see("There are no calls in the last hour")
	set("gone")
	p.see("The gateway does not answer. Trying again in 5 s.")
	p.see("There are no calls in the last hour") // what was there stays
	set("")
	p.seeNot("The gateway does not answer.")
	set("gone")
	p.visit("/usage")
	p.see("The gateway does not answer.")
	set("")
	p.see("No calls in the last 7 days")
}

func TestEmptyPagesSayWhatToDo(t *testing.T) {
	t.Parallel()
	p := onDesktop(t)
	for _, page := range []struct{ path, says, offers string }{
		{"/", "First steps", "Create key"},
		{"/keys", "You have no keys yet.", "Create key"},
		{"/keys?q=nothing&state=all", "No keys match.", "Show all keys"},
		{"/usage", "No calls in the last 7 days", "Create key"},
		{"/usage?model=nothing", "No calls match. Filters: last 7 days, model nothing.", "Clear filters"},
		{"/calls", "There are no calls in the last hour", "Show 24 hours"},
		{"/calls?q=nothing", "No calls match. Filters: last hour, “nothing”.", "Clear filters"},
		{"/models?q=nothing", "No model matches “nothing”.", "Clear search"},
		{"/users?q=nothing", "No user matches. Find: nothing.", "Clear filters"},
		{"/users?state=invited", "No invitation is open.", "Invite"},
		{"/teams", "There are no teams yet.", "Create team"},
		{"/audit?q=nothing", "No entry matches.", "Clear filters"},
		{"/settings?q=xyzzy", "No setting matches.", "Clear filters"},
	} {
		p.visit(page.path)
		p.see(page.says)
		p.spotOf("button", page.offers)
		name, _, _ := strings.Cut(page.path, "?")
		p.inspect("empty" + strings.ReplaceAll(name, "/", "-"))
	}
}
