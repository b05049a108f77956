package middleware

import (
	"modelgateway/services"
	"net/http"
)

func TokenHeaders(header http.Header, s services.TokenStanding) {}
