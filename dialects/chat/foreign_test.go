package chat

import "testing"

func TestForeignMembersAreNamed(t *testing.T) {
	const hi = `"model":"m","messages":[{"role":"user","content":"hi"}]`
	for body, want := range map[string]string{
		`{` + hi + `}`: "",
		`{` + hi + `,"temperature":1,"stream":true,"stream_options":{"include_usage":true,"include_obfuscation":false}}`: "",
		`{` + hi + `,"top_k":1,"thinking":{"type":"enabled","budget_tokens":1024},"cache_control":{"type":"ephemeral"}}`: "",
		`{` + hi + `,"verbosity":"low","store":false,"prompt_cache_key":"a","prompt_cache_options":{"mode":"implicit"},
			"prediction":{"type":"content","content":[{"type":"text","text":"n"}]},"metadata":{"model":"a","provider":"b"}}`: "",
		`{` + hi + `,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"model":{"type":"string"},
			"n":{"type":"integer"}}}}}],"response_format":{"type":"json_schema","json_schema":{"name":"s","schema":{"properties":{"route":{}}}}}}`: "",
		`{` + hi + `,"models":["other"]}`:                                       "models",
		`{` + hi + `,"route":"fallback"}`:                                       "route",
		`{` + hi + `,"provider":{"order":["x"]}}`:                               "provider",
		`{` + hi + `,"plugins":[{"id":"web"}]}`:                                 "plugins",
		`{` + hi + `,"MODEL":"other"}`:                                          "MODEL",
		`{` + hi + `,"N":50}`:                                                   "N",
		`{` + hi + `,"Max_Tokens":100000}`:                                      "Max_Tokens",
		`{` + hi + `,"SERVICE_TIER":"priority"}`:                                "SERVICE_TIER",
		`{` + hi + `,"best_of":20}`:                                             "best_of",
		`{` + hi + `,"min_tokens":2}`:                                           "min_tokens",
		`{` + hi + `,"extra_body":{}}`:                                          "extra_body",
		`{` + hi + `,"moderation":{"model":"dear"}}`:                            "moderation",
		`{` + hi + `,"stream":true,"stream_options":{"provider":"x"}}`:          "stream_options.provider",
		`{"model":"m","messages":[{"role":"user","content":"hi","Model":"x"}]}`: "messages[].Model",
		`{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"hi","plugins":[]}]}]}`: "messages[].content[].plugins",
		`{` + hi + `,"tools":[{"type":"function","provider":"x","function":{"name":"f"}}]}`:               "tools[].provider",
	} {
		r, err := Decode(nil, []byte(body))
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		if got := r.Source.(*Request).Foreign(); got != want {
			t.Errorf("%s: %q, not %q", body, got, want)
		}
	}
}
