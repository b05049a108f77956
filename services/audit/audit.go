// Package audit makes the rows of the audit log.
package audit

import (
	"crypto/rand"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"modelgateway/api"
	"modelgateway/models"
)

// Entry is one action of a user or of the command line, and the request that asked for it.
type Entry struct {
	ActorID    string
	ActorEmail string
	Action     string
	Target     string // id of the user, the key or the team
	RequestID  string
	Address    string // of the client
}

// Own is the entry as an action of a user on their own account.
func (e Entry) Own(u *models.User) Entry {
	e.ActorID, e.ActorEmail, e.Target = u.ID, u.Email, u.ID
	return e
}

// Row returns the row of an entry. The detail becomes JSON; it has no secrets.
func Row(at time.Time, e Entry, detail any) (*models.Audit, error) {
	text, err := json.Marshal(detail)
	if err != nil {
		return nil, api.Internal(fmt.Errorf("detail of the audit: %w", err))
	}
	return &models.Audit{
		ID: models.AuditID(at) + "_" + rand.Text(), At: at.UnixMicro(), // digits, which every database sorts alike
		ActorID: e.ActorID, ActorEmail: e.ActorEmail, Action: e.Action, Target: e.Target,
		Detail: string(text), RequestID: e.RequestID, Address: e.Address,
	}, nil
}
