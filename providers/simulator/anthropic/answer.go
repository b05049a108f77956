package anthropic

import (
	"slices"

	"modelgateway/dialects/messages"
	"modelgateway/llm"
	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/reply"
	"modelgateway/providers/simulator/wire"
)

// answer writes as the gateway does, which leaves out what no client reads: the padding of
// Anthropic's events, inference_geo and context_management. Prompts of any length are
// cached, unlike Anthropic's, so that a demo with a short prompt shows it.
func (s *Service) answer(q *Request, p *reply.Prompt) wire.Answer {
	r, form := p.Reply(0), reply.Form{CallIDs: "toolu_01"}
	if r.Reasoning != "" {
		shown := q.shown(r.Reasoning)
		form.Thought = &llm.Thought{Format: llm.FormatAnthropic, Text: shown, Signature: Sign(shown)}
	}
	head := llm.Head{ID: wire.NewID("msg_01"), Model: q.answersAs, ServiceTier: "standard"}
	return wire.Answer{
		Dialect: messages.Dialect(), Request: &llm.Request{Stream: q.Stream},
		Stream: reply.Stream(head, s.cache.Usage(p, []reply.Reply{r}, 0, 1), r.Events(0, form)),
		Fault:  p.Trigger().Fault, Error: event("error", s.documented(statusOverloaded).Body),
	}
}

func event(name string, payload any) []byte {
	return slices.Concat([]byte("event: "+name+"\ndata: "), rawjson.Encode(payload), []byte("\n\n"))
}
