package app

import (
	"context"
	"fmt"

	"modelgateway/config"
)

// showSetup logs how the first administrator is created while there is none. The caller
// repeats it after an error: without the link no administrator can be created.
func (g *gateway) showSetup(ctx context.Context) error {
	link, err := g.users.SetupLink(ctx)
	if err != nil {
		return fmt.Errorf("find out whether there is an administrator: %w", err)
	}
	if link != "" {
		g.log.Info("there is no administrator: open this link once, within a day, to create one", "link", link)
	}
	return nil
}

// warnOfAdministrators warns of addresses of ADMIN_EMAILS that give no rights yet.
func (g *gateway) warnOfAdministrators(ctx context.Context, warn *warner) {
	unproven, err := g.administration.Unproven(ctx)
	if err == nil && unproven > 0 {
		warn.add("ADMIN_EMAILS", "addresses of ADMIN_EMAILS give no rights, because no user has proven to own them: `modelgateway admin create "+
			"--email ADDRESS` makes a user an administrator, as does a login through the identity provider or the link of a mail",
			"addresses", unproven)
	}
}

// warnOfOpenRegistration warns if strangers can register beside the identity provider, or spend without a bound.
func (g *gateway) warnOfOpenRegistration(cfg config.Config, warn *warner) {
	budgeted := cfg.Spend.MaxBudget >= 0 || cfg.Spend.Keys.Budget >= 0 || cfg.Spend.Users.Budget >= 0
	switch {
	case !cfg.RequireAuth || cfg.Registration != config.RegistrationOpen || cfg.Simulator || !g.hasProvider():
	case cfg.IDP.ClientID != "":
		warn.add("REGISTRATION", "registration with a password is open beside the identity provider: every client that reaches the gateway can create "+
			"an account without it; REGISTRATION=closed leaves the identity provider alone, REGISTRATION=invite also lets those with an invitation "+
			"register, and ALLOWED_EMAIL_DOMAINS says whose addresses may log in or register")
	case !budgeted:
		warn.add("REGISTRATION", "registration is open and there is no budget: every client that reaches the gateway can create an account and call "+
			"every model at the cost of the provider keys; REGISTRATION=invite stops it, or DEFAULT_USER_BUDGET_USD bounds it")
	}
}
