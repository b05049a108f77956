package promptcache

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/servertest"
)

// session is a recorded request of an agent, from which the calls of its session follow.
type session struct {
	path, header string
	body         map[string]any
	list         string // the member with the messages
}

func recorded(t *testing.T, file, path, header string) *session {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var capture struct{ Body map[string]any }
	if err := json.Unmarshal(text, &capture); err != nil {
		t.Fatal(err)
	}
	s := &session{path: path, header: header, body: capture.Body, list: "messages"}
	if path == "/v1/responses" {
		s.list = "input"
	}
	delete(s.body, "stream")
	delete(s.body, "previous_response_id")
	return s
}

func claudeCode(t *testing.T) *session {
	t.Helper()
	return recorded(t, "../messages/testdata/agents/claude-code-haiku-mid-system.json", "/v1/messages", "X-Claude-Code-Session-Id")
}

func codex(t *testing.T) *session {
	t.Helper()
	return recorded(t, "../responses/testdata/agents/codex-gpt55.json", "/v1/responses", "Session_id")
}

// call is the request with the first n messages, after an edit. The last message has a cache mark,
// as agents write it, and the others have none.
func (s *session) call(t *testing.T, n int, edit func(body map[string]any, messages []any)) string {
	t.Helper()
	text, _ := json.Marshal(s.body)
	var body map[string]any
	_ = json.Unmarshal(text, &body)
	messages := body[s.list].([]any)[:n]
	if s.list == "messages" {
		for i, m := range messages {
			content, isList := m.(map[string]any)["content"].([]any)
			if !isList {
				continue
			}
			last := content[len(content)-1].(map[string]any)
			delete(last, "cache_control")
			if i == n-1 {
				last["cache_control"] = map[string]any{"type": "ephemeral"}
			}
		}
	}
	if edit != nil {
		edit(body, messages)
	}
	body[s.list] = messages
	// A mark is the last member of a block, as every client writes it: Go sorts members.
	var out bytes.Buffer
	if err := write(&out, body); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// write writes JSON whose cache marks are the last members.
func write(out *bytes.Buffer, value any) error {
	switch v := value.(type) {
	case []any:
		out.WriteByte('[')
		for i, element := range v {
			if i > 0 {
				out.WriteByte(',')
			}
			if err := write(out, element); err != nil {
				return err
			}
		}
		out.WriteByte(']')
	case map[string]any:
		var names []string
		for name := range v {
			names = append(names, name)
		}
		rank := func(name string) string {
			return map[string]string{"role": "0", "type": "1", "cache_control": "~"}[name] + name
		}
		slices.SortFunc(names, func(a, b string) int { return strings.Compare(rank(a), rank(b)) })
		out.WriteByte('{')
		for i, name := range names {
			if i > 0 {
				out.WriteByte(',')
			}
			fmt.Fprintf(out, "%q:", name)
			if err := write(out, v[name]); err != nil {
				return err
			}
		}
		out.WriteByte('}')
	default:
		text, err := json.Marshal(v)
		if err != nil {
			return err
		}
		out.Write(text)
	}
	return nil
}

// verdict is what a call shows of the provider's cache.
type verdict struct {
	Verdict      string
	Part, Role   *string
	Message      *int
	PrefixKept   float64 `json:"prefix_kept"`
	MissedTokens int64   `json:"missed_tokens"`
	CostUSD      float64 `json:"cost_usd"`
}

func (v *verdict) String() string {
	if v == nil {
		return "unknown"
	}
	text := v.Verdict
	if v.Part != nil && *v.Part != "message" {
		text += " " + *v.Part
	}
	if v.Message != nil {
		text += fmt.Sprint(" ", *v.Message)
	}
	if v.Role != nil {
		text += " " + *v.Role
	}
	return text
}

// caller makes calls of sessions, and reads what the ledger says of them.
type caller struct {
	t    *testing.T
	as   []string
	made int
}

// ask makes a call of a session on a replica, and returns what its cache had.
func (c *caller) ask(p *gatewaytest.Program, s *session, name, body string, headers ...string) *verdict {
	c.t.Helper()
	c.made++
	id := fmt.Sprintf("%s-%d", strings.ReplaceAll(c.t.Name(), "/", "-")[max(0, len(c.t.Name())-60):], c.made)
	a := p.Call(c.t, "POST", s.path, body, slices.Concat(c.as, headers, []string{s.header, name, "X-Request-Id", id})...)
	if a.Status != 200 {
		c.t.Fatalf("%d %s", a.Status, a.Body)
	}
	var list struct{ Data []struct{ ID string } }
	gatewaytest.Until(c.t, "the call is in the ledger", func() bool {
		p.Call(c.t, "GET", "/v1/calls?request_id="+id, "", c.as...).JSON(c.t, &list)
		return len(list.Data) == 1
	})
	var one struct{ Cache *verdict }
	p.Call(c.t, "GET", "/v1/calls/"+list.Data[0].ID, "", c.as...).JSON(c.t, &one)
	return one.Cache
}

func settings(t *testing.T, u *caching, more ...string) []string {
	t.Helper()
	return append([]string{
		gatewaytest.JWTSecret, "ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL=" + u.URL, "OPENAI_API_KEY=k", "OPENAI_BASE_URL=" + u.URL,
		"RATE_LIMIT_RPM=100000", "MAX_RETRIES=0",
	}, more...)
}

// plants are edits of a session, and what they are called.
type plant struct {
	name string
	edit func(body map[string]any, messages []any)
	want string
}

func described(body map[string]any, _ []any) {
	tool := body["tools"].([]any)[1].(map[string]any)
	tool["description"] = fmt.Sprint(tool["description"], " It is quick.")
}

func swapped(a, b int) func(map[string]any, []any) {
	return func(_ map[string]any, messages []any) { messages[a], messages[b] = messages[b], messages[a] }
}

// reworded changes the text in a message.
func reworded(i int, member string) func(map[string]any, []any) {
	return func(_ map[string]any, messages []any) {
		m := messages[i].(map[string]any)
		if list, ok := m[member].([]any); ok {
			block := list[0].(map[string]any)
			for _, name := range []string{"text", "content", "input_text", "thinking"} {
				if block[name] != nil {
					block[name] = fmt.Sprint(block[name], " And so on.")
					return
				}
			}
		}
		m[member] = fmt.Sprint(m[member], " And so on.")
	}
}

func claudeCodePlants() []plant {
	system := func(i int) func(map[string]any, []any) {
		return func(body map[string]any, _ []any) {
			block := body["system"].([]any)[i].(map[string]any)
			block["text"] = fmt.Sprint(block["text"], "x")
		}
	}
	return []plant{
		{"nothing", nil, "complete"},
		{"the billing line", system(0), "complete"},
		{"a tool's description", described, "tools_changed tools"},
		{"the instructions", system(2), "system_changed system"},
		{"the first message", reworded(0, "content"), "message_changed 0 user"},
		{"an answer", reworded(2, "content"), "message_changed 2 assistant"},
		{"a result of a tool", reworded(3, "content"), "message_changed 3 user"},
		{"the order of messages", swapped(2, 5), "message_changed 2 assistant"},
	}
}

func codexPlants() []plant {
	return []plant{
		{"nothing", nil, "complete"},
		{"a tool's description", described, "tools_changed tools"},
		{"the instructions", reworded(0, "content"), "system_changed 0 developer"},
		{"a message", reworded(2, "content"), "message_changed 2 user"},
		{"a result of a tool", reworded(7, "output"), "message_changed 7 custom_tool_call_output"},
		{"the order of messages", swapped(2, 3), "message_changed 2 user"},
	}
}

func TestAMissNamesThePartThatChanged(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, storage []string) {
		u := startCaching(t)
		p := gatewaytest.Start(t, settings(t, u, storage...)...)
		c := &caller{t: t, as: p.Login(t)}
		for _, tt := range []struct {
			agent  string
			of     *session
			first  int // messages of the first call
			plants []plant
		}{{"claude", claudeCode(t), 6, claudeCodePlants()}, {"codex", codex(t), 8, codexPlants()}} {
			for i, plant := range tt.plants {
				u.forget()
				name := fmt.Sprint(tt.agent, i)
				if got := c.ask(p, tt.of, name, tt.of.call(t, tt.first, nil)); got.String() != "unknown" {
					t.Errorf("%s: the first call is %s", name, got)
				}
				got := c.ask(p, tt.of, name, tt.of.call(t, len(tt.of.body[tt.of.list].([]any)), plant.edit))
				if got.String() != plant.want {
					t.Errorf("%s, %s: %s, want %s", tt.agent, plant.name, got, plant.want)
				}
				if missed := plant.want != "complete"; got != nil && (missed != (got.CostUSD > 0) || missed != (got.MissedTokens > 0) || missed != (got.PrefixKept < 1)) {
					t.Errorf("%s, %s: %+v", tt.agent, plant.name, got)
				}
			}
		}
	})
}

