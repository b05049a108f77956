package takeover

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/config"
	"modelgateway/providers/all"
	"modelgateway/services/litellm"
)

// Bill is what a LiteLLM booked for its calls, and what they cost.
type Bill struct {
	Since    time.Time `json:"since"`
	Empty    int64     `json:"empty"`    // calls without tokens and cost: most of them failed
	Priced   BillItem  `json:"priced"`   // its parts are models, whose parts are mistakes, whose parts are calls
	Unpriced BillItem  `json:"unpriced"` // its parts are models, whose parts say why their price is not known
}

// BillItem is a sum of calls. The parts come with the largest difference first.
type BillItem struct {
	Name       string           `json:"name,omitempty"`      // of a model as LiteLLM has it, a mistake, or the id of a call
	PricedAs   string           `json:"priced_as,omitempty"` // the name of the model here
	Tokens     map[string]int64 `json:"tokens,omitempty"`    // of a call; cached_input, for example, is a part of input
	Calls      int64            `json:"calls"`
	Booked     api.USD          `json:"booked"`
	Should     api.USD          `json:"should"`     // 0 where the price is not known, as Difference
	Difference api.USD          `json:"difference"` // booked too much; negative: too little
	Parts      []*BillItem      `json:"parts,omitempty"`

	booked, should float64 // micro-dollars: a call may cost less than one
}

// add adds a call. NaN: its price is not known.
func (b *BillItem) add(booked, should float64) *BillItem {
	b.Calls, b.booked, b.should = b.Calls+1, b.booked+booked, b.should+should
	b.Booked = api.USD(math.Round(b.booked))
	if !math.IsNaN(should) {
		b.Should = api.USD(math.Round(b.should))
		b.Difference = b.Booked - b.Should
	}
	return b
}

// part is the part of a name.
func (b *BillItem) part(name, pricedAs string) *BillItem {
	at := slices.IndexFunc(b.Parts, func(p *BillItem) bool { return p.Name == name && p.PricedAs == pricedAs })
	if at < 0 {
		at, b.Parts = len(b.Parts), append(b.Parts, &BillItem{Name: name, PricedAs: pricedAs})
	}
	return b.Parts[at]
}

func (b *BillItem) sort() {
	size := func(b *BillItem) api.USD { return max(b.Difference, -b.Difference) }
	slices.SortStableFunc(b.Parts, func(x, y *BillItem) int {
		return cmp.Or(cmp.Compare(size(y), size(x)), cmp.Compare(y.Booked, x.Booked))
	})
	for _, p := range b.Parts {
		p.sort()
	}
}

// Prices is a catalogue for Audit: the embedded one, an operator's file unless its path is empty, and all presets.
func Prices(modelsFile string) (*catalog.Catalog, error) {
	presets := all.CatalogPresets(config.Config{})
	for i := range presets {
		presets[i].On = true
		if global := presets[i]; global.Name == "vertex" { // which has the prices of a region
			global.Name, global.Region = "vertex-global", "global"
			presets = append(presets, global)
		}
	}
	return catalog.Load(modelsFile, presets...)
}

// Unpriced adds to a configuration the models without a price as a loss, where something of the plan has a budget.
func (p *Plan) Unpriced(c *litellm.Configuration) error {
	if !slices.ContainsFunc(p.Taken, func(t Taken) bool { return t.Limits.BudgetWindow != "" }) {
		return nil
	}
	dir, err := os.MkdirTemp("", "takeover")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "models.yaml")
	if err := os.WriteFile(file, []byte(c.ModelsFile), 0o600); err != nil {
		return err
	}
	prices, err := Prices(file)
	if err != nil {
		return fmt.Errorf("the models file that was made of the configuration: %w", err)
	}
	c.Unpriced(func(name string) bool {
		m, ok := prices.Model(cmp.Or(prices.Aliases()[name], name))
		return ok && m.Price.Known
	})
	return nil
}

