// Package router has all routes on one page, each with its middleware.
package router

import (
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
	"modelgateway/controllers"
	"modelgateway/dialects/embeddings"
	"modelgateway/dialects/responses"
	"modelgateway/middleware"
	"modelgateway/models"
	"modelgateway/services/admin"
	"modelgateway/services/auth"
	"modelgateway/services/metrics"
	"modelgateway/services/ratelimit"
	"modelgateway/services/tracing"
	"modelgateway/web"
)

// Options are the controllers of the routes and what the middleware needs.
type Options struct {
	Generate   controllers.Generate  // a request to a model; each route has its own dialect
	Count      controllers.Count     // a request for the size of a prompt; likewise
	Responses  controllers.Responses // that were kept
	Models     *controllers.Models
	Health     *controllers.Health
	Docs       *controllers.Docs
	Console    *controllers.Console
	Session    *controllers.Session
	Auth       *controllers.Auth
	Keys       *controllers.Keys
	Admin      *controllers.Admin
	IDP        *controllers.IDP
	Usage      *controllers.Usage
	Calls      *controllers.Calls
	Contents   *controllers.Contents
	Operations *controllers.Operations
	Metrics    *controllers.Metrics
	SignIn     *controllers.SignIn

	Callers      middleware.Auth     // who may call /v1
	CallLimit    *ratelimit.Requests // of callers on /v1
	CountLimit   *ratelimit.Requests // of callers that count tokens: agents ask before many turns
	AuthLimit    *ratelimit.Requests // of addresses on routes without a credential
	NetworkLimit *ratelimit.Requests // of the networks of IPv6 clients on the same routes

	Counted        *metrics.Metrics     // counts every request; nil = none
	Tracer         *tracing.Tracer      // nil = no request is traced
	Refused        func(models.Refusal) // receives refused calls; nil = none
	Log            *slog.Logger
	Now            func() time.Time
	TrustedProxies []netip.Prefix // whose X-Forwarded-For is used
	Hosts          []string       // that are served beside local ones; nil: all
	Origins        []string       // of pages that may call the gateway
	Cookies        middleware.Cookies

	LiteLLM func() bool // whether clients of LiteLLM find its routes and may send its members; nil = never
}

// New makes the handler of the whole gateway.
func New(opts Options) (http.Handler, error) {
	dialect := newDialects()
	chain := middleware.Chain{
		Log: opts.Log, Metrics: opts.Counted, Tracer: opts.Tracer, Now: opts.Now, Dialect: dialect.of, Cookies: opts.Cookies,
		Refused: opts.Refused,
	}
	opts.Callers.Foreign = isMessages
	handle := chain.Handle
	steps := []gin.HandlerFunc{
		middleware.Forwarded, chain.Identify, chain.Access, chain.Recover, chain.Bound, chain.Hosts(opts.Hosts),
		chain.CORS(opts.Origins), chain.Session(),
	}
	engine, err := newEngine(opts.TrustedProxies, handle(noMethod), steps)
	if err != nil {
		return nil, err
	}
	routes := sync.OnceValue(engine.Routes)
	unknown := func(c *gin.Context) error { return noRoute(routes(), c.Request.URL.Path) }
	engine.NoRoute(handle(opts.Console.Missing(unknown)))

	read := readOnly()
	engine.Match(read, "/health", middleware.NoStore, handle(opts.Health.Report))
	engine.Match(read, "/livez", middleware.NoStore, handle(opts.Health.Live))
	engine.Match(read, "/readyz", middleware.NoStore, handle(opts.Health.Ready))
	engine.Match(read, "/metrics", middleware.NoStore, handle(opts.Metrics.Show))
	opts.pages(engine, handle, unknown)

	opts.accounts(engine, chain)
	opts.signIn(engine, chain)

	all := engine.Group("/admin", middleware.NoStore, middleware.All.Set, chain.Admin(opts.Callers.Tokens, opts.Admin.Service))
	opts.administration(all, chain.Limit(opts.AuthLimit, middleware.Account), handle)

	// Requests to a model: a line for each dialect.
	generate := func(path string, d *api.Dialect) {
		handler := opts.Generate
		handler.Dialect = d
		steps := []gin.HandlerFunc{
			chain.Refusals, chain.Caller(opts.Callers), chain.Limit(opts.CallLimit, middleware.Account), handle(handler.Create),
		}
		if opts.Contents != nil && opts.Contents.Log.On() {
			steps = slices.Insert(steps, len(steps)-1, gin.HandlerFunc(opts.Contents.Record))
		}
		if d == dialect.messages {
			steps = slices.Insert(steps, len(steps)-1, chain.UsageHeaders(opts.SignIn.Service.Standings))
		}
		engine.POST(path, steps...)
	}
	generate("/v1/chat/completions", dialect.chat)
	generate("/v1/messages", dialect.messages)
	generate(responsesPath, dialect.responses)
	generate(responsesPath+"/compact", responses.Compaction())
	engine.GET(responsesPath, handle(noSocket))
	generate("/v1/embeddings", embeddings.Dialect())

	count := func(path string, d *api.Dialect) {
		handler := opts.Count
		handler.Dialect = d
		engine.POST(path, chain.Refusals, chain.Caller(opts.Callers), chain.Limit(opts.CountLimit, middleware.Account),
			handle(handler.Create))
	}
	count("/v1/messages/count_tokens", dialect.messages)
	count(responsesPath+"/input_tokens", dialect.responses)

	v1 := engine.Group("/v1", middleware.NoStore, chain.Caller(opts.Callers), chain.Limit(opts.CallLimit, middleware.Account))
	v1.Match(read, "/models", handle(byDialect(opts.Models.Page, opts.Models.List)))
	model := byDialect(opts.Models.Info, opts.Models.Get)
	v1.Match(read, "/models/*id", handle(func(c *gin.Context) error { // an id may contain slashes
		if c.Param("id") == "/" {
			return unknown(c)
		}
		return model(c)
	}))
	opts.ownCalls(v1, handle)
	opts.Responses.Dialect = dialect.responses
	opts.keptResponses(engine, v1, handle)
	if opts.LiteLLM == nil {
		return engine, nil
	}
	own, err := newEngine(opts.TrustedProxies, handle(noMethod), steps)
	return opts.withLiteLLM(engine, own, v1.Handlers[len(steps):], handle), err
}

