//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"modelgateway/bench/pages"
)

// section is the result of one part of the measurement: what the page shows between the
// marks with its name.
type section struct {
	name   string
	server string // the version of PostgreSQL
	tables []table
	text   []string // sentences under the tables
	began  time.Time
}

// table is one table of the page.
type table struct {
	title string
	head  []string
	rows  [][]string
}

func newSection(ctx context.Context, name string, server *pgx.Conn) (*section, error) {
	var version string
	err := server.QueryRow(ctx, "SHOW server_version").Scan(&version)
	return &section{name: name, server: "PostgreSQL " + version, began: time.Now()}, err
}

// add adds a table, whose rows follow.
func (s *section) add(title string, head ...string) *table {
	s.tables = append(s.tables, table{title: title, head: head})
	return &s.tables[len(s.tables)-1]
}

// row adds a row of texts and numbers.
func (t *table) row(cells ...any) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		switch v := cell.(type) {
		case float64:
			row[i] = figure(v)
		default:
			row[i] = fmt.Sprint(v)
		}
	}
	t.rows = append(t.rows, row)
}

func (s *section) say(format string, args ...any) {
	s.text = append(s.text, fmt.Sprintf(format, args...))
}

// figure writes a number with about three significant digits.
func figure(v float64) string {
	switch {
	case v >= 10_000:
		return thousands(int64(v))
	case v >= 100 || v == 0:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	case v >= 0.1 || v < 0:
		return fmt.Sprintf("%.2f", v)
	default:
		return fmt.Sprintf("%.3f", v)
	}
}

// thousands writes a number with commas.
func thousands(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// markdown is what stands between the marks.
func (s *section) markdown() []byte {
	var out bytes.Buffer
	for _, t := range s.tables {
		if t.title != "" {
			fmt.Fprintf(&out, "%s\n\n", t.title)
		}
		fmt.Fprintf(&out, "| %s |\n%s|\n", strings.Join(t.head, " | "), strings.Repeat("|---", len(t.head)))
		for _, row := range t.rows {
			fmt.Fprintf(&out, "| %s |\n", strings.Join(row, " | "))
		}
		fmt.Fprintln(&out)
	}
	for _, text := range s.text {
		fmt.Fprintf(&out, "%s\n\n", text)
	}
	fmt.Fprintln(&out, s.conditions())
	return out.Bytes()
}

// conditions are what the figures depend on.
func (s *section) conditions() string {
	return fmt.Sprintf("*%s, revision %s, %s, %s, %d processors (%s); the part took %s.*",
		s.began.UTC().Format("2006-01-02 15:04"), pages.Revision("*.go"), runtime.Version(), s.server, runtime.NumCPU(), pages.Processor(), time.Since(s.began).Round(time.Second))
}

// part is what the marks of the section name.
func (s *section) part() string { return "scale:" + s.name }

// write shows the section, and puts it into the page if there is one.
func (s *section) write(page string) error {
	fmt.Printf("\n## %s\n\n%s", s.name, s.markdown())
	if page == "" {
		return nil
	}
	return pages.Rewrite(page, s.part(), s.markdown())
}
