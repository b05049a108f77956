package tokens

import "testing"

// The requests and the counts are recorded ones.
func TestToolsAreCountedAsOpenAIsModelsAreShownThem(t *testing.T) {
	const (
		chain = `{"model":"m","messages":[{"role":"user","content":"Can the country of Crumpet have dragons? Answer with only YES or NO"},` +
			`{"role":"assistant","tool_calls":[{"type":"function","id":"call_TTY8UFNo7rNCaOBUNtlRSvMG","function":` +
			`{"name":"lookup_population","arguments":"{\"country\": \"Crumpet\"}"}}]},{"role":"tool","tool_call_id":` +
			`"call_TTY8UFNo7rNCaOBUNtlRSvMG","content":"123124"}],"tools":[{"type":"function","function":{"name":"lookup_population",` +
			`"description":"Returns the current population of the specified fictional country","parameters":{"properties":` +
			`{"country":{"type":"string"}},"required":["country"],"type":"object"}}},{"type":"function","function":{"name":"can_have_dragons",` +
			`"description":"Returns True if the specified population can have dragons, False otherwise","parameters":{"properties":` +
			`{"population":{"type":"integer"}},"required":["population"],"type":"object"}}}]}`
		wiki = `{"model":"m","messages":[{"content":"Can you tell me more about the pydantic/pydantic-ai repo? Keep your answer short",` +
			`"role":"user"}],"tools":[{"function":{"description":"Get a list of documentation topics for a GitHub repository.\n\nArgs:\n` +
			`    repoName: GitHub repository in owner/repo format (e.g. \"facebook/react\")","name":"read_wiki_structure","parameters":` +
			`{"additionalProperties":false,"properties":{"repoName":{"type":"string"}},"required":["repoName"],"type":"object"},` +
			`"strict":true},"type":"function"},{"function":{"description":"View documentation about a GitHub repository.\n\nArgs:\n` +
			`    repoName: GitHub repository in owner/repo format (e.g. \"facebook/react\")","name":"read_wiki_contents","parameters":` +
			`{"additionalProperties":false,"properties":{"repoName":{"type":"string"}},"required":["repoName"],"type":"object"},` +
			`"strict":true},"type":"function"},{"function":{"description":"Ask any question about a GitHub repository and get an AI-powered,` +
			` context-grounded response.\n\nArgs:\n    repoName: GitHub repository or list of repositories (max 10) in owner/repo format\n` +
			`    question: The question to ask about the repository","name":"ask_question","parameters":{"additionalProperties":false,` +
			`"properties":{"question":{"type":"string"},"repoName":{"anyOf":[{"type":"string"},{"items":{"type":"string"},"type":"array"}]}},` +
			`"required":["repoName","question"],"type":"object"},"strict":true},"type":"function"}]}`
		weather = `{"model":"m","messages":[{"content":"What's the weather in Paris?","role":"user"}],"tools":[{"function":{"description":` +
			`"Get weather for a city","name":"get_weather","parameters":{"additionalProperties":false,"properties":{"city":{"type":` +
			`"string"}},"required":["city"],"type":"object"},"strict":true},"type":"function"},{"function":{"description":"Get time in a ` +
			`timezone","name":"get_time","parameters":{"additionalProperties":false,"properties":{"timezone":{"type":"string"}},"required":` +
			`["timezone"],"type":"object"},"strict":true},"type":"function"}]}`
		none = `{"model":"m","messages":[{"role":"user","content":"What is the capital of Mexico?"}]}`
	)
	e := theEstimator()
	for _, tt := range []struct {
		body    string
		reasons bool
		want    int64
	}{{chain, false, 118}, {wiki, false, 213}, {weather, true, 150}, {none, false, 14}, {none, true, 14}} {
		got, err := e.ForOpenAI(decoded(t, tt.body), tt.reasons)
		if off := max(got-tt.want, tt.want-got); err != nil || off*100 > tt.want*6 {
			t.Errorf("%.80s: %d tokens, not %d, %v", tt.body, got, tt.want, err)
		}
	}
}

func TestSchemasOfAnyFormAreCounted(t *testing.T) {
	e := theEstimator()
	count := func(schema string) int64 {
		n, err := e.ForOpenAI(decoded(t, `{"model":"m","messages":[{"role":"user","content":"a"}],"tools":[{"type":"function","function":`+
			`{"name":"f","description":"d","parameters":`+schema+`}}]}`), false)
		if err != nil {
			t.Error(err)
		}
		return n
	}
	plain := count(`{"type":"object","properties":{}}`)
	inner := count(`{"type":"object","properties":{"a":{"type":"object","description":"an object","properties":{"b":{"type":"string",` +
		`"enum":["one","two"]}}},"c":{"type":["string","null"]},"d":{"type":"array","items":{"type":"object","properties":{"e":{}}}}}}`)
	if plain < 20 || inner < plain+30 {
		t.Errorf("%d and %d tokens", plain, inner)
	}
	for _, schema := range []string{`{"properties":[]}`, `{"properties":{"a":null}}`, `{"type":"object","items":7}`} {
		if n := count(schema); n < 10 {
			t.Errorf("%s: %d tokens", schema, n)
		}
	}
}
