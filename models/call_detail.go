package models

import (
	"strings"

	"github.com/go-json-experiment/json"

	"modelgateway/catalog"
)

// CallDetail is what only some calls have. Most have none of it.
type CallDetail struct {
	Attempts []CallAttempt `json:"attempts,omitempty"` // unless the only one answered
	Ignored  []string      `json:"ignored,omitempty"`  // parameters that the provider did not support
	Costs    []CallCost    `json:"costs,omitempty"`    // unless they follow from the row and the usual price of its model
	Message  string        `json:"message,omitempty"`  // the provider's own of a call that failed, without secrets
	Cache    *CallCache    `json:"cache,omitempty"`    // of a miss
	Private  bool          `json:"private,omitempty"`  // the message is about the gateway's account: for administrators only
}

// CallAttempt is one request to a provider.
type CallAttempt struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Key      string `json:"key,omitempty"`   // the last four characters of the provider's
	StartUS  int64  `json:"start"`           // since the call began
	FirstUS  int64  `json:"first,omitempty"` // until the first event of a stream; 0 = none came
	TookUS   int64  `json:"took"`
	Status   int    `json:"status,omitempty"` // of the provider's answer; 0 = none came
	Code     string `json:"code,omitempty"`   // of its error
	Result   string `json:"result"`           // one of the Attempt constants
}

// The results of attempts.
const (
	AttemptServed    = "served"
	AttemptFailed    = "failed"
	AttemptAbandoned = "abandoned" // the client left, or another attempt was quicker
)

// CallCost is a part of the cost of a call.
type CallCost struct {
	What       string `json:"what"`
	Amount     int64  `json:"amount"`
	Unit       string `json:"unit"`
	PerMillion int64  `json:"price"` // micro-dollars for a million units
	Cost       int64  `json:"cost"`  // micro-dollars
}

// What a row has at most of each detail.
const (
	mostAttempts = 20
	mostIgnored  = 50
	mostCosts    = 30
)

// encodeDetail makes the text of the details. Those of a row that has none are empty.
func (c *Call) encodeDetail() {
	d := c.Details
	if d == nil {
		return
	}
	c.Details = nil
	one := CallDetail{
		Attempts: d.Attempts[:min(len(d.Attempts), mostAttempts)], Costs: d.Costs[:min(len(d.Costs), mostCosts)],
		Message: strings.ReplaceAll(d.Message, "\x00", ""), Private: d.Private, Cache: d.Cache,
	}
	if one.Cache != nil {
		one.Cache.Role = clipped(cleanText(one.Cache.Role), longestName)
	}
	for _, name := range d.Ignored[:min(len(d.Ignored), mostIgnored)] {
		one.Ignored = append(one.Ignored, clipped(cleanText(name), longestName))
	}
	for i := range one.Attempts {
		a := &one.Attempts[i]
		a.Provider, a.Model, a.Code = cleanText(a.Provider), cleanText(a.Model), cleanText(a.Code)
	}
	text, err := json.Marshal(one)
	if err != nil { // it has only texts and numbers, and the texts are valid
		text = nil
	}
	c.Detail = string(text)
}

// decodeDetail reads the details. A text that is not theirs is none.
func (c *Call) decodeDetail() {
	c.Details = &CallDetail{}
	if c.Detail == "" {
		return
	}
	if err := json.Unmarshal([]byte(c.Detail), c.Details); err != nil {
		c.Details = &CallDetail{}
	}
}

// The longest names in a row, in bytes.
const (
	longestName  = 64  // of a parameter
	longestAgent = 120 // of a client
)

// clipped is the beginning of a text.
func clipped(text string, longest int) string {
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "")
}

// CostLines are the parts of the cost of amounts at a price.
func CostLines(price catalog.Price, amounts catalog.Amounts) []CallCost {
	var all []CallCost
	for _, line := range price.Lines(amounts) {
		all = append(all, CallCost{line.Unit.String(), line.Amount, line.Counts(), line.Rate, line.Cost()})
	}
	return all
}

// Amounts are what the row has of each unit.
func (c *Call) Amounts() catalog.Amounts {
	return catalog.Amounts{
		catalog.InputTokens: c.InputTokens, catalog.CachedTokens: c.CachedTokens,
		catalog.CacheWriteTokens: c.CacheWriteTokens, catalog.CacheWriteHourTokens: c.CacheWriteHourTokens,
		catalog.OutputTokens: c.OutputTokens, catalog.ReasoningTokens: c.ReasoningTokens,
		catalog.Searches: c.Searches, catalog.Requests: c.Requests, catalog.Images: c.Images,
		catalog.Seconds: c.Seconds, catalog.Characters: c.Characters,
	}
}
