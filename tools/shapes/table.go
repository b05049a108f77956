package main

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"modelgateway/tools/rig"
)

// The bounds that every shape has to keep.
const (
	maxRatio  = 12.0 // memory above idle for a body of any size, as a multiple of the largest
	maxGrowth = 2.5  // processor time for each byte of a larger body, as a multiple of that of the smallest
)

// growth is how much more processor time a byte of a larger body takes than one of
// the smallest, at most. Below some milliseconds it says nothing.
func (r row) growth() float64 {
	const least = 20 * time.Millisecond
	first, most := r.costs[0], 1.0
	first.cpu = max(first.cpu, least)
	for _, c := range r.costs[1:] {
		if c.cpu > least {
			most = max(most, perByte(c)/perByte(first))
		}
	}
	return most
}

func perByte(c cost) float64 { return float64(c.cpu) / float64(c.bytes) }

// kept says whether the bounds are kept.
func (r row) kept() bool {
	return r.ratio() <= maxRatio && r.growth() <= maxGrowth
}

// last is what the largest body costs.
func (r row) last() cost { return r.costs[len(r.costs)-1] }

// most is the cost with the most memory.
func (r row) most() cost {
	return slices.MaxFunc(r.costs, func(a, b cost) int { return cmp.Compare(a.memory, b.memory) })
}

// ratio is the most memory as a multiple of the largest body.
func (r row) ratio() float64 { return float64(r.most().memory) / float64(r.last().bytes) }

// served is the largest body that was answered by the upstream, in MiB; empty for
// none.
func (r row) served() string {
	for _, c := range slices.Backward(r.costs) {
		if c.status == http.StatusOK {
			return strconv.Itoa((c.bytes + 1<<19) >> 20)
		}
	}
	return ""
}

// refused is the answer to the largest body, where it was refused.
func (r row) refused() string {
	if r.last().status == http.StatusOK {
		return ""
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s", r.last().status, r.last().code))
}

// line is a row for the terminal.
func (r row) line() string {
	var times []string
	for _, c := range r.costs {
		times = append(times, strconv.FormatInt(c.cpu.Milliseconds(), 10))
	}
	return fmt.Sprintf("%s, %s: served to %s, then %s; %s ms, growth %.2f; %.0f MiB, kept %v", r.shape, r.model,
		cmp.Or(r.served(), "none"), cmp.Or(r.refused(), "none"), strings.Join(times, " "), r.growth(), mib(r.most()), r.kept())
}

func mib(c cost) float64 { return float64(c.memory) / (1 << 20) }

// columns are those of the table, each with the value for one model.
var columns = []struct {
	head  string
	value func(r row) string
}{
	{"Served up to, MiB", row.served},
	{"Answer to the largest", row.refused},
	{"CPU of the largest, ms", func(r row) string { return strconv.FormatInt(r.last().cpu.Milliseconds(), 10) }},
	{"CPU of a byte", func(r row) string { return fmt.Sprintf("%.1f", r.growth()) }},
	{"Memory, MiB", func(r row) string { return fmt.Sprintf("%.0f", mib(r.most())) }},
	{"Memory / largest", func(r row) string { return fmt.Sprintf("%.1f", r.ratio()) }},
}

// listed is how many shapes the table has; those that do not keep the bounds come in any case.
const listed = 10

// table has the shapes that take the most memory, each in one line: with the values of all models,
// or one where they are equal. The terminal has had all rows.
func table(to *rig.Section, rows []row) {
	head := []string{"Shape"}
	for _, c := range columns {
		head = append(head, c.head)
	}
	t := to.Table("", append(head, "Kept")...)
	var shapes [][]row
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].shape == rows[0].shape {
			n++
		}
		shapes = append(shapes, rows[:n])
		rows = rows[n:]
	}
	ratio := func(shape []row) (most float64) {
		for _, r := range shape {
			most = max(most, r.ratio())
		}
		return most
	}
	slices.SortStableFunc(shapes, func(a, b []row) int { return cmp.Compare(ratio(b), ratio(a)) })
	broken := 0
	for i, shape := range shapes {
		isBroken := slices.ContainsFunc(shape, func(r row) bool { return !r.kept() })
		if isBroken {
			broken++
		}
		if i < listed || isBroken {
			t.Row(together(shape)...)
		}
	}
	to.Say("%d shapes were measured, of which %d do not keep the bounds; those above take the most memory.", len(shapes), broken)
}

func together(rows []row) []any {
	line, kept := []any{rows[0].shape}, "yes"
	for _, c := range columns {
		values := []string{}
		for _, model := range withGemma {
			value := "–"
			if i := slices.IndexFunc(rows, func(r row) bool { return r.model == model }); i >= 0 {
				value = cmp.Or(c.value(rows[i]), "–")
			}
			values = append(values, value)
		}
		if len(slices.Compact(slices.Clone(values[:3]))) == 1 && (values[3] == values[0] || values[3] == "–") {
			values = values[:1]
		} else if values[3] == "–" {
			values = values[:3]
		}
		line = append(line, strings.Join(values, " / "))
	}
	if slices.ContainsFunc(rows, func(r row) bool { return !r.kept() }) {
		kept = "**no**"
	}
	return append(line, kept)
}

// verdict is an error that names the shapes which do not keep the bounds.
func verdict(rows []row) error {
	var broken []string
	for _, r := range rows {
		if !r.kept() {
			broken = append(broken, r.shape+" ("+r.model+")")
		}
	}
	if len(broken) > 0 {
		return fmt.Errorf("%d of %d shapes do not keep the bounds: %s", len(broken), len(rows), strings.Join(broken, "; "))
	}
	return nil
}
