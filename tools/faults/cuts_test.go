package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"modelgateway/tests/longtest"
)

// dialects are the models' providers'.
var dialects = []dialect{openAI, anthropic, gemini}

// sizes are where the parts of a stream end, in bytes.
func (d dialect) sizes(s script) (pieces []int, complete, all int) {
	n := 0
	for event := range d.events(s) {
		all += len(event)
		switch text := n - len(d.head); {
		case text >= 0 && text < s.chunks:
			pieces = append(pieces, all)
		case text == s.chunks+d.needed-1:
			complete = all - (len(event) - len(strings.TrimRight(event, "\r\n")))
		}
		n++
	}
	return pieces, complete, all
}

// cutter cuts the upstream's answers for one model and compares what the client
// receives with what was sent.
type cutter struct {
	g       *gateway
	u       *upstream
	client  *http.Client
	model   string
	dialect dialect
	alone   int          // calls before each cut that are left alone: a provider of which too many fail would not be asked any more
	calls   atomic.Int64 // numbers the marks

	inside, after, refused atomic.Int64 // cuts before and behind the mark of the end; errors instead of streams
}

// TestACutStreamIsNeverShownAsComplete cuts upstream streams at random bytes,
// in every way in which a connection can end. What was sent completely before
// must arrive, once.
func TestACutStreamIsNeverShownAsComplete(t *testing.T) {
	t.Parallel()
	cutAll(t, "streams cut at random bytes and shown as complete", (*cutter).stream)
}

// TestACutAnswerIsNeverShownAsComplete cuts upstream answers.
func TestACutAnswerIsNeverShownAsComplete(t *testing.T) {
	t.Parallel()
	cutAll(t, "answers cut at random bytes and shown as complete", (*cutter).answer)
}

func cutAll(t *testing.T, promise string, cut func(c *cutter, random *rand.Rand) error) {
	u := startUpstream(t)
	g := startGateway(t, providersAt(u, "MAX_RETRIES=0")...)
	cuts := size(longtest.Size(20, 60), 500)
	for i, model := range models {
		t.Run(model, func(t *testing.T) {
			c := &cutter{g: g, u: u, client: newClient(t), model: model, dialect: dialects[i], alone: 2}
			wrong := c.run(t, cuts, cut)
			figure(t, promise, "%d of %d (%s; %d before the end mark, %d behind it; %d became an error status)",
				wrong, cuts, model, c.inside.Load(), c.after.Load(), c.refused.Load())
			if c.inside.Load() < int64(cuts)/2 {
				t.Errorf("only %d of %d cuts were before the end mark", c.inside.Load(), cuts)
			}
		})
	}
}

// run cuts with a few clients at once.
func (c *cutter) run(t *testing.T, cuts int, cut func(c *cutter, random *rand.Rand) error) (wrong int64) {
	t.Helper()
	const clients = 4
	var failures atomic.Int64
	var working sync.WaitGroup
	for client := range clients {
		working.Go(func() {
			random := rand.New(rand.NewPCG(uint64(client), 17))
			for i := client; i < cuts; i += clients {
				for good := range c.alone {
					mark := c.mark("good")
					if s := chat(t.Context(), c.client, c.g.url, chatRequest(c.model, "mark="+mark, good%2 == 0)); !s.whole(wholeText(mark, 3)) {
						t.Errorf("left alone: %s", s)
					}
				}
				if err := cut(c, random); err != nil {
					failures.Add(1)
					t.Error(err)
				}
			}
		})
	}
	working.Wait()
	return failures.Load()
}

// mark returns a new mark, with characters that a cut may split: what JSON
// escapes, and what takes two, three and four bytes in UTF-8.
func (c *cutter) mark(kind string) string {
	return fmt.Sprintf(`é☕🎉"\%s:%s%d`, c.model, kind, c.calls.Add(1))
}

// chooseCut returns a script that cuts at a random byte before limit: half of
// them anywhere, the others around the ends of pieces and after the last one.
func (c *cutter) chooseCut(s script, pieces []int, limit int, random *rand.Rand) (script, string) {
	s.cut = random.IntN(limit)
	switch last := pieces[len(pieces)-1]; random.IntN(4) {
	case 0:
		s.cut = min(pieces[random.IntN(len(pieces))]+random.IntN(9)-4, limit-1)
	case 1:
		s.cut = min(last+random.IntN(limit-last+1), limit-1)
	}
	s.frame = []string{"", frameClose, frameEnded}[random.IntN(3)]
	words := fmt.Sprintf("mark=%s chunks=%d cut=%d", s.mark, s.chunks, s.cut)
	if s.frame != "" {
		words += " frame=" + s.frame
	}
	if random.IntN(2) == 0 {
		words += " reset"
	}
	if random.IntN(2) == 0 {
		words += " every=500us"
	}
	return s, words
}

