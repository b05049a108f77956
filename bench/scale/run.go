//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"
)

// part is one measurement, which has a section of the page.
type part struct {
	name    string
	measure func(ctx context.Context, s *system, to *section) error
}

// systemParts are measured one after the other on one system.
func systemParts() []part {
	return []part{
		{"calls", calls},
		{"processors", processors},
		{"locks", locks},
		{"idle", idle},
		{"revocation", revocation},
		{"budget", budgets},
		{"store", store},
	}
}

// ledgerParts are measured with databases of their own.
func ledgerParts() []string { return []string{"ledger", "partitions", "bulk"} }

func partNames() string {
	var names []string
	for _, p := range systemParts() {
		names = append(names, p.name)
	}
	return strings.Join(append(names, ledgerParts()...), ", ")
}

// run measures the parts that were asked for. Each is written when it is done, so that a
// run that is interrupted leaves the parts before.
func run(ctx context.Context, o options) error {
	if err := measureSystem(ctx, o); err != nil {
		return err
	}
	for _, name := range ledgerParts() {
		if o.only.MatchString(name) {
			return measureLedger(ctx, o)
		}
	}
	return nil
}

func measureSystem(ctx context.Context, o options) error {
	var parts []part
	for _, p := range systemParts() {
		if o.only.MatchString(p.name) {
			parts = append(parts, p)
		}
	}
	if len(parts) == 0 {
		return nil
	}
	s, err := newSystem(ctx, o)
	if err != nil {
		return err
	}
	defer s.close()
	for _, p := range parts {
		fmt.Fprintf(os.Stderr, "measuring %s\n", p.name)
		to, err := newSection(ctx, p.name, s.admin)
		if err != nil {
			return err
		}
		if err := p.measure(ctx, s, to); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		if n := s.repeated.Swap(0); n > 0 {
			to.say("%d calls were answered with 503 and repeated: the machine had other work.", n)
		}
		if err := to.write(o.markdown); err != nil {
			return err
		}
	}
	return nil
}

// errNoFigures never happens with flags that parse accepts.
var errNoFigures = errors.New("there are too few measurements to compute anything of")

// connect opens a connection of this program's own.
func connect(ctx context.Context, address string) (*pgx.Conn, error) {
	return pgx.Connect(ctx, address)
}
