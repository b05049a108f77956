package console

import (
	"fmt"
	"strings"
	"testing"

	"modelgateway/tests/gatewaytest"
)

// Home says first what needs a hand. A line that was dismissed stays away, but for that of open mode.
func TestHomeSaysWhatNeedsAHandAndHowTheLastHourWas(t *testing.T) {
	t.Parallel()
	eachView(t, func(t *testing.T, p *page) {
		login := fmt.Sprintf(`{"name":"Ada","email":"ada.%s@example.com","password":"correct horse battery"}`, p.view.name)
		p.Call(t, "POST", "/auth/register", login)
		in := p.Call(t, "POST", "/auth/login", strings.Replace(login, `"name":"Ada",`, "", 1))
		token := []string{"Authorization", "Bearer " + gatewaytest.Field(t, in, "token")}
		key := p.Call(t, "POST", "/auth/keys", `{"name":"eval"}`, token...)
		for i := range 3 {
			hello(t, p, gatewaytest.Field(t, key, "key"), fmt.Sprint(i))
		}
		var keys struct {
			Data []struct {
				Spend float64 `json:"spend_usd"`
			}
		}
		gatewaytest.Until(t, "the calls are booked", func() bool {
			p.Call(t, "GET", "/auth/keys", "", token...).JSON(t, &keys)
			return len(keys.Data) == 1 && keys.Data[0].Spend > 0 && strings.Contains(p.Call(t, "GET", "/v1/usage", "", token...).Body, `"calls":3`)
		})
		spent := fmt.Sprintf(`{"budget_usd":%g,"budget_window":"week"}`, keys.Data[0].Spend)
		p.Call(t, "PATCH", "/auth/keys/"+gatewaytest.Field(t, key, "id"), spent, token...)

		p.signIn("ada." + p.view.name + "@example.com")
		p.visit("/")
		p.see("eval has spent its budget")
		p.see("Anyone who reaches this address can use it")
		p.await("the calls of the last hour are not counted", func() bool {
			return ask[string](p, `document.querySelector(".kpis.four a b")?.textContent ?? ""`) == "3"
		})
		p.inspect("home-hands")
		for ask[int](p, `document.querySelectorAll(".hands button").length`) > 0 {
			ask[any](p, `document.querySelector(".hands button").click()`)
		}
		p.visit("/")
		p.see("Last hour")
		p.await("the last hour is not there", func() bool { return ask[bool](p, `!!document.querySelector(".kpis.four")`) })
		p.seeNot("eval has spent its budget")
		p.seeNot("The providers are simulated.")
		p.see("Anyone who reaches this address can use it")
	}, "REQUIRE_AUTH=false")
}
