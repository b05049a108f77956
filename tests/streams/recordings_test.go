package streams

import (
	"testing"

	"modelgateway/providers/providertest"
	"modelgateway/tests/gatewaytest"
)

// TestRecordingsThroughTheRunningGateway has upstreams send every recorded answer
// and compares what clients get with what is expected. The variable RECORDINGS
// names a folder of further recordings.
func TestRecordingsThroughTheRunningGateway(t *testing.T) {
	t.Parallel()
	u := providertest.Serve(t)
	settings := []string{"MAX_RETRIES=0"} // a Retry-After would be waited for
	models := map[string]string{}
	for _, f := range gatewaytest.Providers() {
		settings = append(settings, f.EnvPrefix+"_API_KEY=sk-x", f.EnvPrefix+"_BASE_URL="+u.URL)
		models[f.Name] = f.Model
	}
	p := gatewaytest.Start(t, settings...)
	recordings := providertest.Load(t, providertest.Dir())
	right := 0
	for _, rec := range recordings {
		t.Run(rec.File, func(t *testing.T) {
			u.Play(rec.Script())
			members := ""
			if rec.Stream {
				members = `,"stream":true,"stream_options":{"include_usage":true}`
			}
			a := p.Chat(t, `{"model":"`+models[rec.Provider]+`",`+gatewaytest.HiMessages+members+`}`)
			got := providertest.FromAnswer(a.Status, []byte(a.Body))
			if rec.Stream && a.Status == 200 {
				got = providertest.FromStream([]byte(a.Body))
			}
			if err := providertest.Compare(rec, got); err != nil {
				t.Errorf("%v\n%s", err, a.Body)
				return
			}
			right++
		})
	}
	t.Logf("%d of %d recordings are as expected, %d of them by argued exceptions", right, len(recordings), len(providertest.Deviations()))
}
