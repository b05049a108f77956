package api

// Registration is the body of POST /auth/register.
type Registration struct {
	Email    string `json:"email"`
	Password string `json:"password"`
	Name     string `json:"name"`

	Invitation string `json:"invitation"` // a one-time token; empty: none
}

// Setup is the body of POST /auth/setup.
type Setup struct {
	Token    string `json:"token"`
	Email    string `json:"email"`
	Password string `json:"password"`
	Name     string `json:"name"`
}

// PasswordChange is the body of POST /auth/password.
type PasswordChange struct {
	Current string `json:"current_password"`
	New     string `json:"new_password"`
}

// OwnChange is the body of PATCH /auth/user.
type OwnChange struct {
	Name string `json:"name"`
}

// ForgottenPassword is the body of POST /auth/password/forgot.
type ForgottenPassword struct {
	Email string `json:"email"`
}

// PasswordReset is the body of POST /auth/password/reset.
type PasswordReset struct {
	Token  string `json:"token"`
	New    string `json:"new_password"`
	Unlink bool   `json:"unlink"` // also removes the linked identities
}

// LinkToken is the body of POST /auth/link.
type LinkToken struct {
	Token string `json:"token"`
}

// OpenedLink is the answer of POST /auth/link: what the token of a link is for.
type OpenedLink struct {
	Object    string `json:"object"`     // link
	Purpose   string `json:"purpose"`    // invite, reset, verify or setup
	Email     Maybe  `json:"email"`      // the only address with which the link can be used; null: any
	Team      Maybe  `json:"team"`       // name of the team that an invitation is to; null: none
	ExpiresAt int64  `json:"expires_at"` // Unix seconds

	Identities []Identity `json:"identities"` // of the account, which its use may remove
	Ends       *LinkEnds  `json:"ends"`       // with its use; null: nothing
}

// LinkEnds is what others may have made in an account, and what ends at the first proof of its address.
// Its password, logins and other links end as well.
type LinkEnds struct {
	Keys       []string   `json:"keys"` // their names, at most 100
	Identities []Identity `json:"identities"`
	Teams      []string   `json:"teams"` // the names of those of which the account is a member
	Admin      bool       `json:"admin"`
}

// Confirmation is the body of POST /auth/idp/link, which may be left out.
type Confirmation struct {
	Current string `json:"current_password"`
}

// Identity is an account at an identity provider with which a user can log in.
type Identity struct {
	Issuer    string `json:"issuer"`
	Email     Maybe  `json:"email"`      // there, when it was linked; null for one that a former version has linked
	CreatedAt int64  `json:"created_at"` // Unix seconds
}

// Logout is the body of POST /auth/logout.
type Logout struct {
	Everywhere bool `json:"everywhere"`
	Unlink     bool `json:"unlink"` // also removes the linked identities
}

// The objects of answers without a resource.
const (
	ObjectLogout   = "logout"
	ObjectAccepted = "accepted"
	ObjectRedirect = "redirect"
	ObjectLink     = "link"
	ObjectIdentity = "identity"
)

// Redirect is the answer with an address that the browser has to open.
type Redirect struct {
	Object string `json:"object"` // redirect
	URL    string `json:"url"`
}

// Unlinked is the answer of DELETE /auth/idp/link.
type Unlinked struct {
	Object  string `json:"object"` // identity
	Deleted bool   `json:"deleted"`
}

// LoggedOut is the answer of POST /auth/logout.
type LoggedOut struct {
	Object     string `json:"object"` // logout
	Everywhere bool   `json:"everywhere"`
}

// Accepted is the answer to a request that may be done later.
type Accepted struct {
	Object  string `json:"object"` // accepted
	Message string `json:"message"`
}

// Login is the body of POST /auth/login.
type Login struct {
	Email    string `json:"email"`
	Password string `json:"password"`
}

// User is the answer of POST /auth/register and of others that change a user.
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

// ObjectSession and ObjectLoginMethods are the objects of Session, also of AgentSession, and LoginMethods.
const (
	ObjectSession      = "session"
	ObjectLoginMethods = "login_methods"
)

// Session is the answer of GET /auth/session.
type Session struct {
	Object           string    `json:"object"` // session
	User             AdminUser `json:"user"`
	ExpiresAt        int64     `json:"expires_at"`        // Unix seconds
	Password         bool      `json:"password"`          // the user can log in with one
	IdentityProvider Maybe     `json:"identity_provider"` // by which the user can log in; null without

	Identities []Identity `json:"identities"`
}

// LoginMethods is the answer of GET /auth/methods.
type LoginMethods struct {
	Object           string `json:"object"`  // login_methods
	Session          bool   `json:"session"` // the request has the console's cookie, and it is valid
	Registration     string `json:"registration"`
	IdentityProvider Maybe  `json:"identity_provider"` // null without
	Setup            bool   `json:"setup"`             // there is no administrator yet
	Open             bool   `json:"open"`              // calls need no credential
	Mail             bool   `json:"mail"`              // the gateway sends mail
	Simulated        bool   `json:"simulated"`         // the providers are simulators
	Version          string `json:"version"`
	PublicURL        string `json:"public_url"`
}

// Deleted is the answer of DELETE /auth/keys/{key_id}.
type Deleted struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Deleted bool   `json:"deleted"`
}
