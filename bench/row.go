package main

import (
	"fmt"
	"slices"
)

// row is one line of the table. It has a figure for each round; one below zero
// is not known.
type row struct {
	Scenario string    `json:"scenario"`
	Unit     string    `json:"unit"`
	Target   string    `json:"target"` // gateway, or a peer's name
	Floor    []float64 `json:"floor,omitempty"`
	Value    []float64 `json:"value"`
	Ratio    []float64 `json:"ratio,omitempty"`
	Goal     string    `json:"goal,omitempty"`
	Limit    float64   `json:"limit,omitempty"` // of the ratio, for the plot
	Met      *bool     `json:"met,omitempty"`
}

// ratios divides round by round, without rounds where a figure is not known.
func ratios(own, base []float64) []float64 {
	var out []float64
	for i := range min(len(own), len(base)) {
		if own[i] >= 0 && base[i] > 0 {
			out = append(out, own[i]/base[i])
		}
	}
	return out
}

// median is the middle of the figures that are known, or the mean of the
// middle two; below zero when there are none.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	sorted = slices.DeleteFunc(sorted, func(v float64) bool { return v < 0 })
	if len(sorted) == 0 {
		return -1
	}
	middle := len(sorted) / 2
	if len(sorted)%2 == 0 {
		return (sorted[middle-1] + sorted[middle]) / 2
	}
	return sorted[middle]
}

// judge sets the goal in words and whether it is met.
func (r *row) judge(met bool, goal string) {
	r.Goal, r.Met = goal, &met
}

// atMost asks for a median ratio of no more than limit.
func (r *row) atMost(limit float64) {
	r.Limit = limit
	r.judge(len(r.Ratio) > 0 && median(r.Ratio) <= limit, fmt.Sprintf("≤ %.4g ×", limit))
}

// atLeast asks for a median ratio of no less than limit.
func (r *row) atLeast(limit float64) {
	r.Limit = limit
	r.judge(len(r.Ratio) > 0 && median(r.Ratio) >= limit, fmt.Sprintf("≥ %.4g ×", limit))
}
