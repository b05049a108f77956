package controllers

import (
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/admin"
)

// fileType is the type of file that a client accepts; empty where it accepts none.
func fileType(c *gin.Context) api.FileType {
	for part := range strings.SplitSeq(c.GetHeader("Accept"), ",") {
		name, _, err := mime.ParseMediaType(part)
		if as := api.FileType(name); err == nil && (as == api.CSV || as == api.JSONLines) {
			return as
		}
	}
	return ""
}

// startFile sets the headers of a file.
func startFile(c *gin.Context, as api.FileType, name string) {
	c.Header("Content-Type", string(as)+"; charset=utf-8")
	c.Header("Content-Disposition", `attachment; filename="`+name+as.Extension()+`"`)
	c.Status(http.StatusOK)
}

// sendFile sends all rows of a list as a file, a page after the other. next returns the page
// behind the row with an id, and the id from which others follow, empty for the last page. An
// error behind the first page cuts the file off: its reader sees that it is not whole.
func sendFile[Row any](c *gin.Context, as api.FileType, name string, next func(after string) (rows []Row, last string, err error)) error {
	rows, after, err := next("")
	if err != nil {
		return err
	}
	startFile(c, as, name)
	control := http.NewResponseController(c.Writer)
	return api.WriteFile(c.Writer, as, func(behind string) ([]Row, string, error) {
		if behind != "" {
			rows, after, err = next(behind)
		}
		_ = control.SetWriteDeadline(time.Now().Add(writeTimeout)) // some writers in tests have no deadlines
		return rows, after, err
	})
}

// answerPages answers with a part of a list, or with all of it where the client accepts a file:
// from the row behind page.After on, or the page alone where the query has a limit.
func answerPages[Row, Form any](
	c *gin.Context, name string, show func(*Row) Form, id func(*Form) string, list func(models.Page) ([]Row, bool, error),
) error {
	page, err := readPage(c)
	if err != nil {
		return err
	}
	as := fileType(c)
	if as == "" {
		rows, more, err := list(page)
		return answer(c, http.StatusOK)(api.ShowPage(rows, more, show), err)
	}
	_, limited := c.GetQuery("limit")
	if !limited {
		page.Limit = admin.LongestPage
	}
	return sendFile(c, as, name, func(after string) ([]Form, string, error) {
		if after != "" {
			page.After = after
		}
		rows, more, err := list(page)
		forms := api.ShowList(rows, show).Data
		if !more || limited || len(forms) == 0 {
			return forms, "", err
		}
		return forms, id(&forms[len(forms)-1]), err
	})
}
