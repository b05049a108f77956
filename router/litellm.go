package router

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/gin-gonic/gin"

	"modelgateway/controllers"
	"modelgateway/middleware"
)

// liteLLM serves what clients of LiteLLM call beside the gateway's own routes, while on says so. Most are other paths of
// routes of the gateway, which get the request under their own path.
type liteLLM struct {
	on      func() bool
	gateway http.Handler
	own     http.Handler // the routes that only LiteLLM has
}

// otherPaths are LiteLLM's paths of routes of the gateway. The model that a path names, as Azure's API and OpenAI's former one
// do, may have slashes.
var otherPaths = []struct {
	pattern *regexp.Regexp
	own     string // the gateway's path, with groups of the pattern
}{
	{regexp.MustCompile(`^/health/live(li)?ness$`), "/livez"},
	{regexp.MustCompile(`^/health/readiness$`), "/readyz"},
	{regexp.MustCompile(`^/model/info$`), modelInfoPath},
	{regexp.MustCompile(`(?s)^(/openai/v1)?(?P<path>/(chat/completions|embeddings|responses|models)(/.*)?)$`), "/v1${path}"},
	{regexp.MustCompile(`(?s)^/anthropic/v1(?P<path>/(messages|models)(/.*)?)$`), "/v1${path}"},
	{regexp.MustCompile(`(?s)^/(openai/deployments|engines)/(?P<model>.+)(?P<path>/(chat/completions|embeddings))$`), "/v1${path}"},
}

// The paths that only LiteLLM has.
const (
	modelInfoPath = "/v1/model/info"
	keyInfoPath   = "/key/info"
)

func (l *liteLLM) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !l.on() {
		l.gateway.ServeHTTP(w, r)
		return
	}
	path, model := ownPath(r.URL.Path)
	isPage := below(r.URL.Path, "/models") && controllers.AcceptsHTML(r.Header) // of the console
	isOwn := path == modelInfoPath || path == keyInfoPath
	if isPage || !isOwn && path == r.URL.Path && !strings.HasPrefix(path, "/v1/") {
		l.gateway.ServeHTTP(w, r)
		return
	}
	setCredential(r.Header)
	r = middleware.Prepare(r, &middleware.Request{LiteLLM: true, Deployment: model})
	if path != r.URL.Path {
		moved := *r.URL
		moved.Path = path
		if moved.RawPath, _ = ownPath(r.URL.RawPath); model != "" {
			moved.RawPath = ""
		}
		r.URL = &moved
	}
	if isOwn {
		l.own.ServeHTTP(w, r)
		return
	}
	l.gateway.ServeHTTP(w, r)
}

// ownPath is the gateway's path for one of LiteLLM's, and the model that this one names; any other path is itself.
func ownPath(path string) (own, model string) {
	for _, other := range otherPaths {
		groups := other.pattern.FindStringSubmatchIndex(path)
		if groups == nil {
			continue
		}
		expand := func(template string) string { return string(other.pattern.ExpandString(nil, template, path, groups)) }
		return expand(other.own), expand("${model}")
	}
	return path, ""
}

// setCredential puts the credential where the gateway looks for one: of LiteLLM's own header, which comes before all
// others, or of Azure's.
func setCredential(h http.Header) {
	keys := h["X-Litellm-Api-Key"]
	if len(keys) == 0 && len(h["Authorization"]) == 0 && len(h["X-Api-Key"]) == 0 {
		keys = h["Api-Key"]
	}
	if len(keys) == 0 {
		return
	}
	bearers := make([]string, len(keys)) // several are refused
	for i, key := range keys {
		if scheme, rest, ok := strings.Cut(key, " "); ok && strings.EqualFold(scheme, "Bearer") {
			key = rest
		}
		bearers[i] = "Bearer " + key
	}
	h["Authorization"] = bearers
	delete(h, "X-Api-Key")
}

// withLiteLLM adds the routes of LiteLLM to the gateway's. own has none yet; guards are the steps of /v1.
func (opts Options) withLiteLLM(
	gateway, own *gin.Engine, guards []gin.HandlerFunc, handle func(middleware.Handler) gin.HandlerFunc,
) http.Handler {
	info, group := controllers.LiteLLM{Models: opts.Models.Service, Keys: opts.Keys.Service}, own.Group("", guards...)
	group.Match(readOnly(), modelInfoPath, handle(info.ShowModels))
	group.Match(readOnly(), keyInfoPath, handle(info.ShowKey))
	return &liteLLM{on: opts.LiteLLM, gateway: gateway, own: own}
}
