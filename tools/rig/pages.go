package rig

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Section is what a program writes into the part of a page between the marks with its name,
// <!-- name --> and <!-- /name -->.
type Section struct {
	name   string
	about  []string // what else the figures depend on
	tables []*Table
	text   []string // sentences under the tables
	began  time.Time
}

// Table is one table of a section.
type Table struct {
	title string
	head  []string
	rows  [][]string
}

// NewSection begins a section. about is what the figures depend on beside the machine.
func NewSection(name string, about ...string) *Section {
	return &Section{name: name, about: about, began: time.Now()}
}

// Table adds a table, whose rows follow.
func (s *Section) Table(title string, head ...string) *Table {
	s.tables = append(s.tables, &Table{title: title, head: head})
	return s.tables[len(s.tables)-1]
}

// Row adds a row of texts and numbers.
func (t *Table) Row(cells ...any) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		if v, ok := cell.(float64); ok {
			cell = Figure(v)
		}
		row[i] = fmt.Sprint(cell)
	}
	t.rows = append(t.rows, row)
}

// Say adds a sentence under the tables.
func (s *Section) Say(format string, args ...any) {
	s.text = append(s.text, fmt.Sprintf(format, args...))
}

// About adds what the figures depend on, as NewSection does.
func (s *Section) About(about string) { s.about = append(s.about, about) }

// Figure writes a number with about three significant digits; one below zero is not known.
func Figure(v float64) string {
	switch {
	case v < 0:
		return "–"
	case v >= 10_000:
		return Thousands(int64(v))
	case v >= 100 || v == 0:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	case v >= 0.1:
		return fmt.Sprintf("%.2f", v)
	default:
		return fmt.Sprintf("%.3f", v)
	}
}

// Thousands writes a number with commas.
func Thousands(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Markdown is what stands between the marks.
func (s *Section) Markdown() []byte {
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
	conditions := []string{
		s.began.UTC().Format("2006-01-02 15:04"), "revision " + revision(), runtime.Version(),
		fmt.Sprintf("%d processors (%s)", runtime.NumCPU(), processor()),
	}
	fmt.Fprintf(&out, "*%s; it took %s.*\n", strings.Join(append(conditions, s.about...), ", "), time.Since(s.began).Round(time.Second))
	return out.Bytes()
}

// Write shows the section, and puts it into the page if there is one.
func (s *Section) Write(page string) error {
	text := s.Markdown()
	fmt.Printf("\n## %s\n\n%s", s.name, text)
	if page == "" {
		return nil
	}
	before, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	after, err := replace(before, s.name, text)
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	return os.WriteFile(page, after, 0o644)
}

// replace puts text between the marks of a section.
func replace(page []byte, name string, text []byte) ([]byte, error) {
	begin, end := []byte("<!-- "+name+" -->"), []byte("<!-- /"+name+" -->")
	before, rest, found := bytes.Cut(page, begin)
	_, after, ended := bytes.Cut(rest, end)
	if !found || !ended {
		return nil, errors.New("the page has no marks for " + name)
	}
	return slices.Concat(before, begin, []byte("\n"), bytes.TrimSpace(text), []byte("\n"), end, after), nil
}

// revision is that of the source, with + when a file of Go has been changed since.
func revision() string {
	commit, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	name := strings.TrimSpace(string(commit))
	if changed, err := exec.Command("git", "status", "--porcelain", "--", ":/*.go").Output(); err == nil && len(changed) > 0 {
		name += "+"
	}
	return name
}

// processor is the name of the machine's processors.
func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo") // unnamed without it
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unnamed"
}
