package router

import (
	"net/http"
	"path"
	"strings"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
	"modelgateway/middleware"
)

// noRoute is the error for a path without a route. It names the path, and the route
// that was probably meant: a base URL without /v1 or with two, a slash too many.
func noRoute(routes gin.RoutesInfo, wrong string) error {
	message := "there is no route at " + quoted(wrong) + "; "
	if meant := meant(routes, wrong); meant != "" {
		message += "did you mean " + quoted(meant) + "?"
	} else {
		message += "GET /docs lists the routes"
	}
	return &api.Error{Status: http.StatusNotFound, Type: api.TypeNotFound, Code: api.CodeRouteNotFound, Message: message}
}

// quoted is a path without what looks like a credential.
func quoted(path string) string { return api.Quoted(middleware.FromClient(path)) }

// meant is the path of a route that differs from a wrong path by its slashes or its
// /v1; empty if there is none.
func meant(routes gin.RoutesInfo, wrong string) string {
	const longest = 1024 // bytes of a path that is looked at
	if len(wrong) > longest {
		return ""
	}
	tidy := path.Clean("/" + wrong)
	rest := tidy
	for rest == "/v1" || strings.HasPrefix(rest, "/v1/") {
		rest = strings.TrimPrefix(rest, "/v1")
	}
	for _, candidate := range []string{tidy, "/v1" + rest, rest} {
		for _, r := range routes {
			if candidate != wrong && matches(r.Path, candidate) {
				return candidate
			}
		}
	}
	return ""
}

// matches reports whether a path is of a route, whose parameters may stand for any
// segment.
func matches(route, path string) bool {
	for {
		name, later, more := strings.Cut(route, "/")
		if strings.HasPrefix(name, "*") {
			return path != ""
		}
		segment, rest, longer := strings.Cut(path, "/")
		if name != segment && (!strings.HasPrefix(name, ":") || segment == "") || more != longer {
			return false
		}
		if !more {
			return true
		}
		route, path = later, rest
	}
}
