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

// Deleted is the answer of DELETE /auth/keys/{key_id}.
type Deleted struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Deleted bool   `json:"deleted"`
}