func TestAMissWithoutAChangeIsTheProviders(t *testing.T) {
	t.Parallel()
	u, s := startCaching(t), claudeCode(t)
	p := gatewaytest.Start(t, settings(t, u, "FALLBACKS=claude-haiku-5-5=claude-sonnet-5-5")...)
	c := &caller{t: t, as: p.Login(t)}
	c.ask(p, s, "a", s.call(t, 6, nil))
	u.forget()
	got := c.ask(p, s, "a", s.call(t, 8, nil))
	if got.String() != "not_returned" || got.PrefixKept != 0 {
		t.Errorf("%+v", got)
	}
	u.fail("claude-haiku-5-5")
	if got := c.ask(p, s, "a", s.call(t, 8, nil)); got.String() != "moved_upstream" {
		t.Errorf("by another model: %s", got)
	}
	// An agent of the session, and another session, have nothing in common with it.
	u.fail("")
	sub := c.ask(p, s, "a", s.call(t, 8, described), "X-Claude-Code-Agent-Id", "sub")
	if other := c.ask(p, s, "b", s.call(t, 8, described)); sub.String()+other.String() != "unknownunknown" {
		t.Errorf("an agent: %s, another session: %s", sub, other)
	}
}

// A format of the answer that Anthropic cannot enforce becomes one more tool: the client's own
// prompt is the same, that of the provider is another one.
func TestAChangeByTheTranslationIsNamed(t *testing.T) {
	t.Parallel()
	u := startCaching(t)
	p := gatewaytest.Start(t, settings(t, u)...)
	c := &caller{t: t, as: p.Login(t)}
	s := &session{path: "/v1/chat/completions", header: "X-Session-Id"}
	body := func(members, more string) string {
		return `{"model":"claude-opus-4-1",` + members + `"messages":[{"role":"system","content":"` + strings.Repeat("Be brief. ", 300) +
			`"},{"role":"user","content":"Hi"}` + more + `]}`
	}
	const schema = `"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"object",` +
		`"additionalProperties":{"type":"string"}}}},`
	const more = `,{"role":"assistant","content":"Hi."},{"role":"user","content":"Go on"}`
	marked := `"cache_control":{"type":"ephemeral"},`
	c.ask(p, s, "a", body(marked, ""))
	if got := c.ask(p, s, "a", body(marked, more)); got.String() != "complete" {
		t.Errorf("without a change: %s", got)
	}
	if got := c.ask(p, s, "a", body(marked+schema, more)); got.String() != "translation_changed tools" {
		t.Errorf("with another format: %s", got)
	}
}

