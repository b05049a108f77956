package responses

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/llm"
)

// FuzzDecode compares the one pass with the strict decoder. No conversation may panic, and
// each is the same whenever it is made.
func FuzzDecode(f *testing.F) {
	files, _ := filepath.Glob("testdata/requests/*.json")
	for _, file := range files {
		if body, err := os.ReadFile(file); err == nil && len(body) < 2<<10 { // of a longer one the fuzzer tries little
			f.Add(body)
		}
	}
	for _, members := range []string{
		`"input":[` + hello + `,` + called + `,` + answered + `,{"type":"compaction_trigger"}]`,
		`"input":[{"type":"shell_call","call_id":"a__mgw1_W3t9XQ","action":{}},{"type":"shell_call_output","call_id":"a__mgw1_W3t9XQ",` +
			`"output":[{"stdout":"a","outcome":{"type":"exit","exit_code":1}}]}]`,
		`"input":[{"type":"reasoning","encrypted_content":"mgw1.e30"},{"type":"local_shell_call","id":"1","action":{"type":"exec","type2":1}}]`,
		`"input":[{"type":"tool_search_call","call_id":"1","execution":"client"},{"type":"tool_search_output","call_id":"1","tools":[` +
			aFunction + `]},{"type":"additional_tools","tools":[{"type":"namespace","name":"n","tools":[{"type":"custom","name":"c"}]}]}]`,
		`"input":[{"role":"user","content":[{"type":"input_image","image_url":"data:a"},{"type":"input_file","file_data":"x"}]}],` +
			`"tool_choice":{"type":"allowed_tools","tools":[{"type":"function","name":"f"}]},"tools":[` + aFunction + `]`,
		`"input":[{"type":"configuration_update","reasoning":{"effort":"low"},"text":{"format":{"type":"json_object"}}}],"text":{}`,
	} {
		f.Add([]byte(`{"model":"m",` + members + `}`))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := Dialect{}.Decode(nil, body)
		if err != nil {
			e := api.AsError(err)
			if valid := jsontext.Value(body).IsValid() && jsontext.Value(body).Kind() == '{'; valid && e.Code == api.CodeInvalidJSON && !strings.Contains(e.Message, "deeper") {
				t.Fatalf("%q: %v", body, err)
			}
			return
		}
		if !jsontext.Value(body).IsValid() {
			t.Fatalf("taken: %q", body)
		}
		first, err := req.Source.Conversation()
		for range req.Source.Texts() {
		}
		req.Source.Ignored([]llm.Field{llm.FieldTopP, llm.FieldPartType, llm.FieldThinking})
		source := req.Source.(*Request)
		source.Foreign()
		for name := range source.called {
			if err == nil && !toolName.MatchString(name) {
				t.Fatalf("%q: the name %q", body, name)
			}
		}
		again, _ := Dialect{}.Decode(nil, body)
		second, err2 := again.Source.Conversation()
		if (err == nil) != (err2 == nil) || !reflect.DeepEqual(first, second) || dump(req) != dump(again) {
			t.Fatalf("%q: %v, %v", body, err, err2)
		}
	})
}
