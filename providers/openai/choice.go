package openai

import (
	"context"
	"errors"
	"slices"

	"modelgateway/catalog"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
	"modelgateway/providers"
	"modelgateway/providers/openai/chat"
	"modelgateway/providers/openai/compose"
	"modelgateway/providers/openai/wire"
)

// api is which of OpenAI's APIs serves a model here.
func (p *Provider) api(m *catalog.Model) string {
	switch has := m.Traits.API; {
	case p.server.ChatOnly:
		return catalog.APIChat
	case has != "":
		return has
	case p.vendor:
		return catalog.APIBoth
	}
	return catalog.APIChat
}

// translated prepares a call of another dialect: by the Responses API where the model has
// it, since that takes more, and else by chat completions.
func (p *Provider) translated(call providers.Call) (providers.Exchange, error) {
	switch p.api(call.Model) {
	case catalog.APIResponses:
		return p.responses.Prepare(call)
	case catalog.APIBoth:
		if x, err := p.responses.Prepare(call); err == nil && !onlyChatHas(call.Request) {
			return x, nil
		}
	}
	return p.chat.Prepare(call)
}

// elsewhere prepares a call of the chat dialect that chat completions cannot serve: with
// functions for a model that would reason, they answer some models only without reasoning,
// and none of them gets its reasoning back with the results. nil means that the client's
// bytes are sent.
func (p *Provider) elsewhere(call providers.Call) (providers.Exchange, error) {
	switch p.api(call.Model) {
	case catalog.APIResponses:
		return p.responses.Prepare(call)
	case catalog.APIBoth:
		if !chat.OffersFunctions(call.Request) || !wouldReason(call) || onlyChatHas(call.Request) {
			return nil, nil //nolint:nilnil // there is nothing elsewhere
		}
		if x, err := p.responses.Prepare(call); err == nil {
			return x, nil
		}
	}
	return nil, nil //nolint:nilnil // as above: what cannot be written, chat completions may take
}

// wouldReason says whether a model reasons about a request: because it is asked to, or
// because it does by itself and is not asked otherwise.
func wouldReason(call providers.Call) bool {
	effort, traits := call.Request.Effort, call.Model.Traits
	if t := call.Request.Thinking; t != nil {
		effort = t.Type
		if t.Type == "disabled" {
			effort = wire.NoEffort
		}
	}
	switch effort {
	case "":
		return compose.ReasonsByItself(traits)
	case wire.NoEffort:
		return compose.ReasonsByItself(traits) && !slices.Contains(traits.Efforts, wire.NoEffort)
	}
	return len(traits.Efforts) > 0 || traits.Thinks(catalog.ThinkEffort)
}

// chatMembers are members of chat completions that the Responses API has not, and that the
// common form does not hold.
var chatMembers = []string{"prediction", "moderation"}

// onlyChatHas says whether a request asks for something that the Responses API has not.
func onlyChatHas(r *llm.Request) bool {
	if r.Choices > 1 || llm.Given(r.LogitBias) || r.Logprobs || r.Seed != nil || compose.NonZero(r.PresencePenalty) ||
		compose.NonZero(r.FrequencyPenalty) || llm.Given(r.Audio) || llm.Given(r.WebSearch) || slices.Contains(r.Modalities, "audio") {
		return true
	}
	if r.Source.Dialect() != llm.Chat {
		return false
	}
	for name, value := range jsonbytes.Members(r.Raw) {
		if slices.Contains(chatMembers, name.String()) && llm.Given(value) {
			return true
		}
	}
	return false
}

var errNoCounting = errors.New("chat completions cannot count the tokens of a prompt")

// count asks the Responses API for the tokens of a prompt.
func (p *Provider) count(ctx context.Context, call providers.Call, key string) (providers.Count, error) {
	if d := call.Request.Source.Dialect(); (d != llm.Responses || !p.speaks(d, call.Model)) && p.api(call.Model) == catalog.APIChat {
		return providers.Count{}, errNoCounting
	}
	return p.responses.Count(ctx, call, key)
}
