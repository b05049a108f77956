package config

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"

	"modelgateway/internal/spelling"
)

// knownNames lists all names that are read.
func knownNames(settings []row) []string {
	var names []string
	for _, s := range settings {
		names = append(names, s.Name)
		if s.Secret {
			names = append(names, s.Name+"_FILE")
		}
	}
	return names
}

// reportMisspelt reports unknown names that were probably meant as a setting:
// ignoring REQUIRE_ATUH=true would leave the gateway open to all.
func (l *loader) reportMisspelt(environ map[string]string) {
	for name := range sorted(environ) {
		if slices.Contains(l.known, name) || slices.Contains(foreignNames, name) || isComposeName(name) {
			continue
		}
		meant := nearest(name, l.known)
		if keySetting(name) == meant && environ[meant] != "" {
			continue // of another program, beside the gateway's
		}
		if meant != "" {
			l.fault("%s", misspelt(name, meant))
		}
	}
}

func misspelt(name, meant string) string {
	return oneLine(name) + " is not a setting; did you mean " + meant + "?"
}

// sorted yields the names of variables in their order.
func sorted(vars map[string]string) iter.Seq[string] {
	return slices.Values(slices.Sorted(maps.Keys(vars)))
}

const (
	maxEdits  = 2 // between a misspelt name and the setting that was meant
	minLength = 8 // a shorter name is near too many others
)

// nearest returns the known name that name is probably a misspelling of, or "".
func nearest(name string, known []string) string {
	meant, best, upper := "", maxEdits+1, strings.ToUpper(name)
	if key := keySetting(upper); key != upper && slices.Contains(known, key) {
		return key
	}
	for _, candidate := range known {
		if strings.EqualFold(name, candidate) {
			return candidate
		}
		if len(name) < minLength || len(candidate) < minLength || belongsElsewhere(upper, candidate) {
			continue
		}
		d := nameDistance(upper, candidate)
		if lacksWords(upper, candidate) {
			d = 0
		}
		if d < best {
			meant, best = candidate, d
		}
	}
	return meant
}

// keySetting is the setting of a provider's key that a name such as OPENAI_KEY or CLAUDE_API_KEY means.
func keySetting(name string) string {
	provider, isKey := strings.CutSuffix(name, "_KEY")
	if !isKey {
		return name
	}
	provider = strings.TrimSuffix(provider, "_API")
	if provider == "CLAUDE" {
		provider = "ANTHROPIC"
	}
	return provider + "_API_KEY"
}

// lacksWords reports whether the last words of a known name are missing, as in
// MAX_BUDGET=5, which would leave the gateway without a budget. A name of one
// word may belong to another program.
func lacksWords(name, known string) bool {
	return strings.Contains(name, "_") && strings.HasPrefix(known, name+"_")
}

// belongsElsewhere reports whether a name is near a known one only by accident:
// it has a prefix, as in DD_LOG_LEVEL, or a short word differs, as in REDIS_SSL.
func belongsElsewhere(name, known string) bool {
	if strings.HasSuffix(name, "_"+known) {
		return true
	}
	if strings.Count(name, "_") != strings.Count(known, "_") {
		return false
	}
	words, knownWords := strings.Split(name, "_"), strings.Split(known, "_")
	for i, word := range knownWords {
		if len(word) <= 3 && spelling.Distance(words[i], word, maxEdits) > 1 {
			return true
		}
	}
	return false
}

// nameDistance counts the edits between two names. Missing underscores count as
// none.
func nameDistance(a, b string) int {
	bareA, bareB := strings.ReplaceAll(a, "_", ""), strings.ReplaceAll(b, "_", "")
	return min(spelling.Distance(a, b, maxEdits), spelling.Distance(bareA, bareB, maxEdits))
}

// isCloudName says whether a variable is one of the clouds' own programs, which read the
// credentials of calls from them.
func isCloudName(name string) bool {
	return slices.ContainsFunc([]string{
		"AWS_", "GOOGLE_APPLICATION_", "GOOGLE_CLOUD_", "GCE_METADATA_", "IDENTITY_",
		"AZURE_TENANT_", "AZURE_CLIENT_", "AZURE_FEDERATED_", "AZURE_AUTHORITY_",
	}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// ambient is a variable of the clouds' own programs, of the environment or the .env file.
func (l *loader) ambient(name string) string { return cmp.Or(l.environ[name], l.Ambient[name]) }

// foreignNames are variables of other programs that are near a setting.
var foreignNames = []string{
	"EMULATOR", "RATE_LIMIT",
	"LLM_API_KEY", "LLM_BASE_URL", "AI_API_KEY", "AI_BASE_URL", // of many programs, near VLLM_ and XAI_
	"GROK_API_KEY", "GROK_BASE_URL", // xAI, not Groq
	"GENAI_API_KEY",                      // IBM watsonx, Google's older SDK
	"IAP_CLIENT_ID", "IAP_CLIENT_SECRET", // Google Identity-Aware Proxy
	"ADP_CLIENT_ID", "ADP_CLIENT_SECRET",
}
