package responses

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/dialects/chat"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/openai/openaitest"
	"modelgateway/providers/openai/wire"
	"modelgateway/providers/providertest"
	"modelgateway/providers/upstream"
)

// recorded are bodies that OpenAI answered, and what they mean. Those with the status of
// an error have it here.
var recorded = []struct {
	file   string
	status int
	want   string
}{
	{
		"llm_responses_basic_non_streaming_0.json", 200,
		`resp_08ddf35 gpt-5.5-2026-04-23 1778037176 default (pong) stop/completed 11(0,0)+5(0)=16`,
	},
	{
		"llm_responses_basic_streaming_0.sse", 200,
		`resp_00592e6 gpt-5.5-2026-04-23 1778037177 default (pong) stop/completed 11(0,0)+5(0)=16`,
	},
	{
		"llm_responses_tool_use_0.json", 200,
		`resp_05c01d5 gpt-5.5-2026-04-23 1778037179 default {call_nJmCK multiply {"a":1231,"b":2331} 0} tool_calls/completed 58(0,0)+23(0)=81`,
	},
	{
		"llm_responses_tool_use_1.json", 200,
		`resp_07c42ac gpt-5.5-2026-04-23 1778037180 default (1231 * 2331 = 2,869,461) stop/completed 94(0,0)+17(0)=111`,
	},
	{
		"llm_responses_tool_use_streaming_0.sse", 200,
		`resp_00d64fa gpt-5.5-2026-04-23 1778037182 default {call_sVids multiply {"a":1231,"b":2331} 0} tool_calls/completed 58(0,0)+23(0)=81`,
	},
	{
		"llm_responses_tool_use_streaming_1.sse", 200,
		`resp_0dacb60 gpt-5.5-2026-04-23 1778037186 default (1231 × 2331 = **2,869,461**) stop/completed 94(0,0)+18(0)=112`,
	},
	{
		"pai_background_mode_streaming_continuation_vcr_0.sse", 200,
		`resp_078b21d gpt-4o-2024-08-06 1771881670 default (2 + 2 equals 4.) stop/completed 15(0,0)+9(0)=24`,
	},
	{
		"pai_inferred_model_name_suggestion_0.json", 400,
		`400 model_not_found model key false: The requested model 'gpt-5.2-proo' does `,
	},
	{
		"pai_model_name_suggestion_openai_responses_0.json", 400,
		`400 model_not_found model key false: The requested model 'gpt-5.2-proo' does `,
	},
	{
		"pai_multimodal_tool_return_matrix_tool_return_content_url_audio_openai_responses.json", 400,
		`400 unsupported_file input key false: The file type you uploaded is not suppor`,
	},
	{
		"pai_openai_conversation_id_streaming_provider_details_1.sse", 200,
		`resp_0100000 gpt-4.1-2025-04-14 1777431497 default (streamed) stop/completed 21(0,0)+3(0)=24`,
	},
	{
		"pai_openai_include_raw_annotations_streaming_2.sse", 200,
		`resp_0dbef2d gpt-5.2-2025-12-11 1768775279 default (2+2 = 4) stop/completed 20(0,0)+10(0)=30`,
	},
	{
		"pai_openai_previous_response_id_0.json", 200,
		`resp_1234 gpt-5 1743075629  (Open sesame! What would you like to unlock?) stop/complete 10(0,0)+1(0)=11`,
	},
	{"pai_openai_previous_response_id_1.json", 200, `resp_5678 gpt-5 1743075630  (sesame) stop/complete 10(0,0)+1(0)=11`},
	{
		"pai_openai_responses_compact_stateful_mode_stream_3.sse", 200,
		`resp_067b756 gpt-4.1-2025-04-14 1776381866 default (2 + 2 = 4.) stop/completed 589(0,0)+9(0)=598`,
	},
	{
		"pai_openai_responses_stream_0.sse", 200,
		`resp_67e554a gpt-4o-2024-08-06 1743082657  {call_kL0PC get_capital {"country":"France"} 0} tool_calls/completed 255(0,0)+16(0)=271`,
	},
	{
		"pai_openai_responses_stream_1.sse", 200,
		`resp_67e554a gpt-4o-2024-08-06 1743082658  (The capital of France is Paris.) stop/completed 278(0,0)+9(0)=287`,
	},
	{"pai_openai_responses_verbosity_0.json", 200, `resp_test_ve gpt-5 1743075630  (4) stop/complete 10(0,0)+1(0)=11`},
	{
		"rllm_activerecord_actsas_attachment_handling_handles_attachments_in_ask_method_0.json", 200,
		`resp_0c5c443 gpt-4.1-nano-2025-04-14 1781208959 default (It looks like a red gemstone or diamond.) stop/completed 53(0,0)+10(0)=63`,
	},
	{
		"rllm_chat_assume_model_exists_works_with_models_not_in_registry_but_available_in.json", 200,
		`resp_03b50af gpt-4.1-nano-2025-04-14 1781209114 default (2 + 2 equals 4.) stop/completed 15(0,0)+9(0)=24`,
	},
	{
		"rllm_chat_error_handling_raises_an_error_when_tool_execution_fails_0.json", 200,
		`resp_052ab48 gpt-5.4-2026-03-05 1781209031 default {call_83R3G broken {} 0} tool_calls/completed 38(0,0)+14(0)=52`,
	},
	{
		"rllm_chat_error_handling_with_openai_gpt_5_nano_raises_appropriate_auth_error_0.json", 401,
		`401 invalid_api_key  key true: Incorrect API key provided: invalid-key.`,
	},
	{
		"rllm_chat_real_error_scenarios_openai_gpt_5_nano_handles_context_length_exceeded.json", 400,
		`400 context_length_exceeded input key false: Your input exceeds the context window of`,
	},
	{
		"rllm_chat_streaming_responses_openai_gpt_5_nano_reports_consistent_token_counts_.sse", 200,
		`resp_0a02cdb gpt-4.1-nano-2025-04-14 1787150064 default (1, 2, 3) stop/completed 14(0,0)+8(0)=22`,
	},
	{
		"rllm_chat_streaming_responses_openai_gpt_5_nano_supports_streaming_responses_0.sse", 200,
		`resp_042970a gpt-5-nano-2025-08-07 1787150061 default ~ 2 rs_04297 gAAAA(2468) openai-responses-v1 gpt-6-sol true~ (1, 2, 3) stop/completed 13(0,0)+284(256)=297`,
	},
	{
		"rllm_context_context_chat_operations_uses_context_specific_api_keys_0.json", 401,
		`401 invalid_api_key  key true: Incorrect API key provided: test-con****`,
	},
	{
		"rllm_error_handles_invalid_api_keys_gracefully_0.json", 401,
		`401 invalid_api_key  key true: Incorrect API key provided: invalid-key.`,
	},
	{
		"rllm_fc_openai_gpt_5_nano_tools_with_multi_turn_streaming_conversations_0.sse", 200,
		`resp_07ee875 gpt-5-nano-2025-08-07 1787150252 default ~ 2 rs_07ee8 gAAAA(3172) openai-responses-v1 gpt-6-sol true~ {call_E9m0f weather {"latitude":"52.5200","longitude":"13.4050"} 0} tool_calls/completed 87(0,0)+339(256)=426`,
	},
	{
		"rllm_fc_openai_gpt_5_nano_tools_with_multi_turn_streaming_conversations_2.sse", 200,
		`resp_08207ef gpt-5-nano-2025-08-07 1787150257 default ~ 2 rs_08207 gAAAA(2232) openai-responses-v1 gpt-6-sol true~ {call_eX5cp weather {"latitude":"48.8575","longitude":"2.3514"} 0} tool_calls/completed 197(0,0)+224(192)=421`,
	},
	{
		"rllm_fc_openai_gpt_5_nano_tools_with_multi_turn_streaming_conversations_3.sse", 200,
		`resp_00b6a93 gpt-5-nano-2025-08-07 1787150260 default ~ 2 rs_00b6a gAAAA(1996) openai-responses-v1 gpt-6-sol true~ (Paris (48.8575, 2.3514): 15°C, wind 10 km/h.) stop/completed 453(0,0)+227(192)=680`,
	},
	{
		"rllm_fc_openai_gpt_5_nano_tools_without_parameters_in_multi_turn_streaming_conve.sse", 200,
		`resp_0216a3d gpt-5-nano-2025-08-07 1787150229 default ~ 2 rs_0216a gAAAA(2680) openai-responses-v1 gpt-6-sol true~ {call_gAlMK best_language_to_learn {} 0} tool_calls/completed 58(0,0)+248(192)=306`,
	},
}

