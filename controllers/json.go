package controllers

import (
	"fmt"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"

	"modelgateway/api"
)

func writeJSON(c *gin.Context, status int, value any) error {
	body, err := json.Marshal(value, api.Lenient)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	return writeBody(c, status, body)
}

func size(bytes int64) string {
	if bytes >= 1<<20 && bytes%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	if bytes >= 1<<10 && bytes%(1<<10) == 0 {
		return fmt.Sprintf("%d KiB", bytes>>10)
	}
	return fmt.Sprintf("%d bytes", bytes)
}
