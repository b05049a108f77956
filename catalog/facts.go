package catalog

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"modelgateway/api"
	"modelgateway/catalog/lists"
	"modelgateway/llm"
)

//go:embed facts.json
var factsText string

// facts are models that the providers sell, with their prices and limits. They price,
// bound and route a name whether or not it is listed. make catalogue writes them.
type facts struct {
	date string // of the newest list
	all  map[factID]*fact
}

type factID struct{ provider, id string }

// fact is what is known of a model. It is read when it is first needed: few models are
// called, and all of them take 150 KB.
type fact struct {
	line string // of facts.json
	once sync.Once
	fact *lists.Fact
}

func (f *fact) read() *lists.Fact {
	f.once.Do(func() {
		f.fact = new(lists.Fact)
		_ = json.Unmarshal([]byte(f.line), f.fact) // the tests read all of them
	})
	return f.fact
}

// readFacts reads the names of all models, of which each has a line.
func readFacts() (facts, error) {
	head, lines, _ := strings.Cut(factsText, "\n")
	list, err := lists.Read([]byte(head + "]}"))
	if err != nil {
		return facts{}, fmt.Errorf("facts.json: %w", err)
	}
	f := facts{date: list.Date, all: map[factID]*fact{}}
	for line := range strings.Lines(lines) {
		line = strings.TrimSuffix(strings.TrimSpace(line), ",")
		if line == "]}" {
			break
		}
		var m struct {
			Provider string   `json:"provider"`
			ID       string   `json:"id"`
			Aliases  []string `json:"aliases"`
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			return facts{}, fmt.Errorf("facts.json: %w", err)
		}
		known := &fact{line: line}
		for _, name := range append(m.Aliases, m.ID) {
			f.all[factID{m.Provider, name}] = known
		}
	}
	return f, nil
}

// find returns what is known of a provider's model, or of the family that it is a
// version of. Only a model's own facts are exact.
func (f facts) find(provider, id string) (found *lists.Fact, exact bool) {
	if found := f.all[factID{provider, id}]; found != nil {
		return found.read(), true
	}
	family := lists.Family(id)
	for _, name := range []string{family, family + "-latest"} {
		if found := f.all[factID{provider, name}]; found != nil {
			return found.read(), false
		}
	}
	return nil, false
}

// FactsDate is the day of the newest list of prices.
func (c *Catalog) FactsDate() string { return c.facts.date }

// Sells says whether a provider is known to sell a model of this name, or one that it
// is a version of.
func (c *Catalog) Sells(provider, id string) bool {
	found, _ := c.fact(provider, id)
	return found != nil
}

// fact is facts.find for any provider.
func (c *Catalog) fact(provider, id string) (found *lists.Fact, exact bool) {
	own := c.provider(provider)
	if own == nil {
		return c.facts.find(provider, id)
	}
	if owner, name := c.owner(own, id); owner != "" {
		return c.facts.find(owner, name)
	}
	return c.facts.find(own.Facts, id)
}

// hasFacts says whether something is known of the models of a provider.
func (c *Catalog) hasFacts(own *Provider) bool {
	preset := c.preset(own.Preset)
	return own.Facts != "" || preset != nil && preset.Owner != nil
}

// owner is Preset.Owner of a provider.
func (c *Catalog) owner(own *Provider, id string) (provider, name string) {
	if preset := c.preset(own.Preset); preset != nil && preset.Owner != nil {
		return preset.Owner(id)
	}
	return "", ""
}

// families are patterns of the names that a provider gives its models. A name of one
// that no list has goes to its provider.
var families = map[string][]string{
	OpenAI:    {"gpt-*", "chatgpt-*", "o[0-9]*", "text-embedding-*"},
	Anthropic: {"claude-*"},
	Gemini:    {"gemini-*", "gemma-*"},
}

