package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"modelgateway/bench/pages"
)

// report has the results of a run and its conditions.
type report struct {
	Conditions conditions       `json:"conditions"`
	Rows       []row            `json:"rows"`
	Errors     map[string]fault `json:"errors"` // by scenario and target; none: all ended well
}

// fault has the failures of one measurement.
type fault struct {
	Count    int      `json:"count"`
	Messages []string `json:"messages"` // the first few
}

var columns = []string{"scenario", "unit", "floor", "", "ratio: min / median / max", "goal", "met"}

// table is the rows of one target, as cells.
func (r report) table(name string) [][]string {
	head := slices.Clone(columns)
	head[3] = name
	cells := [][]string{head}
	for _, row := range r.Rows {
		if row.Target != name {
			continue
		}
		ratio, met := "–", ""
		if len(row.Ratio) > 0 {
			ratio = fmt.Sprintf("%.2f / %.2f / %.2f", slices.Min(row.Ratio), median(row.Ratio), slices.Max(row.Ratio))
		}
		if row.Met != nil {
			met = map[bool]string{true: "yes", false: "NO"}[*row.Met]
		}
		cells = append(cells, []string{row.Scenario, row.Unit, figure(median(row.Floor)), figure(median(row.Value)), ratio, row.Goal, met})
	}
	return cells
}

// names are the targets that have rows, in their order.
func (r report) names() []string {
	var names []string
	for _, row := range r.Rows {
		if !slices.Contains(names, row.Target) {
			names = append(names, row.Target)
		}
	}
	return names
}

// figure writes a number with about three significant digits.
func figure(v float64) string {
	switch {
	case v < 0:
		return "–"
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	case v >= 0.1:
		return fmt.Sprintf("%.2f", v)
	default:
		return fmt.Sprintf("%.3f", v)
	}
}

// text is the tables for a terminal, in columns.
func (r report) text() string {
	out := new(strings.Builder)
	for _, name := range r.names() {
		cells := r.table(name)
		widths := make([]int, len(columns))
		for _, line := range cells {
			for i, cell := range line {
				widths[i] = max(widths[i], utf8.RuneCountInString(cell))
			}
		}
		fmt.Fprintln(out)
		for _, line := range cells {
			for i, cell := range line {
				fmt.Fprint(out, cell, strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
			}
			fmt.Fprintln(out)
		}
	}
	for _, key := range r.faulty() {
		fmt.Fprintf(out, "\n%d ERRORS in %s, first: %s\n", r.Errors[key].Count, key, strings.Join(r.Errors[key].Messages, "\n  "))
	}
	return out.String()
}

func (r report) faulty() []string {
	var keys []string
	for key := range r.Errors {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// markdown is the tables with their conditions.
func (r report) markdown() []byte {
	var out bytes.Buffer
	for _, name := range r.names() {
		for i, line := range r.table(name) {
			fmt.Fprintf(&out, "| %s |\n", strings.Join(line, " | "))
			if i == 0 {
				fmt.Fprintf(&out, "%s|\n", strings.Repeat("|---", len(line)))
			}
		}
		fmt.Fprintln(&out)
	}
	for _, key := range r.faulty() {
		fmt.Fprintf(&out, "%d errors in %s.\n\n", r.Errors[key].Count, key)
	}
	fmt.Fprintln(&out, r.Conditions.sentence())
	return out.Bytes()
}

// pagePart is what the marks name between which a page is replaced.
const pagePart = "bench"

// write puts the report into the files that were asked for.
func (r report) write(o options) error {
	if o.json != "" {
		text, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(o.json, append(text, '\n'), 0o644); err != nil {
			return err
		}
	}
	if o.markdown != "" {
		if err := pages.Rewrite(o.markdown, pagePart, r.markdown()); err != nil {
			return err
		}
	}
	if o.svg != "" {
		return os.WriteFile(o.svg, r.plot(), 0o644)
	}
	return nil
}
