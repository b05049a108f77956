package services

// Caller is who makes a request: the holder of a key, a user with a token, or
// somebody unknown.
type Caller struct {
	UserID  string // empty when unknown
	KeyID   string // of the API key, where one was used
	Address string // of the client
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
