package main

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"slices"
)

// Measures of the plot, in pixels.
const (
	plotWidth  = 920
	plotLeft   = 350 // where the bars begin
	plotRight  = 90  // kept free for the figure
	plotTop    = 64
	plotLine   = 28
	plotBar    = 14
	plotBottom = 40
)

// plotted is the rows of the gateway that have a ratio and a goal for it.
func (r report) plotted() []row {
	var rows []row
	for _, row := range r.Rows {
		if row.Target == gatewayName && row.Limit > 0 && len(row.Ratio) > 0 {
			rows = append(rows, row)
		}
	}
	return rows
}

// plot draws each median ratio as a bar, its rounds as a line from the least
// to the most, and its goal as a mark.
func (r report) plot() []byte {
	rows := r.plotted()
	longest := 1.5
	for _, row := range rows {
		longest = max(longest, slices.Max(row.Ratio), row.Limit)
	}
	longest = math.Ceil(longest*2) / 2
	x := func(ratio float64) float64 { return plotLeft + ratio/longest*(plotWidth-plotLeft-plotRight) }
	height := plotTop + len(rows)*plotLine + plotBottom
	var out bytes.Buffer
	fmt.Fprintf(
		&out,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="system-ui, sans-serif" font-size="12">`+"\n",
		plotWidth,
		height,
	)
	fmt.Fprintf(&out, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", plotWidth, height)
	fmt.Fprintf(
		&out,
		`<text x="16" y="24" font-size="15" font-weight="600" fill="#1f2328">The gateway as a multiple of a bare Gin passthrough</text>`+"\n",
	)
	fmt.Fprintf(
		&out,
		`<text x="16" y="44" fill="#59636e">bar: median of %d rounds · line: least to most · mark: goal (◂ at most, ▸ at least)</text>`+"\n",
		r.Conditions.Rounds,
	)
	grid(&out, x, longest, height)
	for i, row := range rows {
		bar(&out, row, x, plotTop+i*plotLine)
	}
	out.WriteString("</svg>\n")
	return out.Bytes()
}

// grid draws a line for each half, or for fewer when there were too many.
func grid(out *bytes.Buffer, x func(float64) float64, longest float64, height int) {
	step := 0.5
	for longest/step > 12 {
		step *= 2
	}
	for at := 0.0; at <= longest; at += step {
		colour := "#e5e8eb"
		if at == 1 {
			colour = "#8c959f"
		}
		fmt.Fprintf(
			out,
			`<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="%s"/>`+"\n",
			x(at),
			plotTop-8,
			x(at),
			height-plotBottom+4,
			colour,
		)
		fmt.Fprintf(out, `<text x="%.1f" y="%d" text-anchor="middle" fill="#59636e">%.4g ×</text>`+"\n", x(at), height-plotBottom+22, at)
	}
}

func bar(out *bytes.Buffer, r row, x func(float64) float64, top int) {
	middle := top + plotLine/2
	colour := "#2f81c7"
	if r.Met != nil && !*r.Met {
		colour = "#d1570a"
	}
	mid, least, most := median(r.Ratio), slices.Min(r.Ratio), slices.Max(r.Ratio)
	fmt.Fprintf(out, `<text x="%d" y="%d" text-anchor="end" fill="#1f2328">%s <tspan fill="#59636e">%s</tspan></text>`+"\n",
		plotLeft-10, middle+4, html.EscapeString(r.Scenario), html.EscapeString(r.Unit))
	fmt.Fprintf(
		out,
		`<rect x="%d" y="%d" width="%.1f" height="%d" rx="2" fill="%s"/>`+"\n",
		plotLeft,
		middle-plotBar/2,
		x(mid)-plotLeft,
		plotBar,
		colour,
	)
	fmt.Fprintf(
		out,
		`<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#1f2328" stroke-width="1.5"/>`+"\n",
		x(least),
		middle,
		x(most),
		middle,
	)
	sign := "◂"
	if r.Goal != "" && []rune(r.Goal)[0] == '≥' {
		sign = "▸"
	}
	fmt.Fprintf(
		out,
		`<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#1f2328" stroke-width="2.5"/>`+"\n",
		x(r.Limit),
		middle-11,
		x(r.Limit),
		middle+11,
	)
	fmt.Fprintf(
		out,
		`<text x="%.1f" y="%d" fill="#1f2328">%.2f <tspan fill="#59636e">%s %.4g</tspan></text>`+"\n",
		x(max(most, r.Limit))+8,
		middle+4,
		mid,
		sign,
		r.Limit,
	)
}
