package console

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"modelgateway/tests/gatewaytest"
)

// playground opens the playground with these models.
func (p *page) playground(models ...string) {
	p.t.Helper()
	p.visit("/playground?model=" + strings.Join(models, "&model="))
	p.see("Calls count against your own budget")
}

// send writes a message and sends it.
func (p *page) send(text, button string) {
	p.t.Helper()
	p.fill("Message", text)
	p.click(button)
}

// lane waits until a lane has a text, whether it is shown or, on a phone, hidden by the other one.
func (p *page) lane(letter, text string) {
	p.t.Helper()
	p.await("lane "+letter+" does not say "+text, func() bool {
		return strings.Contains(ask[string](p, `document.querySelector(".l`+letter+`").textContent`), text)
	})
}

func TestTwoModelsAnswerSideBySide(t *testing.T) {
	t.Parallel()
	eachRoot(t, func(t *testing.T, p *page) {
		p.playground("claude-haiku-4-5-20251001", "gpt-6-sol")
		p.inspect("playground-empty")
		ask[any](p, `new MutationObserver(() => { window.together ||= document.querySelectorAll(".lane .writing").length === 2; })
			.observe(document.body, { subtree: true, childList: true, attributes: true }) ?? null`)
		p.choose("Reasoning", "Low")
		p.send("When does a partial index help?", "Send to both")
		for _, letter := range []string{"a", "b"} {
			p.lane(letter, `You said: "When does a partial index help?"`)
			p.lane(letter, "Reasoned")
			p.lane(letter, "$0.000")
		}
		p.see("costs")
		if !ask[bool](p, "window.together") {
			t.Error("the lanes did not stream at the same time")
		}
		p.inspect("playground")
		if p.view.phone() {
			p.click("B")
		}
		p.send("And again?", "Send to both")
		p.lane("b", `You said: "And again?"`)
		p.click("Close B")
		p.at("/playground?model=claude-haiku-4-5-20251001")
		p.await("A is not complete", func() bool { return !ask[bool](p, `!!document.querySelector(".lane .writing")`) })
		p.click("See the call")
		p.await("it is not the list of calls", func() bool { return strings.HasPrefix(ask[string](p, "location.pathname"), "/calls") })
	})
}

func TestStopEndsOneLaneAndTheOtherGoesOn(t *testing.T) {
	t.Parallel()
	eachRoot(t, func(t *testing.T, p *page) {
		p.playground("claude-haiku-4-5-20251001", "gpt-6-sol")
		ask[any](p, `new MutationObserver((_, observer) => {
			const stop = document.querySelector('[aria-label="Stop A"]');
			if (!stop || stop.hidden || !document.querySelector(".la .writing .said")?.textContent) return;
			observer.disconnect();
			stop.click();
		}).observe(document.body, { subtree: true, childList: true, characterData: true }) ?? null`)
		p.send(strings.Repeat("Tell me more. ", 10), "Send to both")
		p.see("You stopped this answer.")
		p.lane("b", "Copy answer")
		p.click("Try again")
		p.lane("a", "Copy answer")
	})
}

func TestErrorIsShownInItsLaneAndCanBeTriedAgain(t *testing.T) {
	t.Parallel()
	eachRoot(t, func(t *testing.T, p *page) {
		p.playground("claude-haiku-4-5-20251001", "gpt-6-sol")
		p.send("simulate error 400 from openai", "Send to both")
		p.lane("a", "You said")
		if p.view.phone() {
			p.click("B failed")
		}
		p.see("Try again")
		request := func() string {
			return ask[string](p, `document.querySelector(".lb .note")?.textContent.match(/req_\w+/)?.[0] ?? ""`)
		}
		first := request()
		if first == "" {
			t.Error("the error does not name its request")
		}
		p.inspect("playground-error")
		p.click("Try again")
		p.await("it was not tried again", func() bool { now := request(); return now != "" && now != first })
	})
}

func TestToolOfAModelIsCalledByThePerson(t *testing.T) {
	t.Parallel()
	eachRoot(t, func(t *testing.T, p *page) {
		p.playground("claude-haiku-4-5-20251001")
		p.click("Add tool")
		p.fill("Parameters, as JSON Schema", `{"type": "obj`)
		p.see("Not JSON yet")
		p.click("Fill in an example")
		p.see("This tool can be sent.")
		p.inspect("playground-tool")
		p.click("Add tool")
		p.seeNot("This tool can be sent.")
		p.send("How is the weather in Ghent?", "Send")
		p.see("wants to be called with")
		p.click("Send result")
		p.see("Write what each tool returned.")
		p.fill("Result of get_weather", `{"degrees": 12}`)
		p.inspect("playground-call")
		p.click("Send result")
		p.see(`The tool get_weather returned: "{"degrees": 12}"`)
	})
}

