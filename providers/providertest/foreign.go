package providertest

import (
	"modelgateway/llm"
	"modelgateway/providers"
)

// Foreign is a request in a dialect that no provider speaks, so that every
// provider has to translate it from the common form.
func Foreign(req *llm.Request) *llm.Request {
	foreign := *req
	foreign.Source = foreignSource{req.Source}
	return &foreign
}

type foreignSource struct{ llm.Source }

func (foreignSource) Dialect() llm.Dialect { return "foreign" }

// OnlyForeign is a provider that gets every request in such a dialect.
func OnlyForeign(p providers.Provider) providers.Provider { return foreignProvider{p} }

type foreignProvider struct{ providers.Provider }

func (p foreignProvider) Abilities() providers.Abilities {
	can := p.Provider.Abilities()
	can.Speaks = nil
	return can
}

func (p foreignProvider) Prepare(call providers.Call) (providers.Exchange, error) {
	call.Request = Foreign(call.Request)
	return p.Provider.Prepare(call)
}
