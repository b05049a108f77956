// Package router has all routes on one page, each with its middleware.
package router

import (
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"modelgateway/controllers"
	"modelgateway/middleware"
	"modelgateway/models/api"
	"modelgateway/models/api/chat"
	"modelgateway/services/metrics"
	"modelgateway/services/ratelimit"
	"modelgateway/services/tracing"
)

// Options are the controllers of the routes and what the middleware needs.
type Options struct {
	Generate controllers.Generate // a request to a model; each route has its own dialect
	Models   *controllers.Models
	Health   *controllers.Health
	Docs     *controllers.Docs
	Auth     *controllers.Auth
	Keys     *controllers.Keys
	Admin    *controllers.Admin
	IDP      *controllers.IDP
	Usage    *controllers.Usage
	Metrics  *controllers.Metrics

	Callers      middleware.Auth     // who may call /v1
	CallLimit    *ratelimit.Requests // of callers on /v1
	AuthLimit    *ratelimit.Requests // of addresses on routes without a credential
	NetworkLimit *ratelimit.Requests // of the networks of IPv6 clients on the same routes

	Counted        *metrics.Metrics // counts every request; nil = none
	Tracer         *tracing.Tracer  // nil = no request is traced
	Log            *slog.Logger
	Now            func() time.Time
	TrustedProxies []netip.Prefix // whose X-Forwarded-For is used
	Origins        []string       // of pages that may call the gateway
}

// New makes the handler of the whole gateway.
func New(opts Options) (http.Handler, error) {
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	if err := trust(engine, opts.TrustedProxies); err != nil {
		return nil, err
	}
	engine.HandleMethodNotAllowed = true
	engine.RedirectTrailingSlash = false // a 307 would hide that the path is wrong
	engine.UseRawPath = true             // routes match the path that the middleware has checked
	engine.UnescapePathValues = true

	chain := middleware.Chain{Log: opts.Log, Metrics: opts.Counted, Tracer: opts.Tracer, Now: opts.Now}
	handle := chain.Handle
	engine.Use(middleware.Forwarded, chain.Identify, chain.Access, chain.Recover, chain.Bound, chain.CORS(opts.Origins))
	routes := sync.OnceValue(engine.Routes)
	unknown := func(c *gin.Context) error { return noRoute(routes(), c.Request.URL.Path) }
	engine.NoRoute(handle(unknown))
	engine.NoMethod(handle(noMethod))

	// HEAD is allowed wherever GET is, but for logins, which it would begin or end.
	read := []string{http.MethodGet, http.MethodHead}
	engine.Match(read, "/health", middleware.NoStore, handle(opts.Health.Report))
	engine.Match(read, "/livez", middleware.NoStore, handle(opts.Health.Live))
	engine.Match(read, "/readyz", middleware.NoStore, handle(opts.Health.Ready))
	engine.Match(read, "/metrics", middleware.NoStore, handle(opts.Metrics.Show))
	engine.Match(read, "/openapi.yaml", handle(opts.Docs.Document))
	engine.Match(read, "/docs", handle(opts.Docs.Show))

	guessable := chain.Limit(opts.AuthLimit, middleware.Address) // a password, an e-mail address, a login
	auth := engine.Group("/auth", middleware.NoStore)
	login := auth.Group("", guessable, chain.LimitNetwork(opts.NetworkLimit))
	login.POST("/register", handle(opts.Auth.Register))
	login.POST("/login", handle(opts.Auth.Login))
	login.GET("/idp", handle(opts.IDP.Begin))
	login.GET("/idp/callback", handle(opts.IDP.Callback))

	keys := auth.Group("/keys", chain.User(opts.Callers.Tokens), chain.Limit(opts.CallLimit, middleware.Account))
	changes := chain.Limit(opts.AuthLimit, middleware.Account) // of a user: each key is a row that is kept
	keys.POST("", changes, handle(opts.Keys.Create))
	keys.Match(read, "", handle(opts.Keys.List))
	keys.PATCH("/:id", changes, handle(opts.Keys.Change))
	keys.DELETE("/:id", changes, handle(opts.Keys.Revoke))

	admin := engine.Group("/admin", middleware.NoStore, chain.Admin(opts.Callers.Tokens, opts.Admin.Service))
	admin.Match(read, "/users", handle(opts.Admin.Users))
	admin.PATCH("/users/:id", handle(opts.Admin.ChangeUser))
	admin.Match(read, "/keys", handle(opts.Admin.Keys))
	admin.PATCH("/keys/:id", handle(opts.Admin.ChangeKey))
	admin.DELETE("/keys/:id", handle(opts.Admin.RevokeKey))
	admin.Match(read, "/usage", handle(opts.Usage.All))
	admin.Match(read, "/audit", handle(opts.Admin.Audit))

	// Requests to a model: a line for each dialect, which is that of its errors as
	// well.
	generate := func(path string, d api.Dialect) {
		chain, handler := chain, opts.Generate
		chain.Dialect, handler.Dialect = d, d
		engine.POST(path, chain.Caller(opts.Callers), chain.Limit(opts.CallLimit, middleware.Account), chain.Handle(handler.Create))
	}
	generate("/v1/chat/completions", chat.Dialect{})

	v1 := engine.Group("/v1", middleware.NoStore, chain.Caller(opts.Callers), chain.Limit(opts.CallLimit, middleware.Account))
	v1.Match(read, "/models", handle(opts.Models.List))
	v1.Match(read, "/models/*id", handle(func(c *gin.Context) error { // an id may contain slashes
		if c.Param("id") == "/" {
			return unknown(c)
		}
		return opts.Models.Get(c)
	}))
	v1.Match(read, "/usage", handle(opts.Usage.Own))
	return engine, nil
}

func trust(engine *gin.Engine, proxies []netip.Prefix) error {
	var all []string
	for _, p := range proxies {
		all = append(all, p.String())
	}
	engine.RemoteIPHeaders = []string{"X-Forwarded-For"} // Gin's default believes a client's X-Real-IP as well
	return engine.SetTrustedProxies(all)                 // nil trusts no proxy; the default of Gin trusts all
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
