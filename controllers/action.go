package controllers

import (
	"context"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"modelgateway/api"
	"modelgateway/middleware"
	"modelgateway/models"
	"modelgateway/services/admin"
)

// Create makes the handler of an action that makes something of the body of its request.
func Create[In, Made, Form any](
	do func(context.Context, admin.Actor, In) (Made, error), show func(Made) Form,
) middleware.Handler {
	return func(c *gin.Context) error {
		in, err := readBody[In](c)
		if err != nil {
			return err
		}
		return answerAs(c, http.StatusCreated, show)(do(c.Request.Context(), actor(c), in))
	}
}

// Change makes the handler of an action that changes the thing that the path ends in.
func Change[In, Changed, Form any](
	do func(context.Context, admin.Actor, string, In) (Changed, error), show func(Changed) Form,
) middleware.Handler {
	return func(c *gin.Context) error {
		in, err := readBody[In](c)
		if err != nil {
			return err
		}
		return answerAs(c, http.StatusOK, show)(do(c.Request.Context(), actor(c), lastID(c), in))
	}
}

// Find makes the handler of an action that looks up the thing that the path ends in.
func Find[Found, Form any](do func(context.Context, string) (Found, error), show func(Found) Form) middleware.Handler {
	return func(c *gin.Context) error {
		return answerAs(c, http.StatusOK, show)(do(c.Request.Context(), lastID(c)))
	}
}

// Act makes the handler of an action on the thing that the path names, which needs the actor and no body.
func Act[Thing, Form any](do func(context.Context, admin.Actor, string) (Thing, error), show func(Thing) Form) middleware.Handler {
	return func(c *gin.Context) error {
		return answerAs(c, http.StatusOK, show)(do(c.Request.Context(), actor(c), lastID(c)))
	}
}

// Delete makes the handler of an action that ends the thing that the path ends in. object is
// what the API calls it.
func Delete(do func(context.Context, admin.Actor, string) error, object string) middleware.Handler {
	return func(c *gin.Context) error {
		id := lastID(c)
		return answer(c, http.StatusOK)(deleted(id, object), do(c.Request.Context(), actor(c), id))
	}
}

func deleted(id, object string) api.Deleted {
	return api.Deleted{ID: id, Object: object, Deleted: true}
}

// answer returns the function that writes what an action returns: a form of the API, or an error.
func answer(c *gin.Context, status int) func(form any, err error) error {
	return func(form any, err error) error {
		if err != nil {
			return err
		}
		return writeJSON(c, status, form)
	}
}

// answerAs is answer for what has another form in the API.
func answerAs[Out, Form any](c *gin.Context, status int, show func(Out) Form) func(Out, error) error {
	return func(out Out, err error) error {
		if err != nil {
			return err
		}
		return writeJSON(c, status, show(out))
	}
}

// answerList is answer for a list that is shown whole.
func answerList[Row, Form any](c *gin.Context, show func(*Row) Form) func(rows []Row, err error) error {
	return answerAs(c, http.StatusOK, func(rows []Row) api.List[Form] { return api.ShowList(rows, show) })
}

// actor is who asks for an action, in the scope of the route, and from where.
func actor(c *gin.Context) admin.Actor {
	request := middleware.RequestOf(c)
	by := admin.Actor{UserID: request.Caller.UserID, RequestID: middleware.RequestID(c), Address: c.ClientIP()}
	if request.Scope == middleware.Team {
		by.Team = c.Param("id")
	}
	return by
}

// lastID is the id of the thing that a path ends in.
func lastID(c *gin.Context) string { return c.Params[len(c.Params)-1].Value }

// maxAuthBody bounds the bodies of /auth and /admin, in bytes.
const maxAuthBody = 64 << 10

// readBody reads a body in which a misspelt member would change the meaning: it refuses
// unknown members.
func readBody[In any](c *gin.Context) (in In, err error) {
	body, err := readJSON(c, maxAuthBody, nil)
	if err == nil {
		err = api.DecodeExact(body, &in)
	}
	return in, err
}

// readOptional is readBody for a request that may have no body.
func readOptional[In any](c *gin.Context) (in In, err error) {
	if c.Request.ContentLength == 0 {
		return in, nil
	}
	return readBody[In](c)
}

// readLenient is readBody for bodies whose unknown members are ignored.
func readLenient[In any](c *gin.Context) (in In, err error) {
	body, err := readJSON(c, maxAuthBody, nil)
	if err == nil {
		err = api.Decode(body, &in)
	}
	return in, err
}

// readPage is the part of a list that a query asks for.
func readPage(c *gin.Context) (models.Page, error) {
	page := models.Page{After: c.Query("after"), Limit: admin.UsualPage}
	text, named := c.GetQuery("limit")
	if !named {
		return page, nil
	}
	limit, err := strconv.Atoi(text)
	if err != nil {
		return page, api.Invalid(api.CodeInvalidValue, "limit", "limit must be a whole number")
	}
	page.Limit = limit
	return page, nil
}
