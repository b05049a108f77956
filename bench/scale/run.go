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
		err := writePart(ctx, p.name, s.admin, o.markdown, func(to *section) error {
			if err := p.measure(ctx, s, to); err != nil {
				return err
			}
			if n := s.repeated.Swap(0); n > 0 {
				to.say("%d calls were answered with 503 and repeated: the machine had other work.", n)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// writePart measures a part and writes its section.
func writePart(ctx context.Context, name string, server *pgx.Conn, page string, measure func(to *section) error) error {
	fmt.Fprintf(os.Stderr, "measuring %s\n", name)
	to, err := newSection(ctx, name, server)
	if err != nil {
		return err
	}
	if err := measure(to); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return to.write(page)
}

// errNoFigures is of measurements that do not tell the terms of the model from each other.
var errNoFigures = errors.New("there are too few measurements to compute anything of")
