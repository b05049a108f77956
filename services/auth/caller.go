package auth

import (
	"net/netip"
	"time"

	"modelgateway/api"
	"modelgateway/models"
)

// Caller is the sender of a request: the holder of a key, a user with a token, or
// an anonymous client.
type Caller struct {
	UserID  string // empty for an anonymous client, and for a key that is a team's alone
	TeamID  string // of the key or the sign-in; empty without one
	KeyID   string // empty without an API key
	SignIn  string // id of the sign-in of a program; empty without one
	Address string // of the client

	Unverified bool // the user's e-mail address is not verified

	// Levels are the accounts that pay, with their limits: of a key its own, its user's and
	// its team's; of a sign-in its user's and its team's; of a token the user's. An anonymous
	// client has none.
	Levels models.Levels
}

// Account names the account whose limits the caller's requests count against.
func (c Caller) Account() string {
	if len(c.Levels) > 0 {
		return c.Levels[0].Account
	}
	if c.UserID != "" {
		return models.UserAccount(c.UserID)
	}
	return "address:" + c.Address
}

// ProjectOwner names the account that the projects of the caller's calls belong to: the team of
// the key, else the user, else the key.
func (c *Caller) ProjectOwner() string {
	if c.TeamID != "" {
		return models.TeamAccount(c.TeamID)
	}
	return models.CallerAccount(c.UserID, c.KeyID)
}

// Identity identifies a caller: it is equal for all callers with the same Account.
type Identity struct{ key, user, address string }

// Identity returns the one of the caller.
func (c Caller) Identity() Identity {
	switch {
	case c.KeyID != "":
		return Identity{key: c.KeyID}
	case c.UserID != "":
		return Identity{user: c.UserID}
	default:
		return Identity{address: c.Address}
	}
}

// callerOfKey is who a key is sent by. The key is not valid if it is revoked, or an owner
// of it is disabled or deleted.
func callerOfKey(k *models.KeyWithOwners, defaults models.Limits) (c *Caller, valid bool) {
	c = &Caller{
		UserID: k.UserID, TeamID: k.TeamID, KeyID: k.ID,
		Levels: models.Levels{{Account: models.KeyAccount(k.ID), Name: "this API key", Limits: k.Limits}},
	}
	valid = k.RevokedAt == 0
	if k.UserID != "" {
		valid = valid && k.User.Exists && k.User.DisabledAt == 0
		c.Unverified = k.User.VerifiedAt == 0
		c.Levels = append(c.Levels, userLevel(k.UserID, k.User.Limits, defaults))
	}
	if k.TeamID != "" {
		valid = valid && k.Team.Exists
		c.Levels = append(c.Levels, teamLevel(k.TeamID, &k.Team))
	}
	return c, valid && len(c.Levels) > 1
}

func teamLevel(id string, team *models.KeyOwner) models.Level {
	return models.Level{Account: models.TeamAccount(id), Name: "the team " + team.Name, Limits: team.Limits}
}

func userLevel(id string, own, defaults models.Limits) models.Level {
	return models.Level{Account: models.UserAccount(id), Name: "your account", Limits: own.Or(defaults)}
}

// expired refuses a caller one of whose levels has expired. That tells no stranger
// anything: only its holder can send a credential, which cannot be guessed.
func (c *Caller) expired(now time.Time) error {
	for i := range c.Levels {
		level := &c.Levels[i]
		if end := level.ExpiresAt; end == 0 || now.UnixMicro() < end {
			continue
		}
		code := api.CodeAccountExpired
		if i == 0 && c.KeyID != "" {
			code = api.CodeKeyExpired
		}
		return api.Unauthorized(code, level.Name+" has expired")
	}
	return nil
}

// VerificationRequired answers for a user whose e-mail address has to be verified first.
func VerificationRequired() error {
	return api.Forbidden(api.CodeVerificationRequired, "",
		"the e-mail address of this account is not verified: open the link that was mailed to it, or ask an administrator")
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
