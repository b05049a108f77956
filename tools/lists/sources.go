package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"modelgateway/catalog/lists"
)

// source is a public list: where its entries are, and what is taken of one. In files and models stands PROVIDER for what the
// list calls one of the providers.
type source struct {
	name, repository string
	files            string // in a checkout
	models           string // the path of the models in a file; empty: the file is their object, or, of TOML, one model
	fact             func(provider, id string, model any) (lists.Fact, error)
	clouds           map[string]string // what it calls those clouds of which it has the models
}

func sources() []source {
	clouds := map[string]string{"amazon-bedrock": bedrock, "google-vertex": vertex}
	return []source{
		{"genai-prices", "pydantic/genai-prices", "prices/providers/PROVIDER.yml", "models", genai, nil},
		{"models.dev", "anomalyco/models.dev", "providers/PROVIDER/models/*.toml", "", modelsDev, clouds},
		{"litellm", "RoCry/llm-api-price", "model_prices_and_context_window.json", "", litellm, nil}, // LiteLLM's price map as it is
		{"portkey", "Portkey-AI/models", "pricing/PROVIDER.json", "", portkey, nil},
		{"yoagent", "yologdev/yoagent", "src/provider/prices.json", "providers.PROVIDER", yoagent, nil},
	}
}

// genai has the names of models, and what they have cost from which day on.
func genai(provider, id string, model any) (lists.Fact, error) {
	fact := lists.Fact{Context: int64(numberAt(model, "context_window"))}
	otherSpelling := regexp.MustCompile(`^gpt-(\d-\d|35)`) // a hyphen or nothing for the point of the version, which no provider takes
	for _, clause := range listAt(model, "match.or") {
		if name := textAt(clause, "equals"); name != id && wanted(provider, name) && !otherSpelling.MatchString(name) {
			fact.Aliases = append(fact.Aliases, name)
		}
	}
	dated := listAt(model, "prices")
	if dated == nil {
		dated = []any{model}
	}
	for _, d := range dated {
		prices, _ := at(d, "prices").(entry)
		p, err := genaiPrice(prices)
		if err != nil {
			return fact, err
		}
		if from, ok := at(d, "constraint.start_date").(time.Time); ok {
			p.From = from.Format(time.DateOnly)
		}
		fact.Prices = append(fact.Prices, p)
	}
	return fact, nil
}

// genaiPrice is of numbers, and of numbers with tiers.
func genaiPrice(prices entry) (lists.Price, error) {
	names := map[string]string{
		"input": "input_mtok", "output": "output_mtok", "cache_read": "cache_read_mtok", "cache_write": "cache_write_mtok",
		"cache_write_1h": "cache_write_1h_mtok", "audio": "input_audio_mtok", "audio_cache_read": "cache_audio_read_mtok",
		"audio_output": "output_audio_mtok", "image_output": "output_image_mtok", "web_search": "web_searches_kcount",
	}
	base, above, over := maps.Clone(prices), maps.Clone(prices), 0.
	for _, member := range names {
		tiers := listAt(prices[member], "tiers")
		if tiers == nil {
			continue
		}
		start := numberAt(tiers[0], "start")
		if len(tiers) != 1 || over != 0 && over != start {
			return lists.Price{}, fmt.Errorf("%s: the tiers are not one for all members", member)
		}
		over, base[member], above[member] = start, at(prices[member], "base"), at(tiers[0], "price")
	}
	return priceAbove(base, above, int64(over), names)
}

// priceAbove is the price of an entry, and, over so many tokens, that of another one.
func priceAbove(base, above any, over int64, names map[string]string) (lists.Price, error) {
	p, err := pick[lists.Price](base, names)
	if over > 0 {
		more, also := pick[lists.Price](above, names)
		p.Over, p.Above, err = over, &more, errors.Join(err, also)
	}
	return p, err
}

