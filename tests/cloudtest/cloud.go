// Package cloudtest has stand-ins of the clouds that sell models: Amazon, Google and
// Microsoft. Each is one server with the log-in and the models of its cloud, which refuses
// what the cloud refuses, in the cloud's words where these are public. The models are those
// of a simulator.
package cloudtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/jsonbytes"
	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/wire"
)

// Fault is how a log-in fails.
type Fault int

// A log-in that refuses says that the credential is wrong; one that freezes takes the request
// and does not answer; a slow one answers after SlowFor.
const (
	Works Fault = iota
	Refuses
	Freezes
	Slow
)

// SlowFor is how long a slow log-in takes. Amazon's library gives the metadata of an instance half
// a second.
const SlowFor = 300 * time.Millisecond

// Call is a request that a cloud got.
type Call struct {
	Method string
	Path   string // as it came: encoded, with the query
	Body   string
	// Credential is the one that was accepted: an access key id, "bearer" or "key"; empty
	// where none was asked for, or the call was refused.
	Credential string
	Session    map[string]string // the tags of an assumed role
}

type callKey struct{} // of the *Call in the context of its request

// grant is a credential that has been issued.
type grant struct {
	secret, session string // of Amazon's
	audience        string // of Microsoft's
	expires         time.Time
	tags            map[string]string
}

func (g grant) expired() bool { return !g.expires.IsZero() && !time.Now().Before(g.expires) }

// Cloud is what the stand-ins have in common.
type Cloud struct {
	URL string

	models http.Handler
	ended  chan struct{} // closed with the test

	mu       sync.Mutex
	lifetime time.Duration
	fault    Fault
	asked    int
	calls    []*Call
	grants   map[string]grant
}

// start serves a cloud until the test ends.
func (c *Cloud) start(t testing.TB, models http.Handler, paths *http.ServeMux) {
	t.Helper()
	c.models, c.ended, c.lifetime, c.grants = models, make(chan struct{}), time.Hour, map[string]grant{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		call := &Call{Method: r.Method, Path: r.RequestURI, Body: string(body)}
		c.mu.Lock()
		c.calls = append(c.calls, call)
		c.mu.Unlock()
		paths.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callKey{}, call)))
	}))
	c.URL = server.URL
	t.Cleanup(func() {
		close(c.ended)
		server.CloseClientConnections()
		server.Close()
	})
}

// SetLifetime is how long the credentials are valid that are issued from now on; an hour at
// first.
func (c *Cloud) SetLifetime(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lifetime = d
}

// Fail makes the log-in fail, or work again.
func (c *Cloud) Fail(f Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault = f
}

// LogIns counts the requests for credentials, whether they were answered or not.
func (c *Cloud) LogIns() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked
}

// Calls are all requests, also those for credentials, in their order.
func (c *Cloud) Calls() []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]Call, len(c.calls))
	for i, call := range c.calls {
		all[i] = *call
		all[i].Session = maps.Clone(call.Session)
	}
	return all
}

// logIn serves requests for credentials, which fail as Fail says.
func (c *Cloud) logIn(refuse, serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		c.asked++
		fault := c.fault
		c.mu.Unlock()
		switch fault {
		case Refuses:
			refuse(w, r)
			return
		case Freezes:
			select {
			case <-r.Context().Done():
			case <-c.ended:
			}
			panic(http.ErrAbortHandler)
		case Slow:
			time.Sleep(SlowFor)
		}
		serve(w, r)
	}
}

// issue makes a credential with a random name, and returns it.
func (c *Cloud) issue(prefix string, g grant) (name string, issued grant, lifetime time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name, g.expires = prefix+rand.Text(), time.Now().Add(c.lifetime)
	c.grants[name] = g
	return name, g, c.lifetime
}

// granted is the credential of a name.
func (c *Cloud) granted(name string) (grant, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g, ok := c.grants[name]
	return g, ok
}

// accept notes whose call it is.
func (c *Cloud) accept(r *http.Request, credential string, tags map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if call, ok := r.Context().Value(callKey{}).(*Call); ok {
		call.Credential, call.Session = credential, tags
	}
}

// ask has the simulator answer in place of the cloud, at its own path and with the
// credential that it wants.
func (c *Cloud) ask(w http.ResponseWriter, r *http.Request, path string, body []byte, header http.Header) {
	again := r.Clone(r.Context())
	again.URL, again.RequestURI = &url.URL{Path: path, RawQuery: r.URL.RawQuery}, path
	again.Header, again.Body, again.ContentLength = header, io.NopCloser(bytes.NewReader(body)), int64(len(body))
	c.models.ServeHTTP(w, again)
}

// whole is the simulator's answer, which must not be a stream.
func (c *Cloud) whole(r *http.Request, path string, body []byte, header http.Header) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	c.ask(w, r, path, body, header)
	return w
}

// asAnthropic and asOpenAI are the headers that the simulator wants.
func asAnthropic(beta ...string) http.Header {
	h := http.Header{"X-Api-Key": {"simulated"}, "Anthropic-Version": {"2023-06-01"}, "Content-Type": {"application/json"}}
	if len(beta) > 0 {
		h["Anthropic-Beta"] = beta
	}
	return h
}

func asOpenAI() http.Header {
	return http.Header{"Authorization": {"Bearer simulated"}, "Content-Type": {"application/json"}}
}

// askOpenAI has the simulator answer in OpenAI's form for a model that it does not know.
func (c *Cloud) askOpenAI(w http.ResponseWriter, r *http.Request, path, model string) {
	members, ok := readObject(r)
	if !ok {
		wire.WriteJSON(w, http.StatusBadRequest, rawjson.Object{"error", rawjson.Object{"message", "invalid JSON", "code", "400"}})
		return
	}
	if model != "" {
		members["model"] = text(model)
	}
	c.ask(w, r, path, rawjson.Encode(members), asOpenAI())
}

// readBody is the body of a request, which can be read again.
func readBody(r *http.Request) []byte {
	body, _ := io.ReadAll(r.Body) // from memory
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body
}

// readObject is the body of a request by members.
func readObject(r *http.Request) (members map[string]jsontext.Value, ok bool) {
	err := json.Unmarshal(readBody(r), &members)
	return members, err == nil && members != nil
}

func text(s string) jsontext.Value { return jsonbytes.AppendString(nil, s) }

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
