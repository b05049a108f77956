package takeover

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/api/limit"
	"modelgateway/models"
	"modelgateway/services/litellm"
)

// or are the limits, and those of a budget that they name where there are none.
func or(l, budget litellm.Limits) litellm.Limits {
	if l.MaxBudget == nil && budget.MaxBudget != nil {
		l.MaxBudget, l.Duration, l.ResetAt = budget.MaxBudget, budget.Duration, budget.ResetAt
	}
	l.RPM, l.TPM, l.MaxParallel = cmp.Or(l.RPM, budget.RPM), cmp.Or(l.TPM, budget.TPM), cmp.Or(l.MaxParallel, budget.MaxParallel)
	return l
}

// limit sets the limits, and what is spent in the present window. A limit of 0 there refuses every call, and so does the list
// of models here.
func (p *Plan) limit(t *Taken, of string, l litellm.Limits, dollars float64) {
	numbers := t.Limits.All()
	for i, value := range []*int64{l.RPM, l.TPM, l.MaxParallel} {
		switch {
		case value == nil:
		case *value <= 0:
			t.Limits.Models = noModel
			p.notes.Note(of, "", "a limit of 0 refuses every call: it may use no model here", "")
		default:
			*numbers[i].Value = min(*value, limit.Max)
		}
	}
	if l.ResetAt.IsZero() || l.ResetAt.After(p.now) {
		t.Spent = litellm.Micros(dollars)
	}
	if l.MaxBudget == nil {
		return
	}
	window, exact := litellm.Window(l.Duration)
	t.Limits.Budget, t.Limits.BudgetWindow = litellm.Micros(*l.MaxBudget), models.Window(window)
	t.SpentDay = t.Limits.BudgetWindow.FirstDay(p.now)
	if !exact {
		p.notes.Lose(of, "", fmt.Sprintf("a budget for %s is one for each %s here", l.Duration, window), "set another budget")
	}
}

// models is the list of models of LiteLLM as one of ours. What is not understood allows nothing.
func (p *Plan) models(of string, list, groups []string, inTeam bool) models.Names {
	if len(list) == 0 {
		return ""
	}
	var allowed []string
	for _, entry := range list {
		switch members := p.groups[entry]; {
		case entry == "all-proxy-models" || entry == "*" || entry == "all-team-models" && inTeam:
			return ""
		case entry == "all-team-models" || entry == noModel:
		case members != nil:
			allowed = append(allowed, members...)
		default:
			allowed = append(allowed, entry)
		}
	}
	for _, group := range groups {
		allowed = append(allowed, p.groups[group]...)
	}
	return names(slices.DeleteFunc(allowed, func(entry string) bool {
		name, _ := strings.CutSuffix(entry, "*")
		bad := name == "" || strings.ContainsAny(name, "*, ") || strings.ContainsFunc(name, api.Invisible)
		if bad {
			p.notes.Lose(of, "", fmt.Sprintf("the entry %q of its models is not understood, and allows nothing", entry), "name the models")
		}
		return bad
	}))
}

// names are a list of models; an empty one allows none.
func names(all []string) models.Names {
	slices.Sort(all)
	return models.Names(cmp.Or(strings.Join(slices.Compact(all), ","), noModel))
}

// both is the list of what two lists allow.
func both(a, b models.Names) models.Names {
	if a == "" || b == "" {
		return a + b
	}
	var all []string
	for _, of := range [][2]models.Names{{a, b}, {b, a}} {
		others := models.Limits{Models: of[1]}
		for _, entry := range of[0].List() {
			if others.Allows(entry) {
				all = append(all, entry)
			}
		}
	}
	return names(all)
}

// visible is a name as names are stored here.
func visible(name string) string {
	name = strings.TrimSpace(strings.Map(func(r rune) rune {
		if api.Invisible(r) {
			return -1
		}
		return r
	}, name))
	if runes := []rune(name); len(runes) > longestName {
		name = string(runes[:longestName])
	}
	return name
}

// loseOf lists what keys and teams have alike that is not taken.
func (p *Plan) loseOf(of string, blocked bool, modelBudgets, limits, metadata jsontext.Value) {
	if blocked {
		p.notes.Note(of, "", "is blocked: its keys are revoked here, until it is no longer", "")
	}
	if !empty(modelBudgets) || !empty(limits) {
		p.notes.Lose(of, "", "a budget for each model", "use a key for each model that has one")
	}
	var members map[string]jsontext.Value
	_ = json.Unmarshal(metadata, &members)
	for _, name := range []string{"guardrails", "model_rpm_limit", "model_tpm_limit", "enforced_params", "allowed_passthrough_routes"} {
		if !empty(members[name]) {
			p.notes.Lose(of, "", "what its metadata."+name+" asks for is not done here", "")
		}
	}
}

func empty(v jsontext.Value) bool {
	return slices.Contains([]string{"", "null", "{}", "[]", `""`}, strings.TrimSpace(string(v)))
}
