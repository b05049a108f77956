package anthropic

import (
	"testing"

	"github.com/go-json-experiment/json"
)

func TestHostedToolsAreCountedUnlessTheyCostTokensOnly(t *testing.T) {
	for tools, want := range map[string][2]int64{
		`{"web_search_requests":2,"web_fetch_requests":3}`:     {2, 0},
		`{"code_execution_requests":1,"web_fetch_requests":3}`: {0, 1},
		`{}`: {0, 0},
	} {
		var u usage
		if err := json.Unmarshal([]byte(`{"input_tokens":1,"output_tokens":1,"server_tool_use":`+tools+`}`), &u); err != nil {
			t.Fatal(err)
		}
		if common := u.common(); common.Searches != want[0] || common.Tools != want[1] {
			t.Errorf("%s: %+v", tools, common)
		}
	}
}
