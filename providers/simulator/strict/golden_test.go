package strict_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/jsonbytes"
	"modelgateway/providers/simulator/openai/responses"
	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/strict"
)

// refused are the golden requests that are refused, and what the refusal
// contains. Most carry signatures that no simulated model gave.
var refused = map[string]string{
	"openai/everything_travels_on": "Unknown parameter: 'api_base'.",
	"openai/history_of_others":     "Unknown parameter: 'messages[2].name'.",
	"openai/marks_on_tools":        "schema must be a JSON Schema of 'type:",

	// The thinking stands two messages before, at the head of the same tool loop.
	"anthropic/a_longer_tool_loop_with_its_thinking": "Expected `thinking` or `redacted_thinking`, but found `tool_use`.",
	"anthropic/thinking_comes_back":                  "Invalid `signature`",
	"anthropic/thinking_comes_back_by_default":       "Invalid `signature`",

	"openai/written_JSON_mode": "Web search options not supported with this model.", // it shows every parameter

	"gemini/pictures_of_the_model":              "Corrupted thought signature.",
	"gemini/signatures_are_not_needed_before_3": "Corrupted thought signature.",
	"gemini/signatures_by_extra_content":        "Corrupted thought signature.",
	"gemini/signatures_by_reasoning_details":    "Corrupted thought signature.",
}

func TestTranslatedRequestsAreAccepted(t *testing.T) {
	files, err := filepath.Glob("../../*/testdata/golden/*.json")
	inside, errInside := filepath.Glob("../../*/*/testdata/golden/*.json") // of a package for one API of a provider
	if files = append(files, inside...); err != nil || errInside != nil || len(files) < 100 {
		t.Fatalf("%d golden files, %v, %v", len(files), err, errInside)
	}
	for _, file := range files {
		provider := strings.Split(filepath.ToSlash(file), "/")[2]
		name := provider + "/" + strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			body := jsontext.Value(text)
			model := rawjson.GetString(body, "model")
			if upstream := jsonbytes.Member(body, "upstream"); upstream != nil {
				body = upstream
			}
			if jsonbytes.Member(body, "input") != nil {
				provider = responses.Name
			}
			refusal := ""
			if f := strict.Check(provider, model, nil, body); f != nil {
				refusal = string(rawjson.Encode(f.Body))
			}
			if want, known := refused[name]; known != (refusal != "") || !strings.Contains(refusal, want) {
				t.Errorf("refused with %q, want %q", refusal, want)
			}
		})
	}
}
