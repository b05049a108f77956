package catalog

import (
	"os"
	"slices"
	"testing"
	"time"

	"modelgateway/catalog/lists"
)

// TestEveryPriceIsThatOfAList compares the prices that calls are billed by with the
// lists, and not with facts.json.
func TestEveryPriceIsThatOfAList(t *testing.T) {
	c, err := Load("")
	if err != nil {
		t.Fatal(err)
	}
	all := readLists(t)
	compared := 0
	for _, m := range c.Sold() {
		for i, p := range append([]Price{m.Price}, prices(m.later)...) {
			if listed := slices.ContainsFunc(all, func(l *lists.List) bool { return hasPrice(l, m, p) }); !listed && !decided[m.ID] {
				t.Errorf("%s: price %d, %+v, is of no list", m.ID, i, p)
			}
			compared++
		}
	}
	if compared < 120 {
		t.Errorf("%d prices were compared", compared)
	}
}

// TestEveryFactorAndFeeIsThatOfAList compares what ways of serving, batches and hosted
// tools cost with the lists, number by number.
func TestEveryFactorAndFeeIsThatOfAList(t *testing.T) {
	c, err := Load("")
	if err != nil {
		t.Fatal(err)
	}
	all := readLists(t)
	compared := map[string]int{}
	for _, m := range append(c.Sold(), c.Models()...) {
		if found, _ := c.fact(m.Provider, m.Upstream); found != nil {
			m.ID = found.ID // not an alias
		}
		for _, p := range append([]Price{m.Price}, prices(m.later)...) {
			for name, n := range extrasOf(&p) {
				listed := slices.ContainsFunc(all, func(l *lists.List) bool { return hasExtra(l, m, name, *n) })
				if *n != 0 && !listed && !decidedExtras[m.ID] {
					t.Errorf("%s: %s of %d is of no list", m.ID, name, *n)
				}
				if *n != 0 {
					compared[name]++
				}
			}
		}
	}
	for name, least := range map[string]int{
		"tier.priority": 30, "tier.flex": 20, "tier.batch": 80, "speed.fast": 3, "geo.us": 5,
		"web_search_request": 60, "web_search_prompt": 5, "file_search_request": 40,
	} {
		if compared[name] < least {
			t.Errorf("%d numbers of %s were compared", compared[name], name)
		}
	}
}

// decidedExtras are models whose factors and fees are changes of decisions.yaml, with the
// reasons there.
var decidedExtras = map[string]bool{
	"claude-sonnet-5-5": true, "claude-haiku-5-5": true, "claude-opus-5-5": true, "claude-fable-5-1": true,
	"gemini-3.8-flash": true, "gpt-6-astra": true, "gpt-6-sol": true, "gpt-6-luna": true,
	"gpt-5-nano": true, "gpt-5.3": true, "gpt-chat-latest": true, "o3-pro": true,
}

// extrasOf are the factors and fees of a price by their names in the models file.
func extrasOf(p *Price) map[string]*int64 {
	all := p.Factors.byName()
	for u := firstFee; u < unitCount; u++ {
		all[units[u].price] = &p.Rates[u]
	}
	return all
}

// hasExtra says whether a list has a factor or a fee for a model or for its family.
func hasExtra(l *lists.List, m *Model, name string, n int64) bool {
	return slices.ContainsFunc(listedFor(l, m), func(listed lists.Price) bool {
		p := factPrice(listed)
		return *extrasOf(&p)[name] == n
	})
}

// decided are models whose price is a change of decisions.yaml, not of a list.
var decided = map[string]bool{
	"claude-sonnet-5-5": true, "claude-haiku-5-5": true, "gemini-3.8-flash": true,
}

func prices(later []datedPrice) []Price {
	var all []Price
	for _, l := range later {
		all = append(all, l.Price)
	}
	return all
}

