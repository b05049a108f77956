package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The flags that many commands have.
const (
	flagJSON  = "json"
	flagCSV   = "csv"
	flagLines = "jsonl"
	flagQuiet = "quiet"
)

// group makes a command that only has others.
func (p *Program) group(word, short string, commands ...*cobra.Command) *cobra.Command {
	group := &cobra.Command{Use: word, Short: short, Args: cobra.ArbitraryArgs, SuggestionsMinimumDistance: 2}
	group.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("a command is missing after %q: %s", c.CommandPath(), strings.Join(names(c), ", "))
		}
		return unknown(c, args[0])
	}
	group.AddCommand(commands...)
	return group
}

func names(c *cobra.Command) []string {
	var all []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			all = append(all, sub.Name())
		}
	}
	return all
}

// unknown is the error for a word that is no command of c.
func unknown(c *cobra.Command, word string) error {
	return fmt.Errorf("%q has no command %q%s", c.CommandPath(), word, meant(c.SuggestionsFor(word)))
}

func meant(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return ": did you mean " + strings.Join(words, " or ") + "?"
}

// flagError names the flag that an unknown one resembles.
func flagError(c *cobra.Command, err error) error {
	wrong, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return err
	}
	like := &cobra.Command{SuggestionsMinimumDistance: 2}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		like.AddCommand(&cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}})
	})
	found := like.SuggestionsFor(wrong.GetSpecifiedName())
	for i, name := range found {
		found[i] = "--" + name
	}
	return fmt.Errorf("%w%s", err, meant(found))
}

// help describes a command. cobra's own describes the program for an unknown word.
func help(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [command]", Short: "Describe a command",
		RunE: func(_ *cobra.Command, args []string) error {
			of := root
			for _, word := range args {
				at := slices.IndexFunc(of.Commands(), func(c *cobra.Command) bool { return c.Name() == word })
				if at < 0 {
					return unknown(of, word)
				}
				of = of.Commands()[at]
			}
			return of.Help()
		},
	}
}

// words are the names of the arguments that a command must have.
func words(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) > len(names):
			return fmt.Errorf("%q is one argument too many for %q", args[len(names)], c.CommandPath())
		case len(args) < len(names):
			return fmt.Errorf("%q needs %s", c.CommandPath(), strings.Join(names[len(args):], " and "))
		}
		return nil
	}
}

// action makes a command that does something. Its errors are failures; errors before
// it runs are wrong usage.
func (p *Program) action(c *cobra.Command, do func(ctx context.Context, args []string) error) *cobra.Command {
	if c.Args == nil {
		c.Args = words()
	}
	c.DisableFlagsInUseLine = true
	c.RunE = func(c *cobra.Command, args []string) error {
		p.running = true
		return do(c.Context(), args)
	}
	return c
}
