package controllers

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/dialects/body"
	"modelgateway/internal/jsonbytes"
	"modelgateway/services/inference"
	"modelgateway/services/inflight"
)

// liteLLM is what the members of a body ask for that LiteLLM has beside those of the APIs. They are read here and never
// sent on; the zero value asks for nothing.
type liteLLM struct {
	route      string   // of the request
	ignored    []string // names of members, in the order of the body
	fallbacks  []string // models that answer where the requested one cannot
	session    string
	noFallback bool
	drops      bool // the client wants left out what the provider does not support
}

// memberUse is what becomes of a member.
type memberUse int

const (
	memberIgnored memberUse = iota // taken out of the body, and named in the answer
	memberRefused                  // to ignore it would send a prompt elsewhere than its client wants, or another prompt
	memberRead                     // see read
)

// liteLLMMembers are those that LiteLLM reads itself (its documentation of the proxy and its list of own parameters, 2026-11).
var liteLLMMembers = sync.OnceValue(func() map[string]memberUse {
	uses := map[string]memberUse{}
	for use, names := range map[memberUse]string{
		memberRead: `metadata litellm_metadata guardrails policies fallbacks disable_fallbacks drop_params litellm_session_id`,

		memberIgnored: `tags no-log verbose litellm_trace_id litellm_call_id litellm_request_debug
			num_retries max_retries retry_policy retry_strategy cooldown_time routing_strategy enable_tag_filtering
			timeout request_timeout stream_timeout force_timeout keepalive_seconds cache caching caching_groups ttl
			context_window_fallback_dict context_window_fallbacks content_policy_fallbacks default_fallbacks max_fallbacks
			rpm tpm weight order max_budget budget_duration guardrail_config mock_response mock_timeout mock_testing_fallbacks
			mock_testing_context_fallbacks mock_testing_content_policy_fallbacks mock_testing_rate_limit_error
			additional_drop_params allowed_openai_params custom_llm_provider api_version api_type region_name allowed_model_region
			ssl_verify use_litellm_proxy model_info base_model input_cost_per_token output_cost_per_token input_cost_per_second
			output_cost_per_second merge_reasoning_content_in_choices enable_json_schema_validation ensure_alternating_roles
			supports_system_message`,

		memberRefused: `api_key api_base base_url model_list user_config organization headers extra_headers extra_body
			litellm_credential_name client_secret azure_ad_token azure_username azure_password vertex_credentials
			aws_access_key_id aws_secret_access_key aws_session_token aws_role_name aws_web_identity_token aws_sts_endpoint
			aws_bedrock_runtime_endpoint s3_endpoint_url sagemaker_base_url deployment_url prompt_id`,
	} {
		for name := range strings.FieldsSeq(names) {
			uses[name] = use
		}
	}
	return uses
})

const jsonSpace = " \t\r\n"

// take returns the body without LiteLLM's members: in its own bytes, which it changes, or a copy where model, the one
// that the path names, replaces that of the body.
func (l *liteLLM) take(text []byte, model string, memory *inflight.Slot) ([]byte, error) {
	if rest := bytes.TrimLeft(text, jsonSpace); len(rest) == 0 || rest[0] != '{' {
		return text, nil // the dialect says what is wrong
	}
	out, copied := text[:0], 0
	end, first := bytes.IndexByte(text, '{')+1, true // of the member before
	for literal, at := range jsonbytes.MembersAt(text, 0) {
		name, value := literal.Text(), jsontext.Value(at.Of(text))
		stays, err := l.member(name, value)
		if err != nil {
			return nil, err
		}
		if stays && (model == "" || string(name) != "model") {
			end, first = at.To, false
			continue
		}
		if copied == 0 && !jsontext.Value(text).IsValid() {
			return text, nil // without the member it could seem to be right
		}
		rest := at.To
		if after, isNext := bytes.CutPrefix(bytes.TrimLeft(text[rest:], jsonSpace), []byte(",")); first && isNext {
			rest = len(text) - len(after)
		}
		out = append(out, text[copied:end]...)
		copied, end = rest, rest
	}
	if copied > 0 {
		text = append(out, text[copied:]...)
	}
	if model == "" {
		return text, nil
	}
	if err := memory.Reserve(int64(len(text) + len(model))); err != nil {
		return nil, err
	}
	_, rest, _ := bytes.Cut(text, []byte("{"))
	named := jsonbytes.AppendString([]byte(`{"model":`), model)
	if !first {
		named = append(named, ',')
	}
	return append(named, rest...), nil
}

