package app

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// introduction is the text with which the simulator starts on a terminal. setup is the token
// for the first administrator; empty where there is one.
func introduction(url, setup string) string {
	console, first := url+"/", ""
	if setup != "" {
		console, first = url+"/signin#token="+setup, " (the link creates your account, an administrator's)"
	}
	return strings.NewReplacer("{console}", console, "{first}", first, "{url}", url).Replace(`
The gateway runs, with simulated providers. Open the console in a browser{first}:

  {console}

In another terminal:

  curl -s {url}/v1/chat/completions -H 'Content-Type: application/json' \
    -d '{"model": "claude-haiku-4-5", "messages": [{"role": "user", "content": "Hello"}]}'

With Claude Code:

  ANTHROPIC_BASE_URL={url} ANTHROPIC_AUTH_TOKEN=any claude

{url}/docs describes the API. Ctrl-C stops the gateway.

`)
}

// setupToken is the token for the first administrator; empty where there is one, or no
// database.
func (g *gateway) setupToken(ctx context.Context) string {
	link, err := g.users.SetupLink(ctx)
	if err != nil {
		return ""
	}
	_, token, _ := strings.Cut(link, "token=")
	return token
}

// localURL is the URL of a listener for clients on this machine.
func localURL(address net.Addr) string {
	at, err := netip.ParseAddrPort(address.String())
	if err != nil || !at.Addr().IsUnspecified() {
		return "http://" + address.String()
	}
	return fmt.Sprintf("http://localhost:%d", at.Port())
}