// respondingTo is a call of the Responses API for a client of another dialect.
func respondingTo(t testing.TB, members string) *respondingExchange {
	t.Helper()
	req, err := chat.Decode(nil, []byte(openaitest.Hello+members+`}`))
	if err != nil {
		t.Fatal(err)
	}
	p := apiAt("http://127.0.0.1:1")
	x, err := p.respond(providers.Call{Request: providertest.Foreign(req), Model: openaitest.Model(t, "gpt-6-sol")})
	if err != nil {
		t.Fatal(err)
	}
	return x.(*respondingExchange)
}

// streamed reads a stream from a text.
func (x *respondingExchange) streamed(t testing.TB, body io.Reader) (llm.Stream, error) {
	t.Helper()
	return x.events(t.Context(), upstream.NewEvents(io.NopCloser(body)))
}

// collected is the answer of a stream.
func (x *respondingExchange) collected(t testing.TB, body string) (*llm.Answer, error) {
	t.Helper()
	stream, err := x.streamed(t, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	return llm.Collect(stream)
}

func TestRecordedResponsesMeanTheSameInTheCommonForm(t *testing.T) {
	for _, r := range recorded {
		t.Run(r.file, func(t *testing.T) {
			body, err := os.ReadFile(filepath.Join("testdata", "responses", r.file))
			if err != nil {
				t.Fatal(err)
			}
			got := meaningOfRecording(t, r.status, string(body), strings.HasSuffix(r.file, ".sse"))
			if got != r.want {
				t.Errorf("got  %s\nwant %s", got, r.want)
			}
		})
	}
	files, err := os.ReadDir(filepath.Join("testdata", "responses"))
	if err != nil || len(files) != len(recorded) {
		t.Errorf("%d files, %d of them are read: %v", len(files), len(recorded), err)
	}
}

func meaningOfRecording(t *testing.T, status int, body string, streamed bool) string {
	t.Helper()
	x := respondingTo(t, `,"stream":true`)
	var answer *llm.Answer
	var err error
	switch {
	case status != 200:
		r := wire.ReadRefusal(status, []byte(body))
		return fmt.Sprintf("%d %s %s key %t: %.40s", r.Status, r.Code, r.Param, r.Key, r.Message)
	case streamed:
		if answer, err = x.collected(t, body); err == nil {
			sameAsCompleted(t, x, answer, body)
		}
	default:
		var stream llm.Stream
		if stream, err = x.readWhole([]byte(body)); err == nil {
			answer, err = llm.Collect(stream)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return shownAnswer(answer)
}

// sameAsCompleted checks that the pieces of a stream are what its last event has as a
// whole.
func sameAsCompleted(t *testing.T, x *respondingExchange, pieces *llm.Answer, body string) {
	t.Helper()
	at := strings.LastIndex(body, "data: ")
	var last struct {
		Response jsontext.Value `json:"response"`
	}
	if err := json.Unmarshal([]byte(strings.TrimSpace(body[at+len("data: "):])), &last); err != nil {
		t.Fatal(err)
	}
	stream, err := x.readWhole(last.Response)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := llm.Collect(stream)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := shownAnswer(pieces), shownAnswer(whole); a != b {
		t.Errorf("in pieces %s\nas a whole %s", a, b)
	}
}

// shownAnswer is an answer in short.
func shownAnswer(a *llm.Answer) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%.12s %s %d %s", a.ID, a.Model, a.Created, a.ServiceTier)
	for _, c := range a.Choices {
		for _, block := range c.Blocks {
			switch block.Kind {
			case llm.BlockCall:
				fmt.Fprintf(&b, " {%.10s %s %s %d}", block.Call.ID, block.Call.Name, block.Call.Input, block.Call.Kind)
			case llm.BlockThought:
				th := block.Thought
				fmt.Fprintf(&b, " ~%s %d %.8s %.5s(%d) %s %s %t~", th.Text, th.Kind, th.ItemID, th.Data, len(th.Data), th.Format, th.Model,
					th.WithCalls)
			case llm.BlockRefusal:
				fmt.Fprintf(&b, " !%s!", block.Text)
			default:
				fmt.Fprintf(&b, " (%s)", block.Text)
			}
		}
		for _, s := range c.Citations {
			fmt.Fprintf(&b, " [%s %s %d-%d]", s.URL, s.Title, s.Start, s.End)
		}
		fmt.Fprintf(&b, " %s/%s%s", c.Finish, c.NativeReason, c.StopSequence)
	}
	if u := a.Usage; u != nil {
		fmt.Fprintf(&b, " %d(%d,%d)+%d(%d)=%d", u.Input, u.Cached, u.CacheWrite, u.Output, u.Reasoning, u.Total)
	}
	return b.String()
}