// modelName and longestModelName are what a provider may call a model. A counted
// repetition would be compiled into so many copies of its class.
var modelName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:@-]*$`)

const longestModelName = 128

// Names reports whether a provider may have a model of this name: it is known to sell
// it, or the name is of one of its families.
func (c *Catalog) Names(provider, id string) bool {
	return c.Sells(provider, id) || ofFamily(provider, id)
}

// openWeights begins the names of models of OpenAI that its API does not have, but any other
// server may.
const openWeights = "gpt-oss"

func ofFamily(provider, id string) bool {
	return len(id) <= longestModelName && !strings.HasPrefix(id, openWeights) &&
		matchesAny(families[provider], id) && modelName.MatchString(id)
}

// derived are the models of facts that have been asked for. Their number is bounded by
// that of the facts' names.
type derived struct {
	mu  sync.RWMutex
	all map[factID]*Model
}

func newDerived() *derived { return &derived{all: map[factID]*Model{}} }

// Named is Derive for a name that a provider may have, as Names says.
func (c *Catalog) Named(provider, id string) (*Model, bool) {
	key := factID{provider, id}
	c.derived.mu.RLock()
	known := c.derived.all[key]
	c.derived.mu.RUnlock()
	if known != nil {
		return known, true
	}
	found, exact := c.fact(provider, id)
	if found == nil && !ofFamily(provider, id) {
		return nil, false
	}
	m := c.Derive(provider, id)
	if exact {
		c.derived.mu.Lock()
		c.derived.all[key] = m
		c.derived.mu.Unlock()
	}
	return m, true
}

// CanName reports whether a setting may name a model that the catalogue does not list:
// one that a provider may have, also in the form provider/model.
func (c *Catalog) CanName(id string) bool {
	if provider, rest, ok := strings.Cut(id, "/"); ok && slices.Contains(c.Providers(), provider) {
		_, listed := c.Model(rest)
		return listed || c.Names(provider, rest) || c.IsOwn(provider)
	}
	return slices.ContainsFunc(c.Providers(), func(provider string) bool { return c.Names(provider, id) })
}

// Sold is every model that the providers are known to sell, by provider and id.
func (c *Catalog) Sold() []*Model {
	var all []*Model
	for id, known := range c.facts.all {
		if id.id == known.read().ID { // not an alias
			all = append(all, c.Derive(id.provider, id.id))
		}
	}
	slices.SortFunc(all, func(a, b *Model) int { return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.ID, b.ID)) })
	return all
}

// learn sets the members of a model that its entry does not have to those of the
// facts.
func (c *Catalog) learn(m *Model) {
	found, exact := c.fact(m.Provider, c.nameOf(*m))
	if found == nil {
		return
	}
	if m.Kind == "" {
		m.Kind = llm.Kind(found.Kind)
	}
	if m.Context == 0 {
		m.Context = found.Context
	}
	m.Features = Features{Tools: found.Tools, Structured: found.Structured, Reasoning: found.Reasoning}
	if m.Input == nil {
		m.Input, m.Output = found.Input, found.Output
	}
	ofFacts := !m.Price.Known && len(found.Prices) > 0
	if ofFacts {
		m.Price, m.later = factPrice(found.Prices[0]), nil
		for _, p := range found.Prices[1:] {
			from, err := time.Parse(time.DateOnly, p.From)
			if err == nil {
				m.later = append(m.later, datedPrice{from, factPrice(p)})
			}
		}
		if !exact {
			m.PriceOf = found.ID
		}
	}
	if ofFacts {
		c.priceRegion(m)
	}
	if !exact {
		return
	}
	if m.MaxOutput == 0 && m.Kind != llm.KindEmbedding {
		m.MaxOutput = found.MaxOutput
	}
	if day, err := time.Parse(time.DateOnly, found.Released); err == nil {
		m.Created, m.Released = cmp.Or(m.Created, day.Unix()), cmp.Or(m.Released, day.Unix())
	}
	if m.state == "" && m.Ends.IsZero() {
		m.state = found.State
		m.Ends, _ = time.Parse(time.DateOnly, found.Ends) // the zero time when there is none
		m.Successor = found.Successor
	}
}

// priceRegion makes the price of a model that of its region at a cloud.
func (c *Catalog) priceRegion(m *Model) {
	const tenthMore = perMillion * 11 / 10
	own := c.provider(m.Provider)
	if own == nil {
		return
	}
	preset := c.preset(own.Preset)
	if preset == nil || preset.Regional == nil || !preset.Regional(own.Account.Region, c.nameOf(*m)) {
		return
	}
	m.Price = m.Price.times(tenthMore)
	for i := range m.later {
		m.later[i].Price = m.later[i].times(tenthMore)
	}
}

// addExtras gives the models of the embedded catalogue the factors and fees of the lists.
func (c *Catalog) addExtras() {
	for i := range c.models {
		m := &c.models[i]
		if found, _ := c.facts.find(m.Provider, m.Upstream); found != nil && len(found.Prices) > 0 {
			listed := factPrice(found.Prices[0])
			m.Price.Factors = listed.Factors
			for u := firstFee; u < unitCount; u++ {
				m.Price.Rates[u] = cmp.Or(listed.Rates[u], m.Price.Rates[u])
			}
		}
	}
}

func factPrice(p lists.Price) Price {
	price := Price{
		Known: true, Over: p.Over,
		Rates: Rates{
			InputTokens: exact(p.Input), AudioTokens: exact(p.Audio), CachedAudioTokens: exact(p.AudioCacheRead),
			CachedTokens: exact(p.CacheRead), CacheWriteTokens: exact(p.CacheWrite), CacheWriteHourTokens: exact(p.CacheWriteHour),
			OutputTokens: exact(p.Output),
			Searches:     ofThousand(p.WebSearch), SearchPrompts: ofThousand(p.SearchPrompt), FileSearches: ofThousand(p.FileSearch),
		},
		Factors: Factors{
			Priority: exact(p.Priority), Flex: exact(p.Flex), Batch: exact(p.Batch), Fast: exact(p.Fast), US: exact(p.US),
		},
	}
	if p.Above != nil {
		above := factPrice(*p.Above)
		price.Above = &above
	}
	return price
}

// ofThousand is the rate where a list has the price of a thousand.
func ofThousand(n json.Number) int64 { return exact(n) * (perMillion / 1000) }

// exact is a decimal number in millionths; 0 of no number.
func exact(n json.Number) int64 {
	value, _ := api.ParseUSD(n.String())
	return int64(value)
}
