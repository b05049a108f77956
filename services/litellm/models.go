package litellm

import (
	"cmp"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// deployment is an entry of model_list: one of the places at which a model is called.
type deployment struct {
	name         string
	params, info map[string]any

	service
	model    string // its name at the service
	at       server
	plain    bool      // the environment alone can configure it: a vendor's own server with its usual key
	provider *provider // in the models file; nil: the one that the environment configures
}

func (d *deployment) text(member string) string { return text(d.params[member]) }

// providerOf is the provider at a server, which is made where there is none. Its name begins as wanted.
func (t *taking) providerOf(want string, at server) *provider {
	taken := slices.Clone(t.catalog.Providers())
	for _, p := range t.file.Providers {
		if reflect.DeepEqual(p.server, at) {
			return p
		}
		taken = append(taken, p.Name)
	}
	name := want
	for n := 2; slices.Contains(taken, name); n++ {
		name = want + "-" + strconv.Itoa(n)
	}
	p := &provider{Name: name, server: at}
	t.file.Providers = append(t.file.Providers, p)
	return p
}

// takeModels takes the deployments: those of patterns of names first, since their names say what their providers are called.
func (t *taking) takeModels(all []*deployment) {
	slices.SortStableFunc(all, func(a, b *deployment) int {
		return cmp.Compare(strings.Count(b.name, "*"), strings.Count(a.name, "*"))
	})
	for _, d := range all {
		t.listUnknownParams(d)
		if !t.take(d) {
			continue
		}
		if !slices.Contains(t.Names, d.name) {
			t.Names = append(t.Names, d.name)
		}
		for _, group := range items[string](d.info["access_groups"]) {
			t.Groups[group] = append(t.Groups[group], d.name)
		}
	}
	for _, name := range t.Names {
		if t.models[name] != nil {
			t.addEntry(name, t.models[name])
		}
	}
}

// otherKind are names of models that a LiteLLM itself knows for another mode.
var otherKind = regexp.MustCompile(`whisper|tts|dall-e|gpt-image|transcribe|rerank|moderation|imagen|realtime|sora|veo-`)

// take takes a deployment, or says why not.
func (t *taking) take(d *deployment) bool {
	mode := text(d.info["mode"])
	served := slices.Contains([]string{"", "chat", "completion", "responses", "embedding"}, mode)
	switch {
	case !t.findService(d) || d.name == "":
		t.losses.Lose(d.name, "calls of "+cmp.Or(d.service.name, "an unnamed provider"), "the gateway does not know how to call it: the model is left out",
			"if its API is that of OpenAI, Anthropic or Gemini, add it by hand: docs/providers.md")
	case !served || mode == "" && otherKind.MatchString(d.model):
		t.losses.Lose(d.name, "models for "+cmp.Or(mode, "images, sound or ranking"),
			"the gateway has none: the model is left out", "call the provider itself")
	case text(d.info["team_id"]) != "":
		t.losses.Lose(d.name, "models of one team", "a model here is one for all who may call it: it is left out",
			"add it by hand, and allow it to the keys of the team")
	case !t.findServer(d):
	case strings.Contains(d.name, "*"):
		return t.takePattern(d)
	default:
		t.addDeployment(d)
		return true
	}
	return false
}

// addDeployment adds it to those of its name.
func (t *taking) addDeployment(d *deployment) {
	// An entry of the catalogue with this name, which is of another model, must not give it its price.
	if listed, known := t.catalog.Model(d.name); !d.plain || known && listed.Upstream != d.model {
		d.provider = t.providerOf(providerName(d.service.name), d.at)
	}
	twice := slices.ContainsFunc(t.models[d.name], func(other *deployment) bool {
		return other.provider == d.provider && other.kind == d.kind && other.model == d.model
	})
	if !twice {
		t.models[d.name] = append(t.models[d.name], d)
	}
}

// takePattern takes a deployment whose name has a *.
func (t *taking) takePattern(d *deployment) bool {
	prefix, whole := strings.CutSuffix(d.name, "/*")
	switch {
	case slices.Contains(t.Names, d.name) || strings.Count(d.name, "*") > 1:
	case !strings.Contains(d.model, "*"): // all names are those of one model
		provider := d.kind
		if !d.plain {
			p := t.providerOf(providerName(d.service.name), d.at)
			provider, p.Discovery = p.Name, true
		}
		t.file.Aliases[d.name] = provider + "/" + d.model
		return true
	case d.plain && (prefix == d.kind && d.model == "*" || d.name == d.model):
		t.comments += "# " + oneLine(d.name) + " needs no entry: the provider has its models by these names.\n"
		return true
	case !d.plain && whole && d.model == "*" && providerName(prefix) == prefix && !slices.Contains(t.catalog.Providers(), prefix):
		if p := t.providerOf(prefix, d.at); p.Name == prefix {
			p.Discovery = true
			return true
		}
	}
	t.losses.Lose(d.name, "names with *", "this provider cannot be sent such names", "list the models that clients call")
	return false
}

// addEntry adds a model with its deployments.
func (t *taking) addEntry(name string, all []*deployment) {
	var upstreams []entry
	for i, weight := range weigh(all) {
		d := all[i]
		base := cmp.Or(text(d.info["base_model"]), d.text("base_model"))
		u := entry{
			Provider: d.kind, Upstream: d.model, Weight: weight, Price: t.price(d),
			Like: base[strings.LastIndexByte(base, '/')+1:], original: d.text("model"),
		}
		if d.provider != nil {
			u.Provider = d.provider.Name
		}
		upstreams = append(upstreams, u)
	}
	first, e := all[0], upstreams[0]
	if len(all) > 1 {
		e = entry{Upstreams: upstreams, State: "active"} // a model of this name in the catalogue may not be
	}
	e.ID, e.Context = name, whole(first.info["max_input_tokens"])
	e.MaxOutput = cmp.Or(whole(first.info["max_output_tokens"]), whole(first.info["max_tokens"]))
	if text(first.info["mode"]) == "embedding" {
		e.Kind = "embedding"
	}
	if first.provider == nil || len(all) > 1 {
		t.file.Models = append(t.file.Models, e)
		return
	}
	e.Provider = ""
	first.provider.Models = append(first.provider.Models, e)
}

// weigh orders the deployments of a model, or gives them weights as LiteLLM's simple-shuffle does: by the last of these
// members that the first of them has, else alike.
func weigh(all []*deployment) []int64 {
	order := func(d *deployment) float64 {
		n, _ := number(d.params["order"])
		return cmp.Or(n, math.MaxFloat64)
	}
	slices.SortStableFunc(all, func(a, b *deployment) int { return cmp.Compare(order(a), order(b)) })
	weights := make([]int64, len(all))
	if len(all) == 1 || order(all[0]) != math.MaxFloat64 {
		return weights
	}
	by := ""
	for _, member := range []string{"tpm", "rpm", "weight"} {
		if _, ok := number(all[0].params[member]); ok {
			by = member
		}
	}
	for i, d := range all {
		n, _ := number(d.params[by])
		switch by {
		case "":
			n = 1
		case "weight":
			n *= 100 // it may be a fraction
		}
		weights[i] = max(1, int64(math.Round(n))) // one without a weight is hardly called, as there
	}
	return weights
}

// units are the parts of a price here by LiteLLM's members.
func units() map[string]string {
	return map[string]string{
		"input_cost_per_token": "input", "output_cost_per_token": "output", "output_cost_per_reasoning_token": "reasoning",
		"cache_read_input_token_cost": "cache_read", "cache_creation_input_token_cost": "cache_write",
		"cache_creation_input_token_cost_above_1hr": "cache_write_1h", "input_cost_per_audio_token": "audio",
	}
}

// price is the price that a deployment sets, in dollars for a million tokens; nil: none.
func (t *taking) price(d *deployment) map[string]float64 {
	p := map[string]float64{}
	for member, unit := range units() {
		for _, members := range []map[string]any{d.info, d.params} { // the last wins
			if n, ok := number(members[member]); ok {
				p[unit] = math.Round(n*1e12) / 1e6 // the gateway counts in millionths of a dollar
			}
		}
	}
	_, input := p["input"]
	_, output := p["output"]
	switch {
	case !input && !output:
		return nil
	case !input || !output:
		t.losses.Lose(d.name, "half a price", "only one of input_cost_per_token and output_cost_per_token is set",
			"set both in the models file")
	}
	return p
}

// providerName is a name that a provider may have here.
func providerName(text string) string {
	name := strings.Trim(notInName.ReplaceAllString(strings.ToLower(text), "-"), "-_")
	const longest = 30
	return name[:min(len(name), longest)]
}

var notInName = regexp.MustCompile(`[^a-z0-9_-]+`)
