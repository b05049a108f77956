package auth

import (
	"net/netip"

	"modelgateway/models"
)

// Caller is the sender of a request: the holder of a key, a user with a token, or
// an anonymous client.
type Caller struct {
	UserID  string         // empty for an anonymous client
	KeyID   string         // empty without an API key
	Address string         // of the client
	Limits  *models.Limits // of the key; nil without one. Shared: not to be changed
}

// Account names the account whose limits the caller's requests count against.
func (c Caller) Account() string {
	switch {
	case c.KeyID != "":
		return "key:" + c.KeyID
	case c.UserID != "":
		return "user:" + c.UserID
	default:
		return "address:" + c.Address
	}
}

// Identity returns the one field that identifies the caller, for use as a map's
// key: it is equal for all callers with the same Account.
func (c Caller) Identity() Caller {
	switch {
	case c.KeyID != "":
		return Caller{KeyID: c.KeyID}
	case c.UserID != "":
		return Caller{UserID: c.UserID}
	default:
		return Caller{Address: c.Address}
	}
}

// Network is the network that an address of a client is counted in beside its own:
// of an IPv6 /64 the /48, which one customer of a provider may have; else the
// address itself.
func Network(address string) string {
	const perCustomer = 48
	prefix, err := netip.ParsePrefix(address)
	if err != nil {
		return address
	}
	network, err := prefix.Addr().Prefix(perCustomer)
	if err != nil {
		return address
	}
	return network.String()
}
