package controllers

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/admin"
)

// readKeyQuery is which keys a query asks for, but for whose.
func readKeyQuery(c *gin.Context) (q admin.KeyQuery, err error) {
	switch state := c.Query("state"); state {
	case "", "active":
	case string(models.KeysRevoked), string(models.KeysAll):
		q.State = models.KeysIn(state)
	default:
		return q, api.Invalid(api.CodeInvalidValue, "state", "state must be active, revoked or all")
	}
	if q.Prefix, err = readSearch(c); err != nil {
		return q, err
	}
	text, named := c.GetQuery("days")
	if !named {
		return q, nil
	}
	const most = 31
	q.Days, err = strconv.Atoi(text)
	if err != nil || q.Days < 1 || q.Days > most {
		return q, api.Invalid(api.CodeInvalidValue, "days", "days must be from 1 to %d", most)
	}
	return q, nil
}

// readSearch is the text that a query looks for.
func readSearch(c *gin.Context) (string, error) {
	const longest = 200 // bytes
	text := strings.TrimSpace(c.Query("q"))
	if len(text) > longest || !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return "", api.Invalid(api.CodeInvalidValue, "q", "q must be a text of at most %d bytes", longest)
	}
	return text, nil
}
