package limits

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"modelgateway/api"
	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

// A list of elements of two bytes, which take hundreds in memory each, is refused
// before it is decoded.
func TestRequestThatWouldTakeTooMuchMemoryIsRefused(t *testing.T) {
	const most = 8 << 20
	f := gatewaytest.Providers()[0]
	u := providertest.Serve(t, gatewaytest.JSON(200, f.Answer("fine")))
	p := gatewaytest.Start(
		t, "OPENAI_API_KEY=sk-x", "OPENAI_BASE_URL="+u.URL, fmt.Sprint("MAX_REQUEST_BYTES=", most/2), fmt.Sprint("MAX_IN_FLIGHT_BYTES=", most),
	)
	many := func(element string, size int) string {
		return strings.Repeat(element+",", size/len(element)-1) + element
	}
	for name, body := range map[string]string{
		"messages":        `{"model":"` + f.Model + `","messages":[` + many(`{}`, 3<<20) + `]}`,
		"unknown members": f.Request(`,"x":[` + many(`{}`, 2<<20) + `]`),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		a := p.Chat(t, body)
		runtime.ReadMemStats(&after)
		if e := a.APIError(t); a.Status != 413 || e.Code != api.CodeRequestTooLarge || a.Header.Get("X-Should-Retry") != "false" {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
		// The body and the buffers that it outgrew, here and in the client of the test.
		if took := int(after.TotalAlloc - before.TotalAlloc); took > 6*len(body) {
			t.Errorf("%s: %d KiB were allocated for %d", name, took>>10, len(body)>>10)
		}
	}
	if a := p.Chat(t, f.Request(`,"user":"`+strings.Repeat("u", most/2-1000)+`"`)); a.Status != 200 {
		t.Errorf("a long text: %d %s", a.Status, a.Body)
	}
	awaitInFlight(t, p, 0, none)
}
