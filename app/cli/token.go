package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"modelgateway/app/signin"
)

func (p *Program) token() *cobra.Command {
	c := &cobra.Command{
		Use:   "token [--url URL]",
		Short: "Print an access token of the gateway for the person who is signed in",
		Long: `Print an access token of the gateway, which holds for ten minutes or longer, and nothing else on
standard output. Without a sign-in it shows a URL and a code on standard error, and waits until the
code is confirmed in a browser; where standard error is no terminal it fails instead. The sign-in is
kept in a file that only this user can read, and renewed there.`,
		Example: "  modelgateway token --url https://gateway.example.com\n" +
			"  curl -H \"Authorization: Bearer $(modelgateway token --url $URL)\" $URL/v1/models",
	}
	at := c.Flags().String("url", "", "the URL of the gateway; without it that of these settings on this machine")
	out := c.Flags().Bool("sign-out", false, "end the sign-in, and print nothing")
	return p.action(c, func(ctx context.Context, _ []string) error {
		gateway, err := p.gateway(*at)
		if err != nil {
			return err
		}
		here, err := p.signIn(gateway.URL)
		if err != nil {
			return err
		}
		if *out {
			return here.SignOut(ctx)
		}
		token, err := here.Token(ctx)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(p.Out, token)
		return err
	})
}

// signIn is the sign-in of this user to a gateway.
func (p *Program) signIn(url string) (*signin.Gateway, error) {
	dir, err := signin.Dir()
	g := &signin.Gateway{URL: url, Dir: dir}
	if file, ok := p.Err.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		g.Show = func(line string) { _, _ = fmt.Fprintln(file, plain(line)) }
	}
	return g, err
}
