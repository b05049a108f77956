package catalog

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Unit is what a call is paid in.
type Unit int

// The units. Tokens come first, in the order in which costs are shown.
const (
	InputTokens          Unit = iota // of the prompt
	AudioTokens                      // of InputTokens: sounds
	CachedTokens                     // of InputTokens: read from a cache
	CachedAudioTokens                // of CachedTokens and AudioTokens
	CacheWriteTokens                 // of InputTokens: written to a cache, for five minutes or an hour
	CacheWriteHourTokens             // of CacheWriteTokens: for an hour
	OutputTokens                     // of the answer
	ReasoningTokens                  // of OutputTokens
	Searches                         // of the web, by the provider
	SearchPrompts                    // calls with searches of the web, however many: they follow from Searches
	FileSearches                     // of OpenAI's file search: their price is shown, and they are not counted
	Requests                         // that a provider answers
	Images                           // in the answer
	Seconds                          // of sound or video
	Characters                       // of the prompt's text
	unitCount
)

// Amounts are what a call takes of each unit, as providers count: with what is of it.
type Amounts [unitCount]int64

// Rates are micro-dollars for a million of each unit.
type Rates [unitCount]int64

// firstFee is the first unit that is no token. From it on a price is that of one.
const firstFee = Searches

// unit is what there is to know of a unit.
type unit struct {
	cost   string // its name as a part of the cost of a call
	counts string // what its amount counts
	price  string // its name in a price, or in the fees of a price
	or     Unit   // whose rate it has without one of its own; itself: it is free
}

var units = [unitCount]unit{
	InputTokens:          {"input", token, "input", InputTokens},
	AudioTokens:          {"audio_input", token, "audio", InputTokens},
	CachedTokens:         {"cached_input", token, "cache_read", InputTokens},
	CachedAudioTokens:    {"cached_audio_input", token, "audio_cache_read", AudioTokens},
	CacheWriteTokens:     {"cache_write", token, "cache_write", InputTokens},
	CacheWriteHourTokens: {"cache_write_1h", token, "cache_write_1h", CacheWriteTokens},
	OutputTokens:         {"output", token, "output", OutputTokens},
	ReasoningTokens:      {"reasoning", token, "reasoning", OutputTokens},
	Searches:             {"search", "search", "web_search_request", Searches},
	SearchPrompts:        {"search_prompt", "search", "web_search_prompt", SearchPrompts},
	FileSearches:         {"file_search", "search", "file_search_request", FileSearches},
	Requests:             {"request", "request", "request", Requests},
	Images:               {"image", "image", "image", Images},
	Seconds:              {"second", "second", "second", Seconds},
	Characters:           {"character", "character", "character", Characters},
}

const token = "token"

// String is the name of the unit as a part of the cost of a call.
func (u Unit) String() string { return units[u].cost }

// Fees are the rates of one in dollars, by their names, of all that is not paid by token.
func (r *Rates) Fees() map[string]float64 {
	fees := map[string]float64{}
	for u := firstFee; u < unitCount; u++ {
		if r[u] != 0 {
			fees[units[u].price] = float64(r[u]) / (perMillion * perMillion)
		}
	}
	return fees
}

// set sets the rates of the units of a file's entry from one unit up to another. scale is how many
// micro-dollars for a million one of its numbers is.
func (r *Rates) set(from, to Unit, numbers map[string]float64, scale float64) error {
	for name, value := range numbers {
		at := slices.IndexFunc(units[from:to], func(u unit) bool { return u.price == name })
		rate := math.Round(value * scale)
		if at < 0 || value < 0 || math.IsNaN(value) || rate >= math.MaxInt64 {
			var names []string
			for _, u := range units[from:to] {
				names = append(names, u.price)
			}
			slices.Sort(names)
			return fmt.Errorf("%s: %v is not a number of dollars of one of %s", name, value, strings.Join(names, ", "))
		}
		r[from+Unit(at)] = int64(rate)
	}
	return nil
}
