package audit

import (
	"time"

	"modelgateway/models"
)

// Identity returns the row of identities that a user has linked or unlinked: the action of from is
// identity.link or identity.unlink.
func Identity(at time.Time, from Entry, u *models.User, all ...models.Identity) (*models.Audit, error) {
	type identity struct {
		Issuer string `json:"issuer"`
		Email  string `json:"email"`
	}
	detail := struct {
		Email      string     `json:"email"`
		Identities []identity `json:"identities"`
	}{Email: u.Email}
	for i := range all {
		detail.Identities = append(detail.Identities, identity{all[i].Issuer, all[i].Email})
	}
	return Row(at, from.Own(u), detail)
}
