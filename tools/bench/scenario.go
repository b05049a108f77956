package main

import (
	"cmp"
	"slices"
	"time"

	"modelgateway/tools/rig"
)

// scenario is one line of closed-loop load.
type scenario struct {
	name  string
	job   rig.Job
	conns int
	base  string  // the scenario with whose job the floor is measured; empty: with its own
	chat  string  // the scenario of chat completions with which it is compared in place of a floor
	model string  // the model whose same calls it is compared with in place of a floor
	cpu   float64 // goal: processor time at most this multiple of the floor's; 0: none
	rate  float64 // goal: requests a second at least this multiple; 0: none
}

const (
	loopConns  = 16
	pacedConns = 64
)

// scenarios is the closed-loop part of the table, in its order.
func scenarios() []scenario {
	const short, long = 200, 32 << 10
	all := []scenario{
		{name: "answer-openai-200B", job: rig.Job{Model: rig.OpenAIModel, Prompt: rig.Prompt(short)}, cpu: 1.3, rate: 0.8},
		{name: "answer-openai-32KiB", job: rig.Job{Model: rig.OpenAIModel, Prompt: rig.Prompt(long)}, cpu: 1.0, rate: 0.8},
		{name: "answer-anthropic-200B", job: rig.Job{Model: rig.AnthropicModel, Prompt: rig.Prompt(short)}, base: "answer-openai-200B", cpu: 1.5},
		{name: "answer-gemini-200B", job: rig.Job{Model: rig.GeminiModel, Prompt: rig.Prompt(short)}, base: "answer-openai-200B", cpu: 1.5},
		{name: "stream-openai", job: rig.Job{Model: rig.OpenAIModel, Prompt: rig.Prompt(short), Stream: true}, cpu: 1.2},
		{name: "stream-anthropic", job: rig.Job{Model: rig.AnthropicModel, Prompt: rig.Prompt(short), Stream: true}, base: "stream-openai", cpu: 3},
		{name: "stream-gemini", job: rig.Job{Model: rig.GeminiModel, Prompt: rig.Prompt(short), Stream: true}, base: "stream-openai", cpu: 3},
		{name: "stream-openai-paced", job: rig.Job{Model: rig.OpenAIModel, Prompt: rig.Prompt(short, rig.WordPaced), Stream: true}, conns: pacedConns},
		{
			name:  "stream-anthropic-paced",
			job:   rig.Job{Model: rig.AnthropicModel, Prompt: rig.Prompt(short, rig.WordPaced), Stream: true},
			conns: pacedConns,
			base:  "stream-openai-paced",
		},
		{
			name:  "stream-gemini-paced",
			job:   rig.Job{Model: rig.GeminiModel, Prompt: rig.Prompt(short, rig.WordPaced), Stream: true},
			conns: pacedConns,
			base:  "stream-openai-paced",
		},
	}
	all = append(all, messagesScenarios()...)
	all = append(all, bedrockScenarios()...)
	all = append(all, responsesScenarios()...)
	all = append(all, historyScenarios()...)
	all = append(all, scenario{
		name: "embeddings-100x1536", job: rig.Job{Model: rig.EmbeddingModel, Prompt: rig.Prompt(short), API: rig.EmbeddingsAPI}, cpu: 1.2,
	})
	for i := range all {
		if all[i].conns == 0 {
			all[i].conns = loopConns
		}
	}
	return all
}

// messagesScenarios are those of clients that speak the Messages API: natively to
// Anthropic, compared with what chat completions cost natively to OpenAI, and translated.
func messagesScenarios() []scenario {
	const short, turn, turns = 200, 4 << 10, 255 // turns of 4 KiB: a history of 1 MiB
	native := rig.Job{Model: rig.AnthropicModel, Prompt: rig.Prompt(short), API: rig.MessagesAPI}
	translated := native
	translated.Model = rig.OpenAIModel
	return []scenario{
		{name: "messages-native-200B", job: native, chat: "answer-openai-200B", cpu: 1.1},
		{name: "messages-native-stream", job: streamed(native), chat: "stream-openai", cpu: 1.1},
		{name: "messages-openai-200B", job: translated, base: "answer-openai-200B", cpu: 1.5},
		{name: "messages-openai-stream", job: streamed(translated), base: "stream-openai", cpu: 3},
		{name: "answer-openai-1MiB", job: rig.Job{Model: rig.OpenAIModel, Prompt: rig.Prompt(turn), Turns: turns}},
		{
			name: "messages-native-1MiB", job: rig.Job{Model: rig.AnthropicModel, Prompt: rig.Prompt(turn), Turns: turns, API: rig.MessagesAPI},
			chat: "answer-openai-1MiB", cpu: 1.2,
		},
	}
}

