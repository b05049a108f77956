package all_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/dialects/chat"
	"modelgateway/dialects/messages"
	"modelgateway/dialects/responses"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/all"
	"modelgateway/providers/providertest"
)

// client is a dialect with its vendor's SDK, which makes the plainest request to
// a gateway for a model and says what it read.
type client struct {
	dialect *api.Dialect
	ask     func(t *testing.T, gateway, model string, stream bool) providertest.Outcome
	can     func(providertest.Recording) providertest.Recording // what of a recording the dialect can say; nil: all
}

// clients has one for each folder of api with a dialect.
func clients() map[string]client {
	return map[string]client{
		"chat":      {chat.Dialect(), askChat, nil},
		"messages":  {messages.Dialect(), askMessages, ofMessages},
		"responses": {responses.Dialect(), askResponses, ofResponses},
	}
}

// Every provider's recorded answers and streams are written in every dialect and
// read by that dialect's SDK.
func TestEveryDialectsSDKReadsTheRecordingsOfEveryProvider(t *testing.T) {
	models := providertest.Catalog(t)
	dialects, folders := clients(), providerFolders(t)
	for _, d := range all.Drivers() {
		recordings := recordingsOf(t, folders[d.Name])
		for name, c := range dialects {
			t.Run(d.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				up := providertest.Serve(t)
				provider := d.New(providers.Options{
					Name: d.Name, BaseURL: up.URL, Now: time.Now, HeaderTimeout: 10 * time.Second, IdleTimeout: 10 * time.Second,
					Server: providers.Server{ChatOnly: true}, // OpenAI's recordings here are of chat completions
				})
				// A provider that speaks the dialect sends on what came, also what no SDK reads; for chat it is repaired.
				if speaks := provider.Abilities().Speaks; name == "chat" || speaks == nil || !speaks(llm.Dialect(name), nil) {
					play(t, up, c, recordings, &server{dialect: c.dialect, models: models, name: d.Name, provider: provider})
				}
				// Also where the provider translates, which one that speaks the dialect does not do otherwise.
				play(t, up, c, recordings, &server{
					dialect: c.dialect, models: models, name: d.Name, provider: providertest.OnlyForeign(provider),
				})
			})
		}
	}
}

// play lets a client ask a gateway for each recording.
func play(t *testing.T, up *providertest.Upstream, c client, recordings []providertest.Recording, s *server) {
	t.Helper()
	gateway := httptest.NewServer(s)
	defer gateway.Close()
	for _, rec := range recordings {
		up.Play(rec.Script())
		if c.can != nil {
			rec = c.can(rec)
		}
		if err := providertest.Compare(rec, c.ask(t, gateway.URL, rec.ModelID(), rec.Stream)); err != nil {
			t.Errorf("%T: %s: %v", s.provider, rec.File, err)
		}
	}
	t.Logf("%T: %d recordings", s.provider, len(recordings))
}

func TestEveryProviderAndDialectHasAnEntry(t *testing.T) {
	var drivers, folders []string
	for _, d := range all.Drivers() {
		drivers = append(drivers, d.Name)
	}
	for name := range providerFolders(t) {
		folders = append(folders, name)
	}
	same(t, "folders of providers with a Driver", folders, "all.Drivers", drivers)
	same(t, "all.Drivers", drivers, "providers with rules in catalogue.yaml", catalog.Providers())
	dialects := []string{"embeddings"} // has no conversations: providers/openai and providers/gemini play its recordings
	for name := range clients() {
		dialects = append(dialects, name)
	}
	same(t, "folders of dialects with a Dialect", dialectFolders(t), "clients of this test", dialects)
}

func same(t *testing.T, one string, a []string, other string, b []string) {
	t.Helper()
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	if !slices.Equal(a, b) {
		t.Errorf("%s: %q, but %s: %q", one, a, other, b)
	}
}

// recordingsOf are those of the provider in a folder or, where the folder uses
// the package of another provider, of that provider.
func recordingsOf(t *testing.T, f folder) []providertest.Recording {
	t.Helper()
	streams, answers := 0, 0
	var mine []providertest.Recording
	for _, dir := range slices.Compact([]string{providertest.Own(), providertest.Dir()}) {
		for _, rec := range providertest.Load(t, dir) {
			if rec.Provider != f.speaks {
				continue
			}
			if rec.Stream {
				streams++
			} else {
				answers++
			}
			mine = append(mine, rec)
		}
	}
	if streams == 0 || answers == 0 {
		t.Fatalf("%s has %d recorded streams and %d recorded answers", f.speaks, streams, answers)
	}
	return mine
}

// server is a gateway of one provider and one dialect, without anything else.
type server struct {
	dialect  *api.Dialect
	models   *catalog.Catalog
	name     string
	provider providers.Provider
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := s.answer(w, r); err != nil {
		e := api.AsError(err)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(e.Status)
		_, _ = w.Write(s.dialect.AppendError(nil, e))
	}
}

func (s *server) answer(w http.ResponseWriter, r *http.Request) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	req, err := s.dialect.Decode(&api.Incoming{Body: body})
	if err != nil {
		return err
	}
	x, err := s.provider.Prepare(providers.Call{Request: req, Model: s.models.Derive(s.name, req.Model)})
	if err != nil {
		return err
	}
	stream, err := x.Open(r.Context(), "sk-test")
	if err != nil {
		return err
	}
	if req.Stream {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write(s.events(req, stream))
		return nil
	}
	answer, err := llm.Collect(stream)
	if err != nil {
		return err
	}
	text, err := s.dialect.AppendAnswer(nil, req, answer)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text)
	return nil
}

// events is the body of a stream.
func (s *server) events(req *llm.Request, stream llm.Stream) (body []byte) {
	out := s.dialect.NewWriter(req, nil)
	for e, err := range stream {
		if err == nil && e == nil {
			continue // a pause
		}
		if err == nil {
			body, err = out.Append(body, e)
		}
		if err != nil {
			return out.Fail(body, api.AsError(err))
		}
	}
	return out.Done(body)
}
