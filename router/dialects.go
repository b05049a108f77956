package router

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
	"modelgateway/dialects/chat"
	"modelgateway/dialects/messages"
	"modelgateway/dialects/oauth"
	"modelgateway/dialects/responses"
	"modelgateway/middleware"
)

// dialects are those in which errors are written.
type dialects struct{ chat, messages, responses, oauth *api.Dialect }

func newDialects() *dialects {
	return &dialects{chat: chat.Dialect(), messages: messages.Dialect(), responses: responses.Dialect(), oauth: oauth.Errors()}
}

// of is the dialect in which the errors of a request are written, from the first guard on.
func (d *dialects) of(c *gin.Context) *api.Dialect {
	switch {
	case isMessages(c):
		return d.messages
	case below(c.Request.URL.Path, responsesPath):
		return d.responses
	case below(c.Request.URL.Path, "/oauth"):
		return d.oauth
	}
	return d.chat
}

const responsesPath = "/v1/responses"

// below says whether a path is another one or below it.
func below(path, other string) bool {
	rest, ok := strings.CutPrefix(path, other)
	return ok && (rest == "" || rest[0] == '/')
}

// messagesPaths are those of Anthropic's API and of Claude Code's own gateway, with all paths below them. Of
// /v1/complete, /v1/files and /v1/skills the gateway has none; their clients must be able to read its 404.
var messagesPaths = [...]string{
	"/v1/messages", "/v1/complete", "/v1/files", "/v1/skills",
	"/managed", "/api/oauth", "/v1/metrics", "/v1/logs", "/v1/traces",
}

// isMessages says whether a request is one of Anthropic's API: by its path, or on the list
// of models and on a path that the gateway does not have by the version that only clients
// of that API send.
func isMessages(c *gin.Context) bool {
	for _, own := range messagesPaths {
		if below(c.Request.URL.Path, own) {
			return true
		}
	}
	return hasVersion(c.Request.Header) && (c.FullPath() == "" || strings.HasPrefix(c.FullPath(), "/v1/models"))
}

// hasVersion says whether a client names a version of Anthropic's API; any version will do.
func hasVersion(h http.Header) bool { return len(h["Anthropic-Version"]) > 0 }

// byDialect runs the first handler for clients of Anthropic's API, the other one for all
// others.
func byDialect(anthropic, other middleware.Handler) middleware.Handler {
	return func(c *gin.Context) error {
		if isMessages(c) {
			return anthropic(c)
		}
		return other(c)
	}
}
