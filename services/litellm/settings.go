package litellm

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// takeAliases takes the other names of models.
func (t *taking) takeAliases(settings map[string]any) {
	all := map[string]any{}
	for _, member := range []string{"model_alias_map", "model_group_alias"} {
		names, _ := settings[member].(map[string]any)
		maps.Copy(all, names)
	}
	for _, name := range sorted(all) {
		long, _ := all[name].(map[string]any)
		target := cmp.Or(text(all[name]), text(long["model"]))
		if !slices.Contains(t.Names, target) || all[target] != nil {
			t.losses.Lose(name, "aliases of models", "the model "+target+" is not taken, or is an alias itself",
				"add it to aliases of the models file by hand")
			continue
		}
		t.file.Aliases[name] = target
		t.Names = append(t.Names, name)
	}
}

// takeFallbacks takes which models stand in for others.
func (t *taking) takeFallbacks(settings map[string]any) {
	add := func(name string, to []string) {
		for _, other := range to {
			switch {
			case !t.callable(other) || name != "*" && !t.callable(name) || strings.ContainsAny(name+other, ",;=\n"):
				t.losses.Lose(name+" → "+other, "fallbacks", "a model of them is not taken", "add them to FALLBACKS by hand")
			case other != name && !slices.Contains(t.fallbacks[name], other):
				t.fallbacks[name] = append(t.fallbacks[name], other)
			}
		}
	}
	for _, member := range []string{"fallbacks", "context_window_fallbacks"} {
		for _, entry := range items[map[string]any](settings[member]) {
			for _, name := range sorted(entry) {
				add(name, items[string](entry[name]))
			}
		}
	}
	add("*", items[string](settings["default_fallbacks"]))
}

// callable says whether clients may call a name.
func (t *taking) callable(name string) bool {
	return slices.ContainsFunc(t.Names, func(one string) bool {
		before, after, pattern := strings.Cut(one, "*")
		return one == name || pattern && one != "*" && strings.HasPrefix(name, before) && strings.HasSuffix(name, after)
	})
}

// writeSettings writes the settings. closed: calls need a key there.
func (t *taking) writeSettings(settings map[string]any, closed bool) {
	set := func(name, value, was string) {
		if strings.ContainsAny(value, " \t#$\"'`\\") {
			value = "'" + strings.ReplaceAll(value, "'", `\'`) + "'"
		}
		t.Settings += fmt.Sprintf("# %s\n%s=%s\n", oneLine(was), name, value)
	}
	set("MODEL_DISCOVERY", "false", "LiteLLM serves the models of its configuration only.")
	set("RATE_LIMIT_RPM", "0", "LiteLLM has no limit that holds for all.")
	if closed {
		set("REQUIRE_AUTH", "true", "LiteLLM has a master key.")
		t.need("JWT_SECRET", "new: 32 random bytes")
	}
	timeout := "timeout"
	if settings[timeout] == nil {
		timeout = "request_timeout"
	}
	for _, of := range []struct {
		name, member      string
		least, most, unit float64
	}{
		{"MAX_RETRIES", "num_retries", 0, 5, 1},
		{"UPSTREAM_TIMEOUT_SECONDS", timeout, 1, 86400, 1},
		{"STREAM_FIRST_TOKEN_TIMEOUT_SECONDS", "stream_timeout", 1, 86400, 1},
		{"MAX_IN_FLIGHT", "global_max_parallel_requests", 1, 1e6, 1},
		{"MAX_REQUEST_BYTES", "max_request_size_mb", 1024, 1 << 30, 1 << 20},
	} {
		if n, ok := number(settings[of.member]); ok {
			set(of.name, decimal(min(max(math.Ceil(n*of.unit), of.least), of.most)), of.member+": "+decimal(n))
		}
	}
	if settings["drop_params"] == true {
		set("STRICT_PARAMS", "false", "drop_params: what a provider lacks is left out, and named in a header.")
	}
	if n, ok := number(settings["max_budget"]); ok && n > 0 {
		duration := text(settings["budget_duration"])
		name, exact := Window(duration)
		set("MAX_BUDGET_USD", decimal(n), "max_budget")
		set("MAX_BUDGET_WINDOW", name, "budget_duration: "+cmp.Or(duration, "none"))
		if !exact {
			t.losses.Note("budget_duration", "settings", "windows here are day, week and month in UTC", "the next longer is set")
		}
	}
	var fallbacks []string
	for _, name := range sorted(t.fallbacks) {
		fallbacks = append(fallbacks, name+"="+strings.Join(t.fallbacks[name], ","))
	}
	if fallbacks != nil {
		set("FALLBACKS", strings.Join(fallbacks, ";"), "fallbacks, context_window_fallbacks, and default_fallbacks of *")
	}
}

// Window is the window here of a budget for a duration. exact is false where it is the next longer one.
func Window(duration string) (name string, exact bool) {
	const day, week, month, longest = 24, 168, 720, 744 // hours
	unit := strings.TrimLeft(duration, "0123456789.")
	n, _ := number(strings.TrimSuffix(duration, unit))
	hours := n * map[string]float64{"s": 1. / 3600, "m": 1. / 60, "h": 1, "d": day, "w": week, "mo": month}[unit]
	switch {
	case hours <= 0 || hours > longest:
		return "total", duration == ""
	case hours <= day:
		return "day", hours == day
	case hours <= week:
		return "week", hours == week
	}
	return "month", hours == month
}

// Duration is the duration of LiteLLM for a window of ours, as its calls take it; empty for a total.
func Duration(window string) string {
	return map[string]string{"day": "1d", "week": "7d", "month": "1mo"}[window]
}

// listUnknown lists the members that have no counterpart.
func (t *taking) listUnknown(settings map[string]any) {
	for _, name := range sorted(settings) {
		r := remedy{thing: "settings that are not known", instead: "look whether docs/configuration.md has one"}
		for _, other := range remedies() {
			if slices.Contains(strings.Fields(other.members), name) {
				r = other
			}
		}
		taken := slices.Contains(strings.Fields(takenMembers), name) || settings[name] == "simple-shuffle"
		if !taken && !empty(settings[name]) {
			t.losses.add(name, Loss{r.thing, nothing, r.instead, r.notice})
		}
	}
}

// Members of litellm_params that are read or not needed, and those that an upstream does not have here.
const (
	readParams = `model custom_llm_provider api_base base_url api_key organization weight order timeout stream_timeout base_model
		litellm_credential_name extra_headers aws_region_name aws_access_key_id aws_secret_access_key aws_profile_name
		aws_role_name aws_external_id aws_bedrock_runtime_endpoint vertex_project vertex_location vertex_credentials
		tenant_id client_id client_secret api_version aws_session_name drop_params`
	otherParams = "rpm tpm max_parallel_requests cooldown_time max_retries num_retries"
)

// listUnknownParams lists the members of a deployment that have no counterpart.
func (t *taking) listUnknownParams(d *deployment) {
	for _, name := range sorted(d.params) {
		switch {
		case empty(d.params[name]) || units()[name] != "" || slices.Contains(strings.Fields(readParams), name):
		case slices.Contains(strings.Fields(otherParams), name):
			t.losses.Note(d.name, name+" in litellm_params", "a single upstream has no such setting here",
				"nothing: where an upstream refuses calls, the next one answers: docs/reliability.md")
		default:
			t.losses.Lose(d.name, name+" in litellm_params", "it is not taken", "let the clients send it, or set it in the models file")
		}
	}
}