// bedrockScenarios are Claude at Bedrock, natively, compared with the same calls to Anthropic: each
// is signed, and its stream comes in frames.
func bedrockScenarios() []scenario {
	const short, long = 200, 32 << 10
	call := rig.Job{Model: rig.BedrockModel, Prompt: rig.Prompt(short), API: rig.MessagesAPI}
	large := call
	large.Prompt = rig.Prompt(long)
	return []scenario{
		{name: "bedrock-200B", job: call, model: rig.AnthropicModel, cpu: 1.3},
		{name: "bedrock-32KiB", job: large, model: rig.AnthropicModel, cpu: 1.3},
		{name: "bedrock-stream", job: streamed(call), model: rig.AnthropicModel, cpu: 1.5},
		{name: "bedrock-stream-32KiB", job: streamed(large), model: rig.AnthropicModel, cpu: 1.5},
	}
}

// responsesScenarios are those of clients that speak the Responses API: natively to
// OpenAI, compared with what chat completions cost natively to it, and translated.
func responsesScenarios() []scenario {
	const short, turn, turns = 200, 4 << 10, 255 // as messagesScenarios
	native := rig.Job{Model: rig.OpenAIModel, Prompt: rig.Prompt(short), API: rig.ResponsesAPI}
	translated := native
	translated.Model = rig.AnthropicModel
	return []scenario{
		{name: "responses-native-200B", job: native, chat: "answer-openai-200B", cpu: 1.1},
		{name: "responses-native-stream", job: streamed(native), chat: "stream-openai", cpu: 1.1},
		{name: "responses-anthropic-200B", job: translated, base: "answer-openai-200B", cpu: 1.5},
		{name: "responses-anthropic-stream", job: streamed(translated), base: "stream-openai", cpu: 3},
		{
			name: "responses-native-1MiB", job: rig.Job{Model: rig.OpenAIModel, Prompt: rig.Prompt(turn), Turns: turns, API: rig.ResponsesAPI},
			chat: "answer-openai-1MiB", cpu: 1.2,
		},
	}
}

// historyScenarios translate a history of 1 MiB in each direction, whole and as a stream.
func historyScenarios() []scenario {
	const turn, turns = 4 << 10, 255 // as messagesScenarios
	history := rig.Job{Model: rig.OpenAIModel, Prompt: rig.Prompt(turn), Turns: turns}
	all := []scenario{{name: "stream-openai-1MiB", job: streamed(history)}}
	for _, d := range []struct {
		name, model string
		api         rig.ClientAPI
	}{
		{"anthropic", rig.AnthropicModel, rig.ChatCompletions}, {"gemini", rig.GeminiModel, rig.ChatCompletions}, {"messages-openai", rig.OpenAIModel, rig.MessagesAPI},
		{"messages-gemini", rig.GeminiModel, rig.MessagesAPI}, {"responses-anthropic", rig.AnthropicModel, rig.ResponsesAPI},
		{"responses-gemini", rig.GeminiModel, rig.ResponsesAPI},
	} {
		j := history
		j.Model, j.API = d.model, d.api
		all = append(all, scenario{name: "answer-" + d.name + "-1MiB", job: j, base: "answer-openai-1MiB"},
			scenario{name: "stream-" + d.name + "-1MiB", job: streamed(j), base: "stream-openai-1MiB"})
	}
	return all
}

// streamed is the job with a stream as its answer.
func streamed(j rig.Job) rig.Job {
	j.Stream = true
	return j
}

// forPeers reports whether other gateways are measured with it too: those that
// need only OpenAI.
func (s scenario) forPeers() bool { return s.base == "" && s.job.API == rig.ChatCompletions }

// perUnit is the processor time for one request, or for one chunk of a stream,
// in microseconds; below zero: not known.
func (s scenario) perUnit(f figures) float64 {
	if f.cpu < 0 || f.Calls == 0 {
		return -1
	}
	units := f.Calls
	if s.job.Stream {
		units *= rig.ContentChunks
	}
	return float64(f.cpu) / float64(time.Microsecond) / float64(units)
}

