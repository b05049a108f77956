package storage

import (
	"strings"
	"testing"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

// A provider that does not answer at a start, or lists nothing, must not make models
// vanish.
func TestDiscoveredModelsOutliveARestart(t *testing.T) {
	gatewaytest.EachStorage(t, func(t *testing.T, storage []string) {
		lists := func(ids ...string) providertest.Script {
			return gatewaytest.JSON(200, `{"object":"list","data":[{"id":"`+strings.Join(ids, `","created":9},{"id":"`)+`","created":9}]}`)
		}
		u := providertest.Serve(t, lists("our-own-1", "our-own-2"))
		settings := append(storage, "OPENAI_API_KEY=sk-x", "OPENAI_BASE_URL="+u.URL, "MODEL_DISCOVERY=true")
		has := func(p *gatewaytest.Program, id string) bool {
			return strings.Contains(p.Get(t, "/v1/models").Body, `"id":"`+id+`"`)
		}
		start := func() *gatewaytest.Program {
			t.Helper()
			p := gatewaytest.Start(t, settings...)
			gatewaytest.Until(t, "the model is listed", func() bool { return has(p, "our-own-1") && has(p, "our-own-2") })
			return p
		}
		stop := func(p *gatewaytest.Program) {
			t.Helper()
			if err := p.Stop(); err != nil {
				t.Fatal(err)
			}
		}
		stop(start())

		down := gatewaytest.JSON(503, `{"error":{"message":"overloaded"}}`)
		u.Play(down)
		p := start()
		if !strings.Contains(p.Log.String(), "models of the last discovery restored") {
			t.Error("the log does not say where the models are from")
		}
		u.Play(lists("our-own-2", "our-own-3")) // it answers again: within seconds, not in an hour
		gatewaytest.Until(t, "the models are listed again", func() bool { return has(p, "our-own-3") && !has(p, "our-own-1") })
		stop(p)

		u.Play(gatewaytest.JSON(200, `{"object":"list","data":[]}`))
		p = gatewaytest.Start(t, settings...)
		gatewaytest.Until(t, "the models of the last list are listed", func() bool { return has(p, "our-own-2") && has(p, "our-own-3") })
	})
}
