package app

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// introduction is the text with which the simulator starts on a terminal.
func introduction(url string) string {
	return strings.ReplaceAll(`
The gateway is at URL, with simulated providers. In another terminal:

  curl -s URL/v1/chat/completions -H 'Content-Type: application/json' \
    -d '{"model": "claude-haiku-4-5-20251001", "messages": [{"role": "user", "content": "Hello"}]}'

URL/docs describes the API. Ctrl-C stops the gateway.

`, "URL", url)
}

// localURL is the URL of a listener for clients on this machine.
func localURL(address net.Addr) string {
	at, err := netip.ParseAddrPort(address.String())
	if err != nil || !at.Addr().IsUnspecified() {
		return "http://" + address.String()
	}
	return fmt.Sprintf("http://localhost:%d", at.Port())
}
