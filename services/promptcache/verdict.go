package promptcache

import (
	"bytes"
	"sync"
	"time"

	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
	"modelgateway/models"
)

// Ended is a call that a provider has answered.
type Ended struct {
	BeganAt              time.Time
	Provider, Model, Key string // that answered
	Prompt               *llm.Prompt
	Body                 [][]byte // as the provider got it; nil where it has the client's prompt as it came

	Input, Cached, Written, WrittenHour int64 // tokens, as the provider counted them
	ChargesWrites                       bool  // writing to its cache has a price: it says how much it has written
}

// Verdict says what the provider's cache had of the prompt.
type Verdict struct {
	Miss int // one of the CacheMiss constants of models
	models.CallCache
}

// In tokens: what providers cache at all, and what they may leave out of a prompt that they have:
// OpenAI reads multiples of 128.
const smallestCached, rounding = 1024, 128

// How long providers keep a prompt at least.
const usualTTL, longTTL = 5 * time.Minute, time.Hour

// End compares a call with the last one, and makes it the last one.
func (l *Look) End(e *Ended) (v Verdict) {
	if l == nil {
		return v
	}
	last, prompt := l.newest(), e.Prompt
	now := &kept{
		BeganAt: e.BeganAt.UnixMilli(), Provider: e.Provider, Model: e.Model, Key: e.Key,
		Input: e.Input, Cached: e.Cached, Written: e.Written, ChargesWrites: e.ChargesWrites,
		Hour: e.WrittenHour > 0, Sizes: sizes(prompt),
	}
	sent := sync.OnceValue(func() *llm.Prompt {
		p := promptOf(bytes.Join(e.Body, nil))
		now.Upstream, now.Covered = l.service.hashes(p, nil), len(now.Client)
		return p
	})
	if last != nil {
		now.Hour = now.Hour || e.Written == 0 && last.Hour
		if known := now.known(last); known >= smallestCached && known-now.Cached < rounding {
			v.Miss = models.CacheComplete
		}
	}
	if v.Miss == models.CacheComplete && now.Sizes == last.Sizes && last.Input-last.cacheable() < rounding {
		now.Client = l.service.hashes(prompt, last.Client.confirmed(prompt))
	} else if now.Client = l.service.hashes(prompt, nil); last != nil {
		now.compare(last, &v, prompt, sent)
	}
	const growth = 2
	switch {
	case e.Body == nil:
	case last == nil || v.Miss != models.CacheComplete || len(now.Client) >= growth*last.Covered:
		sent()
	case now.Upstream == nil: // a translation writes what it is given again as before, so that the hashes still hold
		now.Upstream, now.Covered = last.Upstream, last.Covered
	}
	l.keep(now)
	return v
}

// cacheable is how many tokens of a call's prompt its provider should know when the next one comes.
func (k *kept) cacheable() int64 {
	if k.ChargesWrites {
		return k.Cached + k.Written
	}
	return k.Input
}

// known is how much of a prompt its provider should know from the last call.
func (k *kept) known(last *kept) int64 { return min(last.cacheable(), k.Input) }

// compare says why the provider's cache did not have the last call's prompt.
func (k *kept) compare(last *kept, v *Verdict, prompt *llm.Prompt, sent func() *llm.Prompt) {
	known := k.known(last)
	at, other := last.Client.difference(k.Client)
	switch {
	case known < smallestCached || other:
		v.Miss = 0
		return
	case v.Miss == models.CacheComplete:
		return
	}
	v.PrefixKept, v.MissedTokens = float64(k.Cached*1000/known)/1000, known-k.Cached
	age, ttl := time.Duration(k.BeganAt-last.BeganAt)*time.Millisecond, usualTTL
	if last.Hour {
		ttl = longTTL
	}
	expired := age > ttl
	moved := last.Provider != k.Provider || last.Model != k.Model || last.Key != k.Key && k.Cached == 0
	translated := -1
	if !moved && at < 0 && len(last.Upstream) > 0 {
		sent()
		translated, _ = last.Upstream.difference(k.Upstream)
	}
	switch {
	case moved:
		v.Miss = models.CacheMovedUpstream
	case at >= 0 && at < firstMessage || at >= 0 && (!expired || k.Cached > 0):
		v.Miss = v.name(at, prompt)
	case translated >= 0:
		v.name(translated, sent())
		v.Miss = models.CacheTranslationChanged
	case expired:
		v.Miss = models.CacheExpired
	default:
		v.Miss = models.CacheNotReturned
	}
}

// name says which part of a prompt a hash is of, and its verdict.
func (v *Verdict) name(at int, of *llm.Prompt) (miss int) {
	switch at {
	case 0:
		v.Part = "tools"
		return models.CacheToolsChanged
	case 1:
		v.Part = "system"
		return models.CacheSystemChanged
	}
	at -= firstMessage
	v.Part, v.Message = "message", &at
	message := of.Messages[at]
	if v.Role = jsonbytes.Text(jsonbytes.Member(message, "role")); v.Role == "" {
		v.Role = jsonbytes.Text(jsonbytes.Member(message, "type")) // of an item of the Responses API
	}
	if at == 0 && (v.Role == "system" || v.Role == "developer") {
		return models.CacheSystemChanged
	}
	return models.CacheMessageChanged
}
