package app

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"modelgateway/config"
)

const requireAuth = "REQUIRE_AUTH"

// warnOfOpenMode warns if unknown clients can call with the keys of the providers: no
// credential is required, and the gateway listens on an address that other
// machines may reach.
func (g *gateway) warnOfOpenMode(cfg config.Config, address net.Addr, warn *warner) {
	if cfg.RequireAuth || cfg.Simulator || !g.hasProvider() || onlyThisMachine(address) {
		return
	}
	can := "call every model at the cost of the provider keys"
	if cfg.MetricsToken.IsZero() {
		can += " and read /metrics"
	}
	warn.add(requireAuth, "open to the network: every client that reaches this address can "+can+
		" without a credential; REQUIRE_AUTH=true (with JWT_SECRET) stops it, or HOST=127.0.0.1", "address", address.String())
}

// hosts are the names by which open mode is called beside local ones; nil: any.
func hosts(cfg config.Config) []string {
	if cfg.RequireAuth || slices.Contains(cfg.AllowedHosts, "*") {
		return nil
	}
	all := append([]string{}, cfg.AllowedHosts...)
	if public, err := url.Parse(cfg.PublicURL); err == nil { // checked when it was read
		all = append(all, strings.ToLower(public.Hostname()))
	}
	return all
}

// hasProvider reports whether a provider is configured.
func (g *gateway) hasProvider() bool { return len(g.calls.Router().Upstreams) > 0 }

// onlyThisMachine says whether only clients on this machine reach an address.
func onlyThisMachine(address net.Addr) bool {
	at, err := netip.ParseAddrPort(address.String())
	return err == nil && at.Addr().Unmap().IsLoopback()
}