// member reads a member, and says whether it stays in the body.
func (l *liteLLM) member(name []byte, value jsontext.Value) (stays bool, err error) {
	use, known := liteLLMMembers()[string(name)]
	switch {
	case !known || !value.IsValid():
		return true, nil // also what only a checker of the whole body refuses
	case !body.Asks(value):
		return false, nil
	case use == memberRefused:
		return false, refusedMember(string(name), "keys, addresses and prompts of models are set by an operator: leave it out")
	case use == memberRead:
		return l.read(string(name), value)
	}
	l.ignore(string(name))
	return false, nil
}

func (l *liteLLM) ignore(name string) {
	if !slices.Contains(l.ignored, name) {
		l.ignored = append(l.ignored, name)
	}
}

func refusedMember(name, why string) error {
	return api.Invalid(api.CodeUnsupportedValue, name, "%s is not supported in a request: %s", name, why)
}

// read reads a member that means something here.
func (l *liteLLM) read(name string, value jsontext.Value) (stays bool, err error) {
	isTrue := value.Kind() == jsontext.KindTrue
	switch name {
	case "guardrails", "policies":
		return false, refusedMember(name, "the gateway does not have LiteLLM's guardrails, and to ignore it would skip a check")
	case "metadata", "litellm_metadata":
		if text := jsontext.Value(jsonbytes.Text(value)); text.IsValid() { // LiteLLM takes the JSON of them as well
			value = text
		} else if bytes.HasPrefix(bytes.TrimLeft(text, jsonSpace), []byte("{")) {
			return false, refusedMember(name, "its text is no JSON that every reader reads alike")
		}
		if body.Asks(jsonbytes.Member(value, "guardrails")) {
			return l.read("guardrails", value)
		}
		if name == "metadata" && l.keepsMetadata(value) {
			return true, nil
		}
		l.ignore(name)
	case "fallbacks":
		l.fallbacks, err = readFallbacks(value)
	case "litellm_session_id":
		l.session = jsonbytes.Text(value)
	case "disable_fallbacks":
		l.noFallback = isTrue
	case "drop_params":
		if l.drops = isTrue; !l.drops {
			l.ignore(name)
		}
	}
	return false, err
}

// keepsMetadata says whether the member metadata is that of the API of the route: of Anthropic's, or an object of at
// most 16 texts, as OpenAI has it, but for embeddings.
func (l *liteLLM) keepsMetadata(value jsontext.Value) bool {
	if strings.HasPrefix(l.route, "/v1/messages") {
		return true
	}
	const most = 16
	n := 0
	for _, inner := range jsonbytes.Members(value) {
		if n++; n > most || inner.Kind() != jsontext.KindString {
			return false
		}
	}
	return value.Kind() == jsontext.KindBeginObject && l.route != "/v1/embeddings"
}

// readFallbacks reads a list of names, or of objects with nothing but the name as model.
func readFallbacks(value jsontext.Value) (names []string, err error) {
	const most = 10
	wrong := api.Invalid(api.CodeInvalidValue, "fallbacks", `fallbacks must be a list of names of models, as texts or as {"model": name}`)
	for element := range jsonbytes.Elements(value) {
		if model := jsonbytes.Member(element, "model"); model != nil {
			for name := range jsonbytes.Members(element) {
				if !name.Is("model") {
					return nil, wrong
				}
			}
			element = model
		}
		name := jsonbytes.Text(element)
		switch {
		case name == "":
			return nil, wrong
		case len(names) == most:
			return nil, api.TooMany("fallbacks", most)
		case !slices.Contains(names, name):
			names = append(names, name)
		}
	}
	if names == nil {
		return nil, wrong
	}
	return names, nil
}

// apply sets what the members ask for. chosen says that a header has said whether the request is strict.
func (l *liteLLM) apply(in *inference.Input, chosen bool) error {
	in.Strict = in.Strict && (chosen || !l.drops)
	in.NoFallback = in.NoFallback || l.noFallback
	in.Request.Session = cmp.Or(in.Request.Session, l.session)
	if in.Fallbacks = l.fallbacks; len(l.fallbacks) > 0 && !in.Request.Kind.Interchangeable() {
		in.Fallbacks = nil
		l.ignore("fallbacks")
	}
	if in.Ignored = l.ignored; in.Strict && len(l.ignored) > 0 {
		return api.Invalid(api.CodeUnsupportedValue, l.ignored[0],
			"the gateway does not support %s: leave it out, or send x-gateway-strict-params: false", strings.Join(l.ignored, ", "))
	}
	return nil
}