func TestReplicasCompareACallOfEachOtherThroughRedisOnly(t *testing.T) {
	t.Parallel()
	for name, redis := range map[string]string{"with": "REDIS_URL=" + servertest.StartRedis(t).URL, "without": ""} {
		t.Run(name, func(t *testing.T) {
			u, s := startCaching(t), claudeCode(t)
			all := settings(t, u, "DATABASE_URL="+servertest.Postgres(t), redis)
			one, two := gatewaytest.Start(t, all...), gatewaytest.Start(t, all...)
			c := &caller{t: t, as: one.Login(t)}
			u.wait = 100 * time.Millisecond // a look-up is done beside the call
			turns := 0
			turn := func() (there, back *verdict) {
				turns++
				session := fmt.Sprint("s", turns)
				u.forget()
				c.ask(one, s, session, s.call(t, 6, nil))
				there = c.ask(two, s, session, s.call(t, 8, reworded(2, "content")))
				return there, c.ask(one, s, session, s.call(t, 8, reworded(2, "content")))
			}
			if name == "without" {
				if there, back := turn(); there != nil || back.String() != "complete" {
					t.Errorf("%s, and back on the first one %s", there, back)
				}
				return
			}
			gatewaytest.Until(t, "Redis answers before the call ends", func() bool {
				there, back := turn()
				if there != nil && there.String() != "message_changed 2 assistant" || back != nil && back.String() == "not_returned" {
					t.Errorf("%s, and back on the first one %s", there, back)
				}
				return there != nil && back != nil && back.Verdict == "complete"
			})
		})
	}
}

