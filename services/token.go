package services

import "time"

// Token is a login: a signed JWT and the moment it ends.
type Token struct {
	Text      string
	ExpiresAt time.Time
}
