package anthropic

import (
	"cmp"

	"modelgateway/llm"
)

// start begins the answer.
func (a *answer) start(m *answerMessage, yield func(*llm.Event, error) bool) bool {
	a.out = llm.NewEmitter(yield, llm.Head{
		ID: m.ID, Model: cmp.Or(m.Model, a.exchange.model), Created: a.exchange.provider.now().Unix(), Counter: a,
		ServiceTier: m.Usage.tier(),
	})
	a.out.Malformed = a.exchange.provider.client.Malformed
	a.id, a.usage = m.ID, m.Usage // which the first event may be asked for
	return a.out.Begin(0) && a.message(m)
}

// message takes what a message holds already.
func (a *answer) message(m *answerMessage) bool {
	a.usage = m.Usage
	for i := range m.blocks {
		if !a.startBlock(i, &m.blocks[i]) || !a.stopBlock(i) {
			return false
		}
	}
	a.ends(&m.ending)
	return true
}

// ends takes what is said of the ending.
func (a *answer) ends(e *ending) {
	if e.StopReason != "" {
		a.ending.StopReason, a.early = e.StopReason, false
	}
	if e.StopSequence != "" {
		a.ending.StopSequence = e.StopSequence
	}
	if e.StopDetails != nil {
		a.ending.StopDetails = e.StopDetails
	}
}

// startAgain handles another message_start. Some proxies send the same one twice, or try
// another upstream before anything has been shown: then the answer starts over, but for its
// id, which has been sent. Another message inside an answer would be a mixture of two.
func (a *answer) startAgain(m *answerMessage) bool {
	if m.ID == "" || m.ID == a.id {
		return true
	}
	err := errOtherMessage
	if !a.out.Shown() {
		*a = answer{exchange: a.exchange, out: a.out, id: m.ID}
		if err = m.readBlocks(); err == nil {
			return a.message(m)
		}
	}
	a.out.Fail(a.exchange.provider.client.Malformed(err))
	return false
}
