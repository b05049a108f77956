package console

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"modelgateway/tests/gatewaytest"
)

func TestPagesFillTheWidestWindow(t *testing.T) {
	t.Parallel()
	p := onDesktop(t)
	called(t, p, 3)
	p.look(view{name: "wide", width: 2560})
	for _, tt := range []struct{ path, shows string }{
		{"/", "Base URL"}, {"/keys", "Create key"}, {"/usage?range=24h", "Time to first token"}, {"/calls", "claude-haiku-4-5"},
		{"/playground", "Send"}, {"/models", "claude-haiku-4-5"}, {"/users", root}, {"/teams", "Create team"}, {"/providers", "anthropic"},
		{"/statement", "Total"}, {"/audit", "Audit log"}, {"/settings", "REQUIRE_AUTH"}, {"/account", root},
	} {
		p.visit(tt.path)
		p.see(tt.shows)
		name, _, _ := strings.Cut(strings.TrimPrefix(tt.path, "/"), "?")
		p.inspect(cmp.Or(name, "home"))
	}
}

// The names of models, keys, people and providers are as long as they can be.
func TestCallsStayInTheirCardAtEveryWidth(t *testing.T) {
	t.Parallel()
	database := "sqlite:" + t.TempDir() + "/gateway.db"
	p := onDesktop(t, "DATABASE_URL="+database)
	called(t, p, 9)
	db, long := gatewaytest.OpenSQL(t, database), strings.Repeat("claude-sonnet-4-5-20250929", 4)
	gatewaytest.Execute(t, db, "UPDATE ledger_names SET text = ? WHERE n IN (SELECT served_n FROM ledger)", long)
	gatewaytest.Execute(t, db, "INSERT INTO ledger_names (owner, text) VALUES ('', 'stopped'), ('', ?), ('', ?)", "anthropic/"+long, "p"+long)
	gatewaytest.Execute(t, db, `UPDATE ledger SET model_n = (SELECT n FROM ledger_names WHERE text = ?),
		provider_n = (SELECT n FROM ledger_names WHERE text = ?), input_tokens = 1999999, output_tokens = 128000, cost = 1234567890,
		flags = flags | 4`, "anthropic/"+long, "p"+long)
	gatewaytest.Execute(t, db, "UPDATE ledger SET outcome_n = (SELECT n FROM ledger_names WHERE text = 'stopped'), status = 503 "+
		"WHERE id = (SELECT min(id) FROM ledger)")
	gatewaytest.Execute(t, db, "UPDATE api_keys SET name = ?", long)
	gatewaytest.Execute(t, db, "UPDATE users SET email = ?", long+"@example.com")
	p.visit("/calls")
	p.see("Gateway stopped")
	shown := map[int64]bool{360: true, 390: true, 768: true, 1024: true, 1200: true, 1280: true, 1366: true, 1600: true, 2560: true}
	for width := int64(360); width <= 2560; width += 8 {
		p.look(view{name: fmt.Sprint(width), width: width})
		if out := ask[string](p, fmt.Sprintf(`(() => {
			const card = document.querySelector(".card.list").getBoundingClientRect(), wide = document.documentElement.scrollWidth;
			if (wide > %d) return "the page is of " + wide + " px";
			return [...document.querySelectorAll(".card.list table, .card.list td, .card.list th")]
				.filter((e) => e.checkVisibility() &&
					(e.getBoundingClientRect().right > card.right + 1 || (e.tagName === "TD" && e.scrollWidth > e.clientWidth + 1)))
				.map((e) => e.tagName + "." + e.className + " is too wide").join(", ");
		})()`, width)); out != "" {
			t.Errorf("at %d px: %s", width, out)
		}
		if shown[width] {
			if user := ask[bool](p, `document.querySelector("td.c-u").checkVisibility()`); user != (width >= 1200) {
				t.Errorf("at %d px: the user is shown: %t", width, user)
			}
			p.shoot("calls-long")
		}
	}
}

func TestToastIsAtTheBottomInTheMiddle(t *testing.T) {
	t.Parallel()
	eachRoot(t, func(t *testing.T, p *page) {
		p.visit("/")
		p.see("Base URL")
		ask[any](p, `document.querySelector(".url button").click()`) // whose icon is all that it shows
		p.await("there is no toast", func() bool { return ask[bool](p, `!!document.querySelector(".toast")`) })
		p.shoot("toast")
		if off := ask[string](p, `(() => {
			const at = document.querySelector(".toast").getBoundingClientRect();
			const { clientWidth: wide, clientHeight: high } = document.documentElement;
			const aside = (at.left + at.right - wide) / 2, below = high - at.bottom;
			return Math.abs(aside) <= 1 && below > 8 && below < 40 ? "" : aside + " px from the middle, " + below + " px from the bottom";
		})()`); off != "" {
			t.Errorf("%s: %s", p.view.name, off)
		}
	})
}