// hasPrice says whether a list has the input and the output of a price for a model or
// for its family.
func hasPrice(l *lists.List, m *Model, p Price) bool {
	return slices.ContainsFunc(listedFor(l, m), func(listed lists.Price) bool {
		q := factPrice(listed)
		same := func(u Unit) bool { return q.Rates[u] == p.Rates[u] }
		return same(InputTokens) && same(OutputTokens) && (p.Above == nil) == (q.Above == nil)
	})
}

// listedFor is what a list has for a model or for its family.
func listedFor(l *lists.List, m *Model) []lists.Price {
	var all []lists.Price
	for _, f := range l.Models {
		names := append([]string{f.ID}, f.Aliases...)
		if f.Provider == m.Provider && (slices.Contains(names, m.ID) || slices.ContainsFunc(names, func(n string) bool {
			return lists.Family(n) == lists.Family(m.ID)
		})) {
			all = append(all, f.Prices...)
		}
	}
	return all
}

func readLists(t *testing.T) []*lists.List {
	t.Helper()
	var all []*lists.List
	for _, name := range []string{"yoagent", "genai-prices", "models.dev", "litellm", "portkey"} {
		text, err := os.ReadFile("lists/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		l, err := lists.Read(text)
		if err != nil {
			t.Fatal(err)
		}
		if l.Source == "" || l.Commit == "" || l.Date == "" || l.Licence == "" {
			t.Errorf("%s does not say where it is from", name)
		}
		all = append(all, l)
	}
	return all
}

func TestAPriceChangesOnItsDay(t *testing.T) {
	c, err := Load("")
	if err != nil {
		t.Fatal(err)
	}
	m := c.Derive(Gemini, "gemini-3.7-flash")
	for at, want := range map[string]int64{"2026-12-31T23:59:59Z": 750_000, "2027-01-01T00:00:00Z": 1_500_000} {
		now, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.PriceAt(now).Rates[InputTokens]; got != want {
			t.Errorf("%s: %d", at, got)
		}
	}
	november := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	sonnet := c.Derive(Anthropic, "claude-sonnet-5").PriceAt(november).Rates
	if sonnet[InputTokens] != 2_000_000 || sonnet[CacheWriteHourTokens] != 4_000_000 {
		t.Errorf("%+v", sonnet)
	}
}

func TestAVersionHasThePriceOfItsFamily(t *testing.T) {
	c, err := Load("")
	if err != nil {
		t.Fatal(err)
	}
	for id, of := range map[string]string{
		"gpt-5.4-2026-03-05": "", "gpt-4o-2027-01-01": "gpt-4o", "gpt-5-2030-01-01": "gpt-5", "gpt-4o-2024-05-13": "", "gpt-5-latest": "gpt-5",
	} {
		m := c.Derive(OpenAI, id)
		if !m.Price.Known || m.PriceOf != of && of != "" {
			t.Errorf("%s: the price of %q, %+v", id, m.PriceOf, m.Price)
		}
	}
	if m := c.Derive(OpenAI, "gpt-unheard-of"); m.Price.Known {
		t.Errorf("%+v", m.Price)
	}
}

func TestAModelEndsOnTheDayThatItsProviderHasAnnounced(t *testing.T) {
	c, err := Load("")
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]string{"2026-12-10T23:59:59Z": Deprecated, "2026-12-11T00:00:00Z": Retired} {
		now, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"gpt-5-mini", "gpt-5-mini-2025-08-07"} {
			if m := c.Derive(OpenAI, id); m.State(now) != want || m.Successor != "gpt-5.6-terra" {
				t.Errorf("%s at %s: %s, %q", id, at, m.State(now), m.Successor)
			}
		}
	}
	november := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	for provider, id := range map[string]string{OpenAI: "o4-mini", Anthropic: "claude-opus-4-1", Gemini: "gemini-3-pro-preview"} {
		if m := c.Derive(provider, id); m.State(november) != Retired || m.Successor == "" {
			t.Errorf("%s: %s, %q", id, m.State(november), m.Successor)
		}
	}
}
