// Package cli is the command line of the program: the server, and commands that
// work with its services on its database.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-json-experiment/json"
	"github.com/redis/go-redis/v9/logging"
	"github.com/spf13/cobra"

	"modelgateway/api"
	"modelgateway/app"
	"modelgateway/models"
)

// The exit codes.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2 // a word or a flag is wrong; nothing was done
	exitLosses  = 3 // a takeover would lose something; nothing was done
)

// Main is the whole process: it runs the command line with the arguments, the
// environment and the signals of the process, and exits.
func Main() {
	noCoreDumps()
	signal.Ignore(syscall.SIGPIPE) // a closed log pipe must not end the gateway
	logging.Disable()              // the Redis client prints addresses to standard error; its errors are returned as well
	ctx, stop := context.WithCancel(context.Background())
	ending := make(chan os.Signal, 1)
	signal.Notify(ending, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ending
		signal.Reset(os.Interrupt, syscall.SIGTERM) // from now on a second signal ends the process at once
		stop()
	}()
	p := Program{Args: os.Args[1:], Environ: os.Environ(), In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	os.Exit(p.Run(ctx))
}

// Program is one run of the command line.
type Program struct {
	Args    []string // without the name of the program
	Environ []string // in the format of os.Environ
	In      io.Reader
	Out     io.Writer // the server's log; what a command was asked for
	Err     io.Writer // what else there is to say

	running bool // the words and flags were right
}

// Run runs the server or a command, and returns the exit code.
func (p *Program) Run(ctx context.Context) int {
	if len(p.Args) == 0 { // the server does not keep the memory of all the commands
		return p.exit(app.Run(ctx, p.Environ, p.Out), false)
	}
	root := p.root() //nolint:contextcheck // commands are given ctx by ExecuteContextC
	root.SetArgs(withoutFormerFlags(p.Args))
	root.SetIn(p.In)
	root.SetOut(p.Out)
	root.SetErr(p.Err)
	command, err := root.ExecuteContextC(ctx)
	if err != nil && !p.running {
		_, _ = fmt.Fprintf(p.Err, "%v\n%q describes the command\n", err, command.CommandPath()+" --help")
		return exitUsage
	}
	asJSON, flagErr := command.Flags().GetBool(flagJSON)
	return p.exit(err, flagErr == nil && asJSON)
}

// exit prints the error of a command, and returns the exit code.
func (p *Program) exit(err error, asJSON bool) int {
	if err == nil || errors.Is(err, syscall.EPIPE) { // the reader, such as head, has what it wants
		return exitOK
	}
	p.report(err, asJSON)
	if errors.Is(err, errLosses) {
		return exitLosses
	}
	return exitFailure
}

// report prints the error of a command: with --json as the API would answer it.
func (p *Program) report(err error, asJSON bool) {
	e, known := errors.AsType[*api.Error](err)
	if known && asJSON {
		if text, err := json.Marshal(e); err == nil {
			_, _ = fmt.Fprintf(p.Err, "%s\n", text)
			return
		}
	}
	switch {
	case errors.Is(err, errSilent):
	case models.TooSlow(err):
		_, _ = fmt.Fprintf(p.Err, "the database did not answer in time; try again: %v\n", err)
	case known && e.Unwrap() != nil:
		_, _ = fmt.Fprintln(p.Err, e.Unwrap())
	case known:
		_, _ = fmt.Fprintln(p.Err, e.Message)
	default:
		_, _ = fmt.Fprintln(p.Err, err)
	}
}

// errSilent ends a command with a failure that its output has shown.
var errSilent = errors.New("failed")

// withoutFormerFlags puts commands in the place of the flags that the images of
// former releases use. They have one dash, which would be several short flags.
func withoutFormerFlags(args []string) []string {
	former := map[string][]string{
		"-healthcheck": {"healthcheck"}, "--healthcheck": {"healthcheck"},
		"-readycheck": {"healthcheck", "--ready"}, "--readycheck": {"healthcheck", "--ready"},
		"-version": {"version"}, "--version": {"version"},
	}
	if len(args) == 1 && former[args[0]] != nil {
		return former[args[0]]
	}
	return args
}

func (p *Program) root() *cobra.Command {
	root := p.group("modelgateway", "A gateway with the APIs of OpenAI and Anthropic in front of many model providers",
		p.serve(), p.check(), p.migrate(), p.backup(), p.restore(), p.healthcheck(), p.version(),
		p.demo(), p.administrators(), p.users(), p.teams(), p.keys(), p.models(), p.providers(), p.usage(), p.statement(),
		p.calls(), p.sessions(), p.audit(), p.chat(), p.token(), p.codexCatalog(), p.takeover(),
	)
	root.Long = root.Short + `.

Without a command it serves. Commands read the settings of the environment and of the
file .env, as the server does, and work on its database: a running server, and every
replica, notices a change within a second.`
	root.CompletionOptions.DisableDefaultCmd = true
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(help(root))
	return root
}
