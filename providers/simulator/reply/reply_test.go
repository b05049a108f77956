package reply

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

func TestInstancesFollowTheirSchema(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object","properties":{}}`:                                `{}`,
		`{}`:                                                               `"Oslo"`,
		`true`:                                                             `"Oslo"`,
		`{"type":"string","format":"date"}`:                                `"2026-01-01"`,
		`{"type":"string","maxLength":2}`:                                  `"Os"`,
		`{"type":"string","minLength":6}`:                                  `"Osloxx"`,
		`{"type":["null","boolean"]}`:                                      `true`,
		`{"type":"null"}`:                                                  `null`,
		`{"type":"integer","minimum":5}`:                                   `5`,
		`{"type":"integer","exclusiveMinimum":5}`:                          `6`,
		`{"type":"number","maximum":0.5}`:                                  `0.5`,
		`{"type":"integer","exclusiveMaximum":1}`:                          `0`,
		`{"type":"integer","multipleOf":5}`:                                `5`,
		`{"const":[1,2]}`:                                                  `[1, 2]`,
		`{"enum":[7,8]}`:                                                   `7`,
		`{"anyOf":[{"type":"null"},{"type":"integer"}]}`:                   `1`,
		`{"oneOf":[{"type":"boolean"}]}`:                                   `true`,
		`{"type":"array","items":{"type":"integer"},"minItems":3}`:         `[1, 1, 1]`,
		`{"type":"array","maxItems":0}`:                                    `[]`,
		`{"prefixItems":[{"type":"boolean"},{"type":"integer"}]}`:          `[true, 1]`,
		`{"properties":{"b":{"type":"integer"},"a":{"type":"integer"}}}`:   `{"b": 1, "a": 1}`,
		`{"properties":{"from":{"type":"string"},"to":{"type":"string"}}}`: `{"from": "Oslo", "to": "New York"}`,
		`{"allOf":[{"$ref":"#/$defs/x"},{"properties":{"b":{"const":2}}}],` +
			`"$defs":{"x":{"type":"object","properties":{"a":{"const":1}}}}}`: `{"a": 1, "b": 2}`,
		`{"properties":{"x":{"properties":{"y":{"properties":{"z":{"type":"string"},"must":{"type":"integer"}},` +
			`"required":["must"]}}}}}`: `{"x": {"y": {"must": 1}}}`,
		`{"$ref":"https://example.com/schema"}`: `"Oslo"`,
		`{"type":"integer","minimum":"x"}`:      `1`,
	} {
		if got := instance(jsontext.Value(schema), "From here to Oslo, then New York", 0); string(got) != want {
			t.Errorf("%s: %s, want %s", schema, got, want)
		}
	}
}

func TestRecursiveSchemasEnd(t *testing.T) {
	var wide strings.Builder
	for i := range 50 {
		wide.WriteString(`"p` + strconv.Itoa(i) + `":{"$ref":"#"},`)
	}
	names := strings.TrimSuffix(strings.ReplaceAll(wide.String(), `:{"$ref":"#"}`, ""), ",")
	for _, schema := range []string{
		`{"$ref":"#"}`,
		`{"type":"array","minItems":100,"items":{"$ref":"#"}}`,
		`{"type":"object","properties":{` + strings.TrimSuffix(wide.String(), ",") + `},"required":[` + names + `]}`,
	} {
		start := time.Now()
		got := instance(jsontext.Value(schema), "x", 0)
		if !got.IsValid() || len(got) > 1<<20 || time.Since(start) > 30*time.Second {
			t.Errorf("%d bytes after %v", len(got), time.Since(start))
		}
	}
}

func TestStringsAreTheNamesOfATextOrItsBeginning(t *testing.T) {
	for asked, want := range map[string][]string{
		"Weather in Paris and Rome?":      {"Paris", "Rome"},
		"Is it New York City, or Boston?": {"New York City", "Boston"},
		"Hello. Where is it? In Oslo":     {"Oslo"},
		"what is the weather like":        {"what is the"},
		"\"quoted words\"":                {"quoted words"},
		"And I go to Ærø":                 {"Ærø"},
		"":                                {"simulated"},
		" ... ":                           {"simulated"},
		"東京の天気は？":                         {"東京の天気は？"},
	} {
		if got := candidates(asked); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", asked, got, want)
		}
	}
}

func TestTokensPutTogetherAreTheText(t *testing.T) {
	for text, want := range map[string]int{"": 0, " ": 0, "a": 1, "a b\n\nc ": 3, " a\tb": 2, "é ö": 2} {
		tokens := Split(text)
		if len(tokens) != want || want > 0 && strings.Join(tokens, "") != text {
			t.Errorf("%q: %q", text, tokens)
		}
		if len(tokens) != countTokens(text) {
			t.Errorf("%q: %d tokens, counted %d", text, len(tokens), countTokens(text))
		}
	}
}

func TestLongTextsAreQuotedShort(t *testing.T) {
	p := &Prompt{Model: "m", question: strings.Repeat("é", 500)}
	if said := p.Reply(0).Text; !strings.HasSuffix(said, strings.Repeat("é", quoteRunes)+"…\"") || len([]rune(said)) > quoteRunes+60 {
		t.Fatal(said)
	}
}

func TestRepliesAreTheSameEveryTime(t *testing.T) {
	p := &Prompt{Model: "m", question: "both in Rome", Parallel: true, Reasons: true}
	p.AddTool(Tool{Name: "f", Schema: jsontext.Value(`{"allOf":[{"properties":{"b":{"type":"string"},"a":{"type":"string"}}}]}`)})
	first := p.Reply(0).Calls[1].Arguments
	for range 20 {
		if got := p.Reply(0).Calls[1].Arguments; got != first {
			t.Fatalf("%s, then %s", first, got)
		}
	}
}

func TestOnlyTheEarliestStopIsMet(t *testing.T) {
	p := &Prompt{Model: "m", question: "x", Stops: []string{"", "answer", "simulated answer"}}
	if r := p.Reply(0); r.Text != "This is a " || r.Stop != "simulated answer" || r.End != EndStop {
		t.Fatalf("%+v", r)
	}
}

func TestCacheForgetsTheOldest(t *testing.T) {
	cache := NewCache()
	use := func(text string) int {
		p := &Prompt{}
		p.AddUser(text)
		p.EndPrefix(true)
		read, _ := cache.Use(p, 0)
		return read
	}
	use("the first")
	if use("the first") != 2 {
		t.Fatal("not remembered")
	}
	for i := range cacheSize {
		use(strconv.Itoa(i))
	}
	if use("the first") != 0 || len(cache.known) > cacheSize || len(cache.order) > cacheSize {
		t.Fatal("not forgotten")
	}
}
