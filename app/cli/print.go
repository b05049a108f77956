package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"modelgateway/api"
)

// output is how a command prints: for people, or as JSON, or only what a script
// needs next.
type output struct {
	out, err    io.Writer
	json, quiet bool
	csv, lines  bool // of a list
}

// output adds the flags of the output to a command.
func (p *Program) output(c *cobra.Command, quiet string) *output {
	o := &output{out: p.Out, err: p.Err}
	c.Flags().BoolVar(&o.json, flagJSON, false, "print the JSON that the API answers with")
	if quiet != "" {
		c.Flags().BoolVarP(&o.quiet, flagQuiet, "q", false, quiet)
		c.MarkFlagsMutuallyExclusive(flagJSON, flagQuiet)
	}
	return o
}

// listOutput is output for a list, which may be printed as a file as well.
func (p *Program) listOutput(c *cobra.Command, quiet string) *output {
	o := p.output(c, quiet)
	c.Flags().BoolVar(&o.csv, flagCSV, false, "print a table with commas, for a spreadsheet")
	c.Flags().BoolVar(&o.lines, flagLines, false, "print a row of JSON on each line")
	c.MarkFlagsMutuallyExclusive(flagJSON, flagCSV, flagLines)
	return o
}

// file is the type of file in which a list is printed; empty where it is none.
func (o *output) file() api.FileType {
	switch {
	case o.csv:
		return api.CSV
	case o.lines:
		return api.JSONLines
	}
	return ""
}

// showList is show for a list with rows.
func showList[Row any](o *output, list any, rows []Row, text func() error) error {
	if as := o.file(); as != "" {
		return api.WriteFile(o.out, as, func(string) ([]Row, string, error) { return rows, "", nil })
	}
	return o.show(list, text)
}

// show prints a value as JSON, or with text.
func (o *output) show(value any, text func() error) error {
	if !o.json {
		return text()
	}
	body, err := json.Marshal(value, api.Lenient)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.out, "%s\n", body)
	return err
}

// secret prints what is shown only once, alone on its line of standard output, and
// beside it, for people, what it is.
func (o *output) secret(value any, secret, about string) error {
	return o.show(value, func() error {
		o.note("%s", about)
		_, err := fmt.Fprintln(o.out, secret)
		return err
	})
}

// done prints what a change left: as JSON, or in words.
func (o *output) done(value any, words string) error {
	return o.show(value, func() error {
		o.note("%s", words)
		return nil
	})
}

// note prints a line for people to standard error.
func (o *output) note(format string, args ...any) {
	if !o.quiet && !o.json && o.file() == "" {
		_, _ = fmt.Fprintf(o.err, format+"\n", args...)
	}
}

// table prints a header and rows, aligned; with quiet only the first cell of each row.
func (o *output) table(header []string, rows [][]string) error {
	if o.quiet {
		for _, row := range rows {
			if _, err := fmt.Fprintln(o.out, row[0]); err != nil {
				return err
			}
		}
		return nil
	}
	return o.align(append([][]string{header}, rows...))
}

// align prints aligned columns.
func (o *output) align(rows [][]string) error {
	const gap = 2
	w := tabwriter.NewWriter(o.out, 0, 0, gap, ' ', 0)
	for _, row := range rows {
		if _, err := fmt.Fprintln(w, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return w.Flush()
}

// none is the text of an empty cell of a table.
const none = "-"

// local is the day and time of Unix seconds, in the local time zone.
func local(seconds int64) string { return time.Unix(seconds, 0).Local().Format("2006-01-02 15:04") }

func localOr(seconds *int64, otherwise string) string {
	if seconds == nil {
		return otherwise
	}
	return local(*seconds)
}

// person is the address of a user, with the day of the deletion of a deleted one.
func person(email string, deletedAt *int64) string {
	if deletedAt == nil {
		return email
	}
	at, form := time.Unix(*deletedAt, 0).Local(), "2 Jan"
	if at.Year() != time.Now().Year() {
		form = "2 Jan 2006"
	}
	return email + ", deleted " + at.Format(form)
}

// dollars rounds to cents, but shows small amounts.
func dollars(amount api.USD) string {
	const cent = 10_000
	if amount != 0 && amount < cent {
		return "$" + amount.String()
	}
	return "$" + strconv.FormatFloat(float64(amount)/1e6, 'f', 2, 64)
}

// thousands groups the digits of a number: 1,234,567.
func thousands(n int64) string {
	text := strconv.FormatInt(n, 10)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
