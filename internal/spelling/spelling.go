// Package spelling finds names that a misspelt one may have meant.
package spelling

import (
	"cmp"
	"slices"
)

// Distance is the restricted Damerau-Levenshtein distance: the number of bytes
// to insert, delete or replace and of neighbours to swap. If the lengths differ
// by more than limit, it returns limit+1.
func Distance(a, b string, limit int) int {
	if diff := len(a) - len(b); diff > limit || -diff > limit {
		return limit + 1
	}
	var room [3 * 64]int // of names of fewer bytes, on the stack: the start compares thousands
	rows, width := room[:], len(b)+1
	if 3*width > len(room) {
		rows = make([]int, 3*width)
	}
	secondAbove, above, row := rows[:width], rows[width:2*width], rows[2*width:3*width]
	for j := range above {
		above[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(above[j]+cost, above[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], secondAbove[j-1]+1)
			}
		}
		secondAbove, above, row = above, row, secondAbove
	}
	return above[len(b)]
}

// Nearest returns at most n of the known names that are within a third of the name's
// length of edits, the nearest first.
func Nearest(name string, known []string, n int) []string {
	type candidate struct {
		name  string
		edits int
	}
	limit := len(name) / 3
	var near []candidate
	for _, k := range known {
		if d := Distance(name, k, limit); d <= limit {
			near = append(near, candidate{k, d})
		}
	}
	slices.SortStableFunc(near, func(a, b candidate) int { return cmp.Or(cmp.Compare(a.edits, b.edits), cmp.Compare(a.name, b.name)) })
	var names []string
	for _, c := range near[:min(n, len(near))] {
		names = append(names, c.name)
	}
	return names
}
