package app

import (
	"math"
	"runtime/debug"
	"slices"
	"time"

	"modelgateway/catalog"
	"modelgateway/config"
	"modelgateway/providers/all"
	"modelgateway/services/conversation"
	"modelgateway/services/inference"
	"modelgateway/services/promptcache"
	"modelgateway/services/prompts"
	"modelgateway/services/registry"
)

// inference makes the service that calls the providers.
func (g *gateway) inference(cfg config.Config, of *derived) (err error) {
	conversations, err := conversation.NewConversations(conversation.Options{
		Store: g.store, Key: []byte(cfg.EncryptionKey.Reveal()), Previous: []byte(cfg.EncryptionKeyPrevious.Reveal()),
		Keep: cfg.ResponsesStore, Log: g.log, Now: time.Now,
	})
	if err != nil {
		return err
	}
	g.prompts, err = prompts.New(prompts.Options{
		Store: g.store, Key: []byte(cfg.EncryptionKey.Reveal()), Previous: []byte(cfg.EncryptionKeyPrevious.Reveal()),
		Keep: cfg.LogPrompts != config.LogPromptsOff, FailedOnly: cfg.LogPrompts == config.LogPromptsErrors,
		For: time.Duration(cfg.LogPromptsDays) * 24 * time.Hour, Log: g.log, Now: time.Now,
	})
	if err != nil {
		return err
	}
	g.calls = &inference.Service{
		PromptCache: promptcache.New(g.store, g.cache, time.Now),
		Simulated:   cfg.Simulator, Metrics: g.metrics, Tracer: g.tracer, Log: g.log, Now: time.Now, Answer: inference.Answered(),
	}
	g.kept = &conversation.Service{
		Handles: conversation.NewHandles(g.store, time.Now), Conversations: conversations, Router: g.calls.Router,
	}
	g.calls.Use(g.first.router)
	for _, p := range all.Settings() {
		used := func(own catalog.Provider) bool { return own.Preset == p.Name }
		if at := cfg.Providers[p.Name]; len(at.Keys) > 0 && !at.Configured() && !slices.ContainsFunc(of.catalog.Own(), used) {
			g.started.add(p.KeySetting(), p.KeySetting()+" is set without "+p.BaseURLSetting()+": "+p.Title+" is not configured")
		}
	}
	g.warnOfNoProvider(&warner{log: g.log})
	return nil
}

// models are those of new calls.
func (g *gateway) models() *registry.Models { return g.calls.Router().Models }

// bodyLimit is how many bytes running requests may have reserved together: an
// eighth of GOMEMLIMIT at most, because a body is copied while it is translated, and
// the garbage collector needs as much again, but always enough for one body.
func bodyLimit(cfg config.Config) int64 {
	bytes := cfg.MaxInFlightBytes
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		bytes = min(bytes, limit/8)
	}
	return max(bytes, cfg.MaxRequestBytes+cfg.MaxRequestBytes/16)
}

// checkModel checks an entry of a list of models.
func (g *gateway) checkModel(model string) error { return g.models().Check(model) }