// newEngine makes an engine without routes, with the steps of every request.
func newEngine(proxies []netip.Prefix, noMethod gin.HandlerFunc, steps []gin.HandlerFunc) (*gin.Engine, error) {
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	if err := trust(engine, proxies); err != nil {
		return nil, err
	}
	engine.HandleMethodNotAllowed = true
	engine.RedirectTrailingSlash = false // a 307 would hide that the path is wrong
	engine.UseRawPath = true             // routes match the path that the middleware has checked
	engine.UnescapePathValues = true
	engine.Use(steps...)
	engine.NoMethod(noMethod)
	return engine, nil
}

// ownCalls adds the routes of what a caller has spent and called.
func (opts Options) ownCalls(v1 *gin.RouterGroup, handle func(middleware.Handler) gin.HandlerFunc) {
	read := readOnly()
	v1.Match(read, "/usage", handle(opts.Usage.Show))
	v1.Match(read, "/calls", handle(opts.Calls.List))
	v1.Match(read, "/calls/:id", handle(opts.Calls.Get))
	v1.Match(read, "/refusals", handle(opts.Calls.Refusals))
	v1.GET("/calls/:id/content", handle(opts.Contents.Get))
	v1.Match(read, "/sessions", handle(opts.Calls.Sessions))
	v1.Match(read, "/sessions/:id", handle(opts.Calls.Session))
}

// keptResponses adds the routes of the responses that are kept.
func (opts Options) keptResponses(engine *gin.Engine, v1 *gin.RouterGroup, handle func(middleware.Handler) gin.HandlerFunc) {
	read := readOnly()
	for _, action := range []string{"/compact", "/input_tokens"} { // not the ids of responses
		engine.Match([]string{http.MethodGet, http.MethodHead, http.MethodDelete}, responsesPath+action, handle(onlyPost))
	}
	kept := v1.Group("/responses/:id")
	kept.Match(read, "", handle(opts.Responses.Get))
	kept.DELETE("", handle(opts.Responses.Delete))
	kept.Match(read, "/input_items", handle(opts.Responses.InputItems))
	kept.POST("/cancel", handle(opts.Responses.Cancel))
}

// readOnly are the methods of what is only read. HEAD is allowed wherever GET is, but
// for logins, which it would begin or end.
func readOnly() []string { return []string{http.MethodGet, http.MethodHead} }

