package origin

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"modelgateway/api"
	"modelgateway/models"
)

const (
	maxProject    = 64              // characters of a name
	maxProjects   = 1_000           // of an owner
	knownProjects = 20_000          // that a process remembers, of all owners
	patience      = 1 * time.Second // for the database: a client is waiting
	pause         = 5 * time.Second // without asking a database that did not answer
)

type project struct{ owner, name string }

// CheckProject validates the project name of a call, and registers it for its owner when it is new. param is the
// header or member of the request that has the name, for the error, an *api.Error. While the database is unavailable
// every valid name is accepted.
func (s *Service) CheckProject(ctx context.Context, owner, param, name string) error {
	if !isProject(name) {
		return api.Invalid(api.CodeInvalidValue, param, "%s must be a name of 1 to %d letters, digits, spaces and ._-/:", param, maxProject)
	}
	of := project{owner, name}
	if _, known := s.known.Get(of); known || s.now().UnixNano() < s.after.Load() {
		return nil
	}
	// A client that leaves does not make the database one that does not answer.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	row := models.Project{Owner: of.owner, Name: strings.Clone(name), CreatedAt: s.now().UnixMicro()}
	switch err := s.store.AddProject(ctx, row, maxProjects); {
	case err == nil:
		s.known.Add(project{row.Owner, row.Name}, struct{}{})
	case errors.Is(err, models.ErrTooMany):
		return &api.Error{
			Status: http.StatusBadRequest, Type: api.TypeInvalidRequest, Code: api.CodeTooManyProjects, Param: param,
			Message: param + " names a new project, and there are 1,000 already: use one of them, or leave it out",
		}
	default:
		s.after.Store(s.now().Add(pause).UnixNano())
		s.log.Warn("the projects of calls cannot be checked: they are booked as the clients name them", "error", err)
	}
	return nil
}

// isProject says whether a text can be the name of a project. Marks are parts of letters in many
// scripts.
func isProject(name string) bool {
	if name != strings.TrimSpace(name) || name == "" || utf8.RuneCountInString(name) > maxProject {
		return false
	}
	for _, r := range name {
		if !unicode.In(r, unicode.L, unicode.M, unicode.Nd) && !strings.ContainsRune(" ._-/:", r) {
			return false
		}
	}
	return utf8.ValidString(name)
}