// modelsDev has what models can do as well.
func modelsDev(_, id string, model any) (lists.Fact, error) {
	fact, err := pick[lists.Fact](model, map[string]string{
		"released": "release_date", "state": "status", "context": "limit.context", "max_output": "limit.output",
		"input": "modalities.input", "output": "modalities.output", "tools": "tool_call", "structured": "structured_output",
		"reasoning": "reasoning", "sampling": "temperature",
	})
	if err != nil || !slices.Contains(fact.Output, "text") && !strings.Contains(id, "embedding") {
		return lists.Fact{}, err
	}
	if _, err := time.Parse(time.DateOnly, fact.Released); fact.Released != "" && err != nil {
		return fact, err
	}
	input := numberAt(model, "cost.input")
	if input == 0 && numberAt(model, "cost.output") == 0 {
		return fact, nil
	}
	tier := append(listAt(model, "cost.tiers"), nil)[0]
	price, err := priceAbove(at(model, "cost"), tier, int64(numberAt(tier, "tier.size")), map[string]string{
		"input": "input", "output": "output", "cache_read": "cache_read", "cache_write": "cache_write",
		"audio": "input_audio", "audio_output": "output_audio",
	})
	modes, _ := at(model, "experimental.modes").(entry)
	for _, mode := range modes {
		if textAt(mode, "provider.body.service_tier") == "priority" && input > 0 {
			price.Priority = decimal(numberAt(mode, "cost.input") / input)
		}
	}
	fact.Prices = []lists.Price{price}
	return fact, err
}

// litellm has what a service tier, a batch, a speed and a search cost, for which most other lists have no member.
func litellm(provider, id string, model any) (lists.Fact, error) {
	if textAt(model, "litellm_provider") != provider || lists.Family(id) != id { // a version costs what its family costs
		return lists.Fact{}, nil
	}
	tier := func(name string) json.Number {
		const input, output = "input_cost_per_token", "output_cost_per_token"
		return factor(numberAt(model, input), numberAt(model, output), numberAt(model, input+name), numberAt(model, output+name))
	}
	p := lists.Price{
		Priority: tier("_priority"), Flex: tier("_flex"), Batch: tier("_batches"),
		Fast: decimal(numberAt(model, "provider_specific_entry.fast")), US: decimal(numberAt(model, "provider_specific_entry.us")),
	}
	// Dollars; the size is OpenAI's, and medium where none is asked for.
	fee := decimal(1000 * numberAt(model, "search_context_cost_per_query.search_context_size_medium"))
	setSearch(&p, fee, provider == "gemini" && textAt(model, "web_search_billing_unit") != "per_query")
	return lists.Fact{Prices: []lists.Price{p}}, nil
}

func setSearch(p *lists.Price, fee json.Number, ofPrompt bool) {
	if ofPrompt {
		p.SearchPrompt = fee
	} else {
		p.WebSearch = fee
	}
}

// factor is how many times a tier costs the usual price; empty where input and output differ in that, since then one of the
// numbers is wrong, and where the tier has no price of its own. Embeddings have no output.
func factor(input, output, tierInput, tierOutput float64) json.Number {
	if input == 0 {
		return ""
	}
	x := decimal(tierInput / input)
	if x == "1" || output != 0 && x != decimal(tierOutput/output) {
		return ""
	}
	return x
}

// portkey has what a batch and hosted tools cost, in cents for one token or one use. A family has what one of its versions has.
func portkey(provider, id string, model any) (lists.Fact, error) {
	// The list has each Gemini model twice, for short and for long prompts.
	id, short := strings.CutSuffix(id, "-lte-128k")
	if provider == "gemini" && !short {
		return lists.Fact{}, nil
	}
	price := func(of string) float64 { return numberAt(model, "pricing_config."+of+".price") }
	thousand := func(of string) json.Number { return decimal(price("pay_as_you_go.additional_units."+of) * 1000 / 100) }
	p := lists.Price{
		FileSearch: thousand("file_search"),
		Batch: factor(price("pay_as_you_go.request_token"), price("pay_as_you_go.response_token"),
			price("batch_config.request_token"), price("batch_config.response_token")),
	}
	// The list does not say that Google charges for each prompt with searches up to Gemini 2.5, and for each search since Gemini 3.
	setSearch(&p, thousand("web_search"), regexp.MustCompile(`^gemini-[12]\.`).MatchString(id))
	return lists.Fact{ID: lists.Family(id), Prices: []lists.Price{p}}, nil
}

// yoagent has the newest prices.
func yoagent(_, _ string, model any) (lists.Fact, error) {
	names := map[string]string{"input": "input", "output": "output", "cache_read": "cache_read", "cache_write": "cache_write"}
	if at(model, "cache_write_at_input") == true { // it is not a price of its own
		delete(names, "cache_write")
	}
	tiers := listAt(model, "tiers")
	if len(tiers) > 1 {
		return lists.Fact{}, errors.New("more than one tier")
	}
	tier := append(tiers, nil)[0]
	p, err := priceAbove(model, tier, int64(numberAt(tier, "above_prompt_tokens")), names)
	return lists.Fact{Prices: []lists.Price{p}}, err
}
