// Package origin says what a call comes from, as far as its client tells: the program, the
// session and the agent inside of it, and the project that it is booked for. Clients choose all
// of these texts: they are for the ledger, and nothing but the budget of a session is counted by them.
package origin

import (
	"log/slog"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	lru "github.com/hashicorp/golang-lru/v2"

	"modelgateway/api"
	"modelgateway/models"
)

// Origin is what a call comes from. What is not known is empty.
type Origin struct {
	Project       string
	Session       string
	AgentID       string // of the agent inside of the session; empty for its main one
	ParentAgentID string // of the agent that started it; likewise
	Agent         string // the program
}

// Service names what calls come from.
type Service struct {
	store *models.Store
	log   *slog.Logger
	now   func() time.Time
	known *lru.Cache[project, struct{}] // that are in the database
	after atomic.Int64                  // Unix nanoseconds from which the database is asked again
	seen  seen
}

// New returns a service that knows the projects of a database.
func New(store *models.Store, log *slog.Logger, now func() time.Time) *Service {
	s := &Service{store: store, log: log, now: now}
	s.known, _ = lru.New[project, struct{}](knownProjects) // fails only for a size of 0 or less
	return s
}

const maxIdentifier = 128 // bytes

// Identifier is the first of the texts that can be an identifier: short, and of visible
// characters only.
func Identifier(texts ...string) string {
	for _, text := range texts {
		if text != "" && len(text) <= maxIdentifier && isVisible(text) {
			return text
		}
	}
	return ""
}

func isVisible(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' { // more than printable ASCII, which takes a tenth of the time
			return utf8.ValidString(text) && !strings.ContainsFunc(text, api.Invisible)
		}
	}
	return true
}