// Audit prices the calls of the last days as the gateway does, by the prices of their days.
func Audit(ctx context.Context, db *litellm.Database, prices *catalog.Catalog, days int, now time.Time) (*Bill, error) {
	b := &Bill{Since: now.AddDate(0, 0, -days)}
	err := db.Calls(ctx, b.Since, func(c *litellm.Call) error {
		if c.Spend == 0 && c.Amounts == (catalog.Amounts{}) {
			b.Empty++
			return nil
		}
		model := modelOf(c, prices)
		name, booked := c.Model, c.Spend*1e6
		if !strings.Contains(name, "/") {
			name = c.Provider + "/" + name
		}
		if unknown := unpriced(c, model); unknown != "" {
			should := math.NaN()
			b.Unpriced.add(booked, should).part(name, "").add(booked, should).part("no price of "+unknown, "").add(booked, should)
			return nil
		}
		usual := model.PriceAt(c.Began)
		if c.CacheHit {
			usual = catalog.Price{}
		}
		should := due(c, usual, booked)
		of := b.Priced.add(booked, should).part(name, model.FullName()).add(booked, should)
		if !same(booked, should) {
			of.part(mistake(c, usual, booked), "").add(booked, should).example(c, booked, should)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	b.Priced.sort()
	b.Unpriced.sort()
	return b, nil
}

// example keeps a call if it is one of the three with the largest difference.
func (b *BillItem) example(c *litellm.Call, booked, should float64) {
	tokens := map[string]int64{}
	for u, n := range c.Amounts {
		if n > 0 {
			tokens[catalog.Unit(u).String()] = n
		}
	}
	b.Parts = append(b.Parts, (&BillItem{Name: c.ID, Tokens: tokens}).add(booked, should))
	b.sort()
	b.Parts = b.Parts[:min(len(b.Parts), 3)]
}

// unpriced says why the price of a call is not known; empty: it is.
func unpriced(c *litellm.Call, model *catalog.Model) string {
	price, known := catalog.Price{}, false
	if model != nil {
		price, known = model.PriceAt(c.Began).In(c.Way)
	}
	switch {
	case !paidByToken.MatchString(c.Type):
		return "calls of the type " + c.Type
	case model == nil:
		return "the model"
	case c.CacheHit:
		return ""
	case c.OtherOutput > 0:
		return "sounds or images in the answer"
	case !known:
		return serviceOf(c)
	case c.Amounts[catalog.Searches] > 0 && price.OneSearch() == 0:
		return "searches of the web"
	}
	return ""
}

var paidByToken = regexp.MustCompile(`completion|responses|messages|generate_content|embedding|pass_through`)

// modelOf is the model of the catalogue that was called; nil: which one it was is not sure, or it has no price.
func modelOf(c *litellm.Call, prices *catalog.Catalog) *catalog.Model {
	provider, names := c.Provider, []string{c.Model, c.Base}
	switch {
	case strings.HasPrefix(provider, "bedrock"):
		provider = "bedrock"
	case strings.HasPrefix(provider, "vertex_ai") && strings.Contains(c.Server, "/locations/global/"):
		provider = "vertex-global"
	case strings.HasPrefix(provider, "vertex_ai"):
		provider = "vertex"
	case provider == "azure_ai":
		provider = "foundry"
	case strings.HasPrefix(c.Base, "azure/us/") || strings.HasPrefix(c.Base, "azure/eu/"):
		return nil // a data zone, which costs more
	case provider == "azure": // Model has the name of a deployment
		names = []string{c.Base, c.Model, c.PublicName}
	case provider == catalog.OpenAI && c.Server != "" && !strings.Contains(c.Server, "//api.openai.com"):
		return nil // another server with its API, or a region's, which costs more
	}
	for _, name := range names {
		_, rest, _ := strings.Cut(name, "/")
		for _, id := range []string{rest, name, name[strings.LastIndexByte(name, '/')+1:]} {
			m, listed := prices.At(provider, id)
			if !listed {
				m = prices.Derive(provider, id)
			}
			if id != "" && m.Price.Known {
				return m
			}
		}
	}
	return nil
}

func serviceOf(c *litellm.Call) string {
	return strings.Join(strings.Fields("service "+c.Way.Tier+" "+c.Way.Speed+" "+c.Way.Geo), " ")
}

// due is what a call costs. The log has the service tier of OpenAI only where it has the contents of calls: without it what
// was booked says whether it was another than the usual one.
func due(c *litellm.Call, usual catalog.Price, booked float64) float64 {
	for _, tier := range []string{c.Way.Tier, "priority", "flex"} {
		way := c.Way
		way.Tier = tier
		if due := cost(c.Amounts, usual, way); c.Way.Tier != "" || same(booked, due) {
			return due
		}
	}
	return cost(c.Amounts, usual, c.Way)
}

// cost is Price.Cost before it is rounded.
func cost(amounts catalog.Amounts, usual catalog.Price, way catalog.Way) (micros float64) {
	price, _ := usual.In(way)
	for _, l := range price.Lines(amounts) {
		micros += float64(l.Amount) * float64(l.Rate) / 1e6
	}
	return micros
}

// same says that two costs differ by less than half a micro-dollar, as floats may.
func same(a, b float64) bool { return math.Abs(a-b) < 0.5 }

// mistake names the mistake by which a call costs what was booked.
func mistake(c *litellm.Call, usual catalog.Price, booked float64) string {
	switch {
	case c.CacheHit:
		return "answers of LiteLLM's own cache booked"
	case booked == 0:
		return "nothing booked"
	}
	asWhole := func(parts ...catalog.Unit) float64 { // at the rate of what they are a part of
		amounts := c.Amounts
		for _, part := range parts {
			amounts[part] = 0
		}
		return cost(amounts, usual, c.Way)
	}
	without := func(whole catalog.Unit, parts ...catalog.Unit) float64 {
		amounts := c.Amounts
		for _, part := range parts {
			amounts[whole] -= amounts[part]
			amounts[part] = 0
		}
		return cost(amounts, usual, c.Way)
	}
	short := usual
	short.Above = nil
	for _, m := range []struct {
		name  string
		costs float64
	}{
		{"cache reads booked as input", asWhole(catalog.CachedTokens)},
		{"cache writes booked as input", asWhole(catalog.CacheWriteTokens)},
		{"cache reads and writes booked as input", asWhole(catalog.CachedTokens, catalog.CacheWriteTokens)},
		{"cache writes for an hour booked as for five minutes", asWhole(catalog.CacheWriteHourTokens)},
		{"cache reads not booked", without(catalog.InputTokens, catalog.CachedTokens)},
		{"cache writes not booked", without(catalog.InputTokens, catalog.CacheWriteTokens)},
		{"cache reads and writes not booked", without(catalog.InputTokens, catalog.CachedTokens, catalog.CacheWriteTokens)},
		{"reasoning not booked", without(catalog.OutputTokens, catalog.ReasoningTokens)},
		{"sounds booked as text", asWhole(catalog.AudioTokens)},
		{"searches of the web not booked", asWhole(catalog.Searches)},
		{serviceOf(c) + " booked as usual", cost(c.Amounts, usual, catalog.Way{})},
		{"a long prompt booked as a short one", cost(c.Amounts, short, c.Way)},
	} {
		if same(m.costs, booked) {
			return m.name
		}
	}
	return "other prices"
}
