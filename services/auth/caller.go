package auth

import "modelgateway/models"

// Caller is who makes a request: the holder of a key, a user with a token, or
// somebody unknown.
type Caller struct {
	UserID  string         // empty when unknown
	KeyID   string         // of the API key, where one was used
	Address string         // of the client
	Limits  *models.Limits // of the key; nil without one. Others hold it too
}

// Account is what a caller's limits are counted under.
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

// Identity is the caller as far as it says who that is, for use as a map's key:
// it is the same for all calls with the same Account.
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