// pages adds the console and the description of the API.
func (opts Options) pages(engine *gin.Engine, handle func(middleware.Handler) gin.HandlerFunc, unknown middleware.Handler) {
	engine.Match(readOnly(), "/openapi.yaml", handle(opts.Docs.Document))
	engine.Match(readOnly(), "/docs", handle(opts.Docs.Show))
	engine.Match(readOnly(), "/docs/page.css", handle(opts.Docs.Style))
	engine.Match(readOnly(), "/docs/page.js", handle(opts.Docs.Script))
	engine.Match(readOnly(), "/docs/:name", handle(opts.Docs.Guide(unknown)))
	engine.Match(readOnly(), "/", handle(opts.Console.Page(opts.Console.Root)))
	for _, page := range web.ConsolePages() {
		engine.Match(readOnly(), page, handle(opts.Console.Page(unknown)))
	}
	engine.Match(readOnly(), "/console/*file", handle(opts.Console.File(unknown)))
}

// accounts adds the routes of /auth.
func (opts Options) accounts(engine *gin.Engine, chain middleware.Chain) {
	handle := chain.Handle
	guessable := chain.Limit(opts.AuthLimit, middleware.Address) // a password, an e-mail address, a login
	changes := chain.Limit(opts.AuthLimit, middleware.Account)   // of a user: each key is a row that is kept
	group := engine.Group("/auth", middleware.NoStore)
	login := group.Group("", guessable, chain.LimitNetwork(opts.NetworkLimit))
	login.POST("/register", handle(opts.Auth.Register))
	login.POST("/setup", handle(opts.Auth.Setup))
	login.POST("/login", handle(opts.Auth.Login))
	login.POST("/password/forgot", handle(opts.Auth.ForgotPassword))
	login.POST("/password/reset", handle(opts.Auth.ResetPassword))
	login.POST("/verify", handle(opts.Auth.Verify))
	login.POST("/link", handle(opts.Auth.ReadLink))
	group.Match(readOnly(), "/link", handle(opts.Auth.OldLink))
	login.GET("/idp", handle(opts.IDP.Begin))
	login.GET("/idp/callback", handle(opts.IDP.Callback))

	login.POST("/session", handle(opts.Session.Create))
	group.Match(readOnly(), "/methods", chain.Limit(opts.CallLimit, middleware.Address), handle(opts.Session.ShowMethods))
	own := group.Group("/session", chain.User(opts.Callers.Tokens), chain.Limit(opts.CallLimit, middleware.Account))
	own.Match(readOnly(), "", handle(opts.Session.Show))

	session := group.Group("", chain.User(opts.Callers.Tokens), changes)
	session.DELETE("/session", handle(opts.Session.End))
	session.PATCH("/user", handle(opts.Auth.ChangeUser))
	session.POST("/password", handle(opts.Auth.ChangePassword))
	session.POST("/logout", handle(opts.Auth.Logout))
	session.POST("/idp/link", handle(opts.IDP.Link))
	session.DELETE("/idp/link", handle(opts.IDP.Unlink))

	keys := group.Group("/keys", chain.User(opts.Callers.Tokens), chain.Limit(opts.CallLimit, middleware.Account))
	keys.POST("", changes, handle(opts.Keys.Create))
	keys.Match(readOnly(), "", handle(opts.Keys.List))
	keys.Match(readOnly(), "/:id", handle(opts.Keys.Get))
	keys.PATCH("/:id", changes, handle(controllers.Change(opts.Keys.Change, auth.ShowKey)))
	keys.DELETE("/:id", changes, handle(controllers.Delete(opts.Keys.Revoke, api.ObjectKey)))
	keys.POST("/:id/restore", changes, handle(controllers.Act(opts.Admin.RestoreOwnKey, auth.ShowKey)))
	keys.POST("/:id/rotate", changes, handle(opts.Keys.Rotate))
	keys.POST("/:id/secret", changes, handle(opts.Keys.Fetch))

	opts.teams(group.Group("/teams", chain.User(opts.Callers.Tokens), chain.Limit(opts.CallLimit, middleware.Account)), changes, handle)
}

