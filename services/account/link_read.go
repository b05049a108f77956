package account

import (
	"context"
	"errors"
	"strings"

	"modelgateway/api"
	"modelgateway/models"
)

// ReadLink returns what the token of a link is for, without using it: programs that scan
// mails open links too.
func (a *Service) ReadLink(ctx context.Context, token string) (*api.OpenedLink, error) {
	if token == "" {
		return nil, missingField("token")
	}
	purpose := purposeOf(token)
	t, err := a.store.FindOneTimeToken(ctx, a.tokenUse(purpose, token))
	if err != nil {
		return nil, useError(purpose, err)
	}
	link := &api.OpenedLink{
		Object: api.ObjectLink, Purpose: string(t.Purpose), Email: api.Maybe(t.Email), ExpiresAt: api.Seconds(t.ExpiresAt),
		Identities: []api.Identity{},
	}
	if err := a.readAccount(ctx, t, link); err != nil {
		return nil, api.OrUnavailable("look up the account of a link", err)
	}
	if t.TeamID == "" {
		return link, nil
	}
	team, err := a.store.Team(ctx, t.TeamID)
	if errors.Is(err, models.ErrNotFound) { // then the invitation cannot be used either
		return nil, invalidToken(purpose)
	}
	if err != nil {
		return nil, api.OrUnavailable("look up the team of a link", err)
	}
	link.Team = api.Maybe(team.Name)
	return link, nil
}

// readAccount adds what the account of a link has that ends with its use, or that can end with it.
func (a *Service) readAccount(ctx context.Context, t *models.OneTimeToken, link *api.OpenedLink) error {
	u, err := a.accountOf(ctx, t)
	if errors.Is(err, models.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	takesOver := a.takesOver(t, u)
	if !takesOver && t.UserID == "" { // an invitation that cannot be used
		return nil
	}
	identities, err := a.Identities(ctx, u.ID)
	if err != nil || !takesOver {
		link.Identities = identities
		return err
	}
	keys, err := a.store.AllKeys(ctx, models.KeyFilter{UserID: u.ID}, models.Page{Limit: mostShown})
	if err != nil {
		return err
	}
	teams, err := a.store.Memberships(ctx, u.ID)
	ends := &api.LinkEnds{Keys: make([]string, len(keys)), Identities: identities, Teams: make([]string, len(teams)), Admin: u.AdminAt != 0}
	for i := range keys {
		ends.Keys[i] = keys[i].Name
	}
	for i := range teams {
		ends.Teams[i] = teams[i].Name
	}
	link.Ends = ends
	return err
}

// mostShown is how many keys a page lists of those that end.
const mostShown = 100

// accountOf is the account that the use of a token changes, or models.ErrNotFound.
func (a *Service) accountOf(ctx context.Context, t *models.OneTimeToken) (*models.User, error) {
	if t.UserID != "" {
		return a.store.User(ctx, t.UserID)
	}
	return a.store.UserByEmail(ctx, t.Email)
}

// purposeOf returns the purpose that the text of a token names. It need not be one.
func purposeOf(token string) models.Purpose {
	purpose, _, _ := strings.Cut(strings.TrimPrefix(token, "mgw_"), "_")
	return models.Purpose(purpose)
}