func (s scenario) unit() string {
	if s.job.Stream {
		return "CPU µs/chunk"
	}
	return "CPU µs/request"
}

// beside names the scenario that the ratio is with, where that is not the floor.
func (s scenario) beside() string {
	switch {
	case s.model != "":
		return ", beside the same with " + s.model
	case s.chat != "":
		return ", beside the gateway's " + s.chat
	}
	return ""
}

// own is the job of the gateway with which it is compared in place of a floor.
func (s scenario) own() (j rig.Job, ok bool) {
	switch {
	case s.model != "":
		j = s.job
		j.Model = s.model
		return j, true
	case s.chat != "":
		return jobOf(s.chat), true
	}
	return j, false
}

// measured is the figures of one scenario's target, one for each round.
type measured struct {
	cpu, rate []float64
}

// loops measures the requested scenarios, and adds their rows. What a scenario is compared
// with is measured just before or after it: the speed of a shared machine changes within
// seconds.
func (b *bench) loops() error {
	got := map[string]*measured{} // by scenario and column
	for round := range b.rounds {
		for _, s := range scenarios() {
			if !b.wants(s.name) {
				continue
			}
			for _, one := range b.sides(s, round) {
				if b.ctx.Err() == nil {
					b.loop(s, one, round, got)
				}
			}
		}
		b.newRound()
	}
	for _, s := range scenarios() {
		b.rowsOf(s, got)
	}
	return b.ctx.Err()
}

// side is one measurement of a scenario.
type side struct {
	column string // compared, or the target's name
	target target
	job    rig.Job
}

// compared is the side that the others of a scenario are compared with.
const compared = "compared with"

// sides are the measurements of a scenario in the order of a round.
func (b *bench) sides(s scenario, round int) []side {
	var all []side
	own, hasOwn := s.own()
	for _, t := range b.targets {
		switch t.name {
		case floorName:
			if !hasOwn {
				all = append(all, side{compared, t, jobOf(cmp.Or(s.base, s.name))})
			}
		case gatewayName, besideName:
			if hasOwn && t.name == gatewayName {
				all = append(all, side{compared, t, own})
			}
			all = append(all, side{t.name, t, s.job})
		default:
			if s.forPeers() {
				all = append(all, side{t.name, t, s.job})
			}
		}
	}
	if round%2 == 1 {
		slices.Reverse(all)
	}
	return all
}

// jobOf is the job of the scenario with a name.
func jobOf(name string) rig.Job {
	all := scenarios()
	return all[slices.IndexFunc(all, func(s scenario) bool { return s.name == name })].job
}

func (b *bench) loop(s scenario, one side, round int, got map[string]*measured) {
	f := b.load(one.target, one.job, s.conns)
	key := s.name + " " + one.column
	if got[key] == nil {
		got[key] = new(measured)
	}
	cpu, rate := s.perUnit(f), f.Rate()
	got[key].cpu, got[key].rate = append(got[key].cpu, cpu), append(got[key].rate, rate)
	b.say("round %d  %-24s %-13s %8.1f %-15s %8.0f requests/s", round+1, s.name, one.column, cpu, s.unit(), rate)
}

func (b *bench) rowsOf(s scenario, got map[string]*measured) {
	base := got[s.name+" "+compared]
	for _, t := range b.targets[1:] {
		own := got[s.name+" "+t.name]
		if own == nil || base == nil {
			continue
		}
		cpu := row{scenario: s.name, unit: s.unit() + s.beside(), target: t.name, floor: base.cpu, value: own.cpu}
		cpu.ratio = ratios(own.cpu, base.cpu)
		rate := row{scenario: s.name, unit: "requests/s" + s.beside(), target: t.name, floor: base.rate, value: own.rate}
		rate.ratio = ratios(own.rate, base.rate)
		if s.cpu > 0 && t.name == gatewayName {
			cpu.atMost(s.cpu)
		}
		if s.rate > 0 && t.name == gatewayName {
			rate.atLeast(s.rate)
		}
		b.rows = append(b.rows, cpu)
		if s.conns != pacedConns { // its rate depends on the pace, not on the gateway
			b.rows = append(b.rows, rate)
		}
	}
}