// signIn adds the routes of the sign-in of programs, and those that only programs ask that are signed in.
func (opts Options) signIn(engine *gin.Engine, chain middleware.Chain) {
	handle, h := chain.Handle, opts.SignIn
	address := chain.Limit(opts.CallLimit, middleware.Address) // of programs that ask every five seconds
	engine.Match(readOnly(), "/.well-known/oauth-authorization-server", middleware.NoStore, address, handle(h.Server))
	oauth := engine.Group("/oauth", middleware.NoStore)
	oauth.POST("/device_authorization", chain.Limit(opts.AuthLimit, middleware.Address), chain.LimitNetwork(opts.NetworkLimit),
		handle(h.Device))
	oauth.POST("/token", address, handle(h.Token))
	oauth.POST("/revoke", address, handle(h.Revoke))

	guesses := chain.Limit(opts.AuthLimit, middleware.Account) // of codes
	own := engine.Group("/auth", middleware.NoStore, chain.User(opts.Callers.Tokens))
	own.POST("/device", guesses, handle(h.Find))
	own.POST("/device/confirm", guesses, handle(h.Confirm))
	own.Match(readOnly(), "/sign-ins", chain.Limit(opts.CallLimit, middleware.Account), handle(h.List))
	own.DELETE("/sign-ins/:id", guesses, handle(h.End))

	signedIn := engine.Group("", middleware.NoStore, chain.Caller(opts.Callers), chain.Limit(opts.CallLimit, middleware.Account))
	signedIn.GET("/managed/settings", handle(h.Settings))
	signedIn.GET("/api/oauth/usage", handle(h.Usage))
	for _, signal := range []string{"/v1/metrics", "/v1/logs", "/v1/traces"} {
		signedIn.POST(signal, handle(h.Collect))
	}
}

// teams adds the routes of a user's teams. Apart from the list and from leaving a team they are
// for managers of the team.
func (opts Options) teams(teams *gin.RouterGroup, changes gin.HandlerFunc, handle func(middleware.Handler) gin.HandlerFunc) {
	h := opts.Admin
	teams.Match(readOnly(), "", handle(h.OwnTeams))
	team := teams.Group("/:id", middleware.Team.Set)
	team.Match(readOnly(), "/members", handle(h.Members))
	team.PATCH("/members/:user", changes, handle(h.ChangeMember))
	team.DELETE("/members/:user", changes, handle(h.RemoveMember))
	team.Match(readOnly(), "/invitations", handle(h.Invitations))
	team.POST("/invitations", changes, handle(h.Invite))
	team.DELETE("/invitations/:invitation", changes, handle(controllers.Delete(h.Service.DeleteInvitation, "invitation")))
	team.Match(readOnly(), "/usage", handle(opts.Usage.Show))
	team.Match(readOnly(), "/calls", handle(opts.Calls.List))
	team.Match(readOnly(), "/calls/:call", handle(opts.Calls.Get))
	team.Match(readOnly(), "/refusals", handle(opts.Calls.Refusals))
	team.Match(readOnly(), "/keys", handle(h.Keys))
	team.POST("/keys", changes, handle(h.CreateKey))
	team.Match(readOnly(), "/keys/:key", handle(controllers.Act(h.Service.Key, admin.ShowKey)))
	team.PATCH("/keys/:key", changes, handle(controllers.Change(h.Service.ChangeKey, admin.ShowKey)))
	team.DELETE("/keys/:key", changes, handle(controllers.Delete(h.Service.RevokeKey, api.ObjectKey)))
	team.POST("/keys/:key/restore", changes, handle(controllers.Act(h.Service.RestoreKey, admin.ShowKey)))
	team.POST("/keys/:key/rotate", changes, handle(h.RotateKey))
}

