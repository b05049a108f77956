package api

// Registration is the body of POST /auth/register.
type Registration struct {
	Email    string `json:"email"`
	Password string `json:"password"`
	Name     string `json:"name"`
}

// Login is the body of POST /auth/login.
type Login struct {
	Email    string `json:"email"`
	Password string `json:"password"`
}

// User is the answer of POST /auth/register.
type User struct {
	ID        string `json:"id"`
	Object    string `json:"object"` // user
	Email     string `json:"email"`
	Name      string `json:"name"`
	CreatedAt int64  `json:"created_at"` // Unix seconds
}

// Token is the answer of a login, by password or identity provider.
type Token struct {
	Token     string `json:"token"`
	TokenType string `json:"token_type"` // Bearer
	ExpiresIn int64  `json:"expires_in"` // seconds
	ExpiresAt int64  `json:"expires_at"` // Unix seconds
}

// NewKey is the body of POST /auth/keys.
type NewKey struct {
	Name string `json:"name"`
}

// CreatedKey is the answer of POST /auth/keys, the only time the key is shown.
type CreatedKey struct {
	ID        string `json:"id"`
	Object    string `json:"object"` // api_key
	Name      string `json:"name"`
	Key       string `json:"key"`
	Prefix    string `json:"prefix"`
	CreatedAt int64  `json:"created_at"` // Unix seconds
}

// Key is one entry of GET /auth/keys.
type Key struct {
	ID         string `json:"id"`
	Object     string `json:"object"` // api_key
	Name       string `json:"name"`
	Prefix     string `json:"prefix"`
	CreatedAt  int64  `json:"created_at"`   // Unix seconds
	LastUsedAt *int64 `json:"last_used_at"` // Unix seconds, null when never
}

// KeyList is the answer of GET /auth/keys.
type KeyList struct {
	Object string `json:"object"`
	Data   []Key  `json:"data"`
}

// Deleted is the answer of DELETE /auth/keys/{key_id}.
type Deleted struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Deleted bool   `json:"deleted"`
}