func TestPictureIsPastedAndSent(t *testing.T) {
	t.Parallel()
	eachRoot(t, func(t *testing.T, p *page) {
		p.playground("claude-haiku-4-5-20251001")
		for _, name := range []string{"one.png", "two.png"} {
			ask[any](p, `{
				const dot = atob("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==");
				const clipboardData = new DataTransfer(), type = "image/png";
				clipboardData.items.add(new File([Uint8Array.from(dot, (c) => c.charCodeAt(0))], "`+name+`", { type }));
				const event = new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true });
				document.querySelector("#say").dispatchEvent(event);
			} null`)
		}
		p.click("Remove two.png")
		p.inspect("playground-picture")
		p.send("What is it?", "Send")
		p.see("With it came 1 image")
	})
}

func TestRequestAsCodeRuns(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	eachRoot(t, func(t *testing.T, p *page) {
		_, key := p.CreateKey(t, p.Administrator(t))
		p.playground("claude-haiku-4-5-20251001")
		p.fill("System prompt", "You're brief.")
		p.fill("Max output tokens", "200")
		p.fill("Message", "What's new?")
		p.click("As code")
		for _, dialect := range []string{"Chat Completions", "Responses", "Messages"} {
			p.click(dialect)
			command := exec.CommandContext(t.Context(), "sh", "-c", ask[string](p, `document.querySelector("dialog pre").textContent`))
			command.Env = []string{"MODEL_GATEWAY_KEY=" + key}
			if out, err := command.Output(); err != nil || !strings.Contains(string(out), "simulated") {
				t.Errorf("%s: %v %s", dialect, err, out)
			}
		}
		p.inspect("playground-code")
		p.click("Python")
		p.see("from anthropic import Anthropic")
	})
}

func TestModelIsFoundAndTried(t *testing.T) {
	t.Parallel()
	eachRoot(t, func(t *testing.T, p *page) {
		admin := p.Administrator(t)
		_, key := p.CreateKey(t, admin)
		p.visit("/models")
		if p.view == desktop { // the first: the gateway has no call yet
			p.see("A call: 2.00k input tokens, 0% of them cached, and 500 output tokens, since there was no call")
		}
		if a := p.Chat(t, `{"model":"claude-haiku-4-5-20251001","messages":[{"role":"user","content":"Hello"}]}`, "X-API-Key", key); a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		gatewaytest.Until(t, "the usage has the call", func() bool {
			return strings.Contains(p.Call(t, "GET", "/admin/usage?group_by=model", "", admin...).Body, "haiku")
		})
		p.visit("/models")
		p.see("gemini-2.5-flash-lite")
		p.see("the average of ")
		p.seeNot("gpt-3.5-turbo")
		p.click("All")
		p.see("gpt-3.5-turbo")
		p.inspect("models")
		row := func(column int) string {
			return ask[string](p, fmt.Sprintf(`document.querySelector("[data-key='claude-haiku-4-5-20251001']").children[%d].innerText`, column))
		}
		if !p.view.phone() {
			if released, name, keys := row(3), row(0), row(9); released != "15 Oct 2025" || !strings.Contains(name, "pictures, tools, reasoning, structured output") || keys == "–" {
				t.Errorf("the row has %q, %q, %q", released, name, keys)
			}
			p.click("Output") // by the price of output, the dearest first
			p.click("Output ↑")
			p.await("the order", func() bool {
				return ask[bool](p, `JSON.stringify(((all) => [all[0] > 50, all.filter((v) => v < 0.5).length > 0, all.every((v, i) => !i || !(v > all[i - 1]))])(
					[...document.querySelectorAll("tbody tr")].map((row) => parseFloat(row.children[7].innerText)))) === "[true,true,true]"`)
			})
			p.at("/models?show=all&sort=-output")
		}
		p.choose("Provider", "gemini")
		p.click("Tools")
		p.choose("Context window", "1M or more")
		p.choose("Price of input", "Input up to $0.25")
		p.see("gemini-2.5-flash-lite")
		p.seeNot("claude-haiku-4-5-20251001")
		p.seeNot("gemini-2.5-pro")
		p.seeNot("gemini-2.5-flash-image-preview")
		p.visit(ask[string](p, "location.pathname + location.search")) // which another can be given
		p.see("gemini-2.5-flash-lite")
		p.seeNot("gemini-2.5-pro")
		p.inspect("models-filtered")
		p.click("Clear filters")
		p.see("claude-haiku-4-5-20251001")
		p.fill("Find a model", "haiku anthropic")
		p.seeNot("gemini-2.5-flash-lite")
		p.click("Try claude-haiku-4-5-20251001 in the playground")
		p.at("/playground?model=claude-haiku-4-5-20251001")
		p.fill("Model A", "flash-lite")
		p.see("gemini-2.5-flash-lite")
		p.inspect("playground-models")
		p.press(kb.ArrowDown)
		p.press(kb.ArrowUp)
		p.press(kb.Enter)
		p.at("/playground?model=gemini-2.5-flash-lite")
		p.send("Hello", "Send")
		p.see(`You said: "Hello"`)
	})
}