func (c *cutter) stream(random *rand.Rand) error {
	s := script{mark: c.mark("cut"), chunks: 1 + random.IntN(16)}
	pieces, complete, all := c.dialect.sizes(s)
	s, words := c.chooseCut(s, pieces, all+1, random)
	got := chat(context.Background(), c.client, c.g.url, chatRequest(c.model, words, true))
	if c.u.begun(s.mark) != 1 {
		return fmt.Errorf("%s: %d calls reached the upstream: %s", words, c.u.begun(s.mark), got)
	}
	sent := 0
	for sent < len(pieces) && pieces[sent] <= s.cut {
		sent++
	}
	if least := wholeText(s.mark, sent); !strings.HasPrefix(got.text, least) || !strings.HasPrefix(s.text(), got.text) {
		return fmt.Errorf("%s: %d pieces were sent whole: %s", words, sent, got)
	}
	if s.cut >= complete {
		c.after.Add(1)
		if got.whole(s.text()) {
			return nil
		}
	} else {
		c.inside.Add(1)
	}
	return c.broken(words, got)
}

// broken returns what is wrong with the client's view of a broken stream.
func (c *cutter) broken(words string, got chatResult) error {
	switch {
	case got.status == http.StatusOK && !got.done && got.finish == "" && got.fault != "" && got.err != nil:
		return nil
	case got.status >= http.StatusInternalServerError && got.err == nil && code(got.body) == "provider_error":
		c.refused.Add(1)
		return nil
	}
	return fmt.Errorf("%s: shown as %s", words, got)
}

func (c *cutter) answer(random *rand.Rand) error {
	s := script{mark: c.mark("cut"), chunks: 1 + random.IntN(16)}
	size := len(c.dialect.answer(s.text()))
	s, words := c.chooseCut(s, []int{size / 2}, size, random)
	got := chat(context.Background(), c.client, c.g.url, chatRequest(c.model, words, false))
	if c.u.begun(s.mark) != 1 {
		return fmt.Errorf("%s: %d calls reached the upstream: %s", words, c.u.begun(s.mark), got)
	}
	c.inside.Add(1)
	if got.status == http.StatusOK {
		return fmt.Errorf("%s: shown as %s", words, got)
	}
	return c.broken(words, got)
}

// code is what an error says.
func code(body string) string {
	var fields struct{ Error struct{ Code string } }
	if json.Unmarshal([]byte(body), &fields) != nil {
		return ""
	}
	return fields.Error.Code
}

// TestConnectionsThatAnUpstreamClosesBetweenCalls has the upstream close every
// connection after a whole answer without notice: a call that the gateway has
// begun on it has to be made on another connection, with a body of one write
// and of several.
func TestConnectionsThatAnUpstreamClosesBetweenCalls(t *testing.T) {
	t.Parallel()
	u := startUpstream(t)
	g := startGateway(t, providersAt(u, "MAX_RETRIES=0")...)
	calls := size(200, 2000)
	long := `"messages":[{"role":"system","content":"` + strings.Repeat("x", 20_000) + `"},`
	for i, model := range models {
		c := &cutter{g: g, u: u, client: newClient(t), model: model, dialect: dialects[i]}
		lost := c.run(t, calls, func(c *cutter, random *rand.Rand) error {
			mark := c.mark("whole")
			body := chatRequest(model, "mark="+mark+" frame=ended cut=1000000", random.IntN(2) == 0)
			if random.IntN(2) == 0 {
				body = strings.Replace(body, `"messages":[`, long, 1)
			}
			if s := chat(t.Context(), c.client, g.url, body); !s.whole(wholeText(mark, 3)) {
				return fmt.Errorf("a call of %d bytes: %s", len(body), s)
			}
			return nil
		})
		figure(t, "calls lost to connections that an upstream closes between calls", "%d of %d (%s)", lost, calls, model)
	}
}