// administration adds the routes of administrators. asks limits those that call others.
func (opts Options) administration(all *gin.RouterGroup, asks gin.HandlerFunc, handle func(middleware.Handler) gin.HandlerFunc) {
	h := opts.Admin
	all.Match(readOnly(), "/users", handle(h.Users))
	all.POST("/users", handle(controllers.Create(h.Service.CreateUser, h.Service.ShowCreatedUser)))
	all.Match(readOnly(), "/users/:id", handle(controllers.Find(h.Service.User, admin.ShowUser)))
	all.PATCH("/users/:id", handle(controllers.Change(h.Service.ChangeUser, admin.ShowUser)))
	all.DELETE("/users/:id", handle(controllers.Delete(h.Service.DeleteUser, api.ObjectUser)))
	all.POST("/users/:id/erase", handle(h.Erase))
	all.POST("/users/:id/restore", handle(controllers.Act(h.Service.RestoreUser, admin.ShowUser)))
	all.POST("/users/:id/reset", handle(h.Reset))
	all.Match(readOnly(), "/invitations", handle(h.Invitations))
	all.POST("/invitations", handle(h.Invite))
	all.DELETE("/invitations/:id", handle(controllers.Delete(h.Service.DeleteInvitation, "invitation")))
	all.Match(readOnly(), "/teams", handle(h.Teams))
	all.POST("/teams", handle(controllers.Create(h.Service.CreateTeam, admin.ShowTeam)))
	all.Match(readOnly(), "/teams/:id", handle(controllers.Find(h.Service.Team, admin.ShowTeam)))
	all.PATCH("/teams/:id", handle(controllers.Change(h.Service.ChangeTeam, admin.ShowTeam)))
	all.DELETE("/teams/:id", handle(controllers.Delete(h.Service.DeleteTeam, "team")))
	all.Match(readOnly(), "/teams/:id/members", handle(h.Members))
	all.POST("/teams/:id/members", handle(h.AddMember))
	all.PATCH("/teams/:id/members/:user", handle(h.ChangeMember))
	all.DELETE("/teams/:id/members/:user", handle(h.RemoveMember))
	all.Match(readOnly(), "/keys", handle(h.Keys))
	all.POST("/keys", handle(h.CreateKey))
	all.Match(readOnly(), "/keys/:id", handle(controllers.Act(h.Service.Key, admin.ShowKey)))
	all.PATCH("/keys/:id", handle(controllers.Change(h.Service.ChangeKey, admin.ShowKey)))
	all.DELETE("/keys/:id", handle(controllers.Delete(h.Service.RevokeKey, api.ObjectKey)))
	all.POST("/keys/:id/restore", handle(controllers.Act(h.Service.RestoreKey, admin.ShowKey)))
	all.POST("/keys/:id/rotate", handle(h.RotateKey))
	all.Match(readOnly(), "/usage", handle(opts.Usage.Show))
	all.Match(readOnly(), "/statement", handle(opts.Usage.Statement))
	all.Match(readOnly(), "/calls", handle(opts.Calls.List))
	all.Match(readOnly(), "/calls/:id", handle(opts.Calls.Get))
	all.Match(readOnly(), "/refusals", handle(opts.Calls.Refusals))
	all.GET("/calls/:id/content", handle(opts.Contents.Get))
	all.Match(readOnly(), "/sessions", handle(opts.Calls.Sessions))
	all.Match(readOnly(), "/sessions/:id", handle(opts.Calls.Session))
	all.Match(readOnly(), "/sign-ins", handle(opts.SignIn.List))
	all.DELETE("/sign-ins/:id", handle(opts.SignIn.End))
	for _, of := range []string{"", "/teams/:id"} {
		all.Match(readOnly(), of+"/agent-settings", handle(h.AgentSettings))
		all.PUT(of+"/agent-settings", handle(h.SetAgentSettings))
		all.DELETE(of+"/agent-settings", handle(h.RemoveAgentSettings))
	}
	all.Match(readOnly(), "/audit", handle(h.Audit))
	all.Match(readOnly(), "/providers", handle(opts.Operations.ListProviders))
	all.POST("/providers/try", asks, handle(opts.Operations.TryProvider))
	all.Match(readOnly(), "/alerts", handle(opts.Operations.ListAlerts))
	all.POST("/alerts/test", asks, handle(opts.Operations.TestAlerts))
	all.Match(readOnly(), "/budget", handle(opts.Operations.ShowBudget))
	all.Match(readOnly(), "/budgets", handle(opts.Operations.ListBudgets))
	all.Match(readOnly(), "/settings", handle(opts.Operations.ShowSettings))
}

func trust(engine *gin.Engine, proxies []netip.Prefix) error {
	var all []string
	for _, p := range proxies {
		all = append(all, p.String())
	}
	engine.RemoteIPHeaders = []string{"X-Forwarded-For"} // Gin's default believes a client's X-Real-IP as well
	return engine.SetTrustedProxies(all)                 // nil trusts no proxy; the default of Gin trusts all
}

// onlyPost answers other methods of a path that only POST has.
func onlyPost(c *gin.Context) error {
	c.Header("Allow", http.MethodPost)
	return noMethod(c)
}

// noMethod answers where Gin has already set Allow.
func noMethod(c *gin.Context) error {
	e := &api.Error{
		Status: http.StatusMethodNotAllowed, Type: api.TypeInvalidRequest, Code: api.CodeMethodNotAllowed,
		Message: "this path does not allow the method " + c.Request.Method,
	}
	if c.Request.Method == http.MethodOptions {
		e.Message += "; CORS_ALLOWED_ORIGINS names the web pages that may call the gateway from a browser"
	}
	return e
}
