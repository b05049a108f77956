package console

import (
	"testing"

	"github.com/chromedp/chromedp/kb"

	"modelgateway/tests/gatewaytest"
)

// A snippet that is copied works: it names a model that can be called.
func TestSnippetsNameAModelThatCanBeCalled(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, setting, model, codex string }{
		{"every provider", "SIMULATOR=true", `"claude-haiku-4-5"`, `"gpt-6-sol"`},
		{"Google alone", "GEMINI_API_KEY=key", `"gemini-`, `"gemini-`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			gateway := gatewaytest.Start(t, tt.setting, "MODEL_DISCOVERY=false", "REQUIRE_AUTH=true", gatewaytest.JWTSecret)
			gateway.SetUp(t, root)
			p := open(newBrowser(t), t, gateway, desktop)
			p.signIn(root)
			p.visit("/")
			p.see("Connect a client")
			p.await("the snippet names "+tt.model, func() bool { return p.shows(tt.model) })
			p.click("Codex")
			p.await("Codex is given "+tt.codex, func() bool { return p.shows("model = " + tt.codex) })
			p.click("curl")
			p.fill("Another model", "gemini-2.5-flash-lite")
			p.see("gemini $")
			p.press(kb.Enter)
			p.await("the snippet names the model that was chosen", func() bool { return p.shows(`"model": "gemini-2.5-flash-lite"`) })
			p.inspect("snippets-model")
			p.visit("/keys")
			p.click("Create key")
			p.fill("Name", "mine")
			p.fill("Models", "gemini-2.5-flash-lite")
			ask[any](p, `document.querySelector("dialog [type=submit]").click()`)
			p.see("Copy your key now")
			p.await("the call names the key's model", func() bool { return p.shows(`"model": "gemini-2.5-flash-lite"`) })
		})
	}
}