func TestSessionsSumWhatTheirMissesCost(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, storage []string) {
		u, s := startCaching(t), claudeCode(t)
		p := gatewaytest.Start(t, settings(t, u, storage...)...)
		c := &caller{t: t, as: p.Login(t)}
		c.ask(p, s, "good", s.call(t, 6, nil))
		c.ask(p, s, "good", s.call(t, 8, nil))
		c.ask(p, s, "bad", s.call(t, 6, nil))
		first := c.ask(p, s, "bad", s.call(t, 7, described))
		second := c.ask(p, s, "bad", s.call(t, 8, func(b map[string]any, m []any) { described(b, m); described(b, m) }))
		type part struct {
			Name         string
			ID           string
			Misses       int     `json:"cache_misses"`
			MissedTokens int64   `json:"cache_missed_tokens"`
			CostUSD      float64 `json:"cache_miss_cost_usd"`
			Agents       []part
		}
		var list struct{ Data []part }
		p.Call(t, "GET", "/v1/sessions", "", c.as...).JSON(t, &list)
		cost := fmt.Sprintf("%.6f", first.CostUSD+second.CostUSD)
		bad, good := list.Data[0], list.Data[1]
		if good.Misses != 0 || good.CostUSD != 0 || bad.Misses != 2 || bad.MissedTokens != first.MissedTokens+second.MissedTokens ||
			fmt.Sprintf("%.6f", bad.CostUSD) != cost {
			t.Errorf("%+v, %+v; %+v and %+v", good, bad, first, second)
		}
		var one part
		p.Call(t, "GET", "/v1/sessions/"+bad.ID, "", c.as...).JSON(t, &one)
		if one.Misses != 2 || one.CostUSD != bad.CostUSD || len(one.Agents) != 1 || one.Agents[0].CostUSD != bad.CostUSD {
			t.Errorf("%+v", one)
		}
		for _, query := range []string{"?group_by=agent", "?group_by=agent&previous=true", "?group_by=key,model"} {
			var usage struct{ Total part }
			gatewaytest.Until(t, "usage has the misses", func() bool {
				p.Call(t, "GET", "/v1/usage"+query, "", c.as...).JSON(t, &usage)
				return usage.Total.Misses == 2
			})
			if usage.Total.CostUSD != bad.CostUSD {
				t.Errorf("%s: %+v, not %+v", query, usage.Total, bad)
			}
		}
		for query, want := range map[string]int{"any": 2, "tools_changed": 2, "expired": 0, "complete": 1} {
			var calls struct{ Data []any }
			p.Call(t, "GET", "/v1/calls?cache_miss="+query, "", c.as...).JSON(t, &calls)
			var sessions struct{ Data []part }
			p.Call(t, "GET", "/v1/sessions?cache_miss="+query, "", c.as...).JSON(t, &sessions)
			if len(calls.Data) != want || (len(sessions.Data) > 0) != (want > 0) {
				t.Errorf("%s: %d calls, %+v", query, len(calls.Data), sessions.Data)
			}
		}
		if a := p.Call(t, "GET", "/v1/calls?cache_miss=x", "", c.as...); a.Status != 400 || !strings.Contains(a.Body, "tools_changed") {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	})
}
