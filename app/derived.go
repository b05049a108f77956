package app

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"modelgateway/catalog"
	"modelgateway/config"
	"modelgateway/models"
	"modelgateway/providers/all"
	"modelgateway/services/account"
	"modelgateway/services/registry"
)

// derived is what follows from the settings together with the catalogue.
type derived struct {
	catalog   *catalog.Catalog
	aliases   *registry.Aliases
	fallbacks map[string][]string // those of the catalogue; FALLBACKS overrides them by model
	patterns  []string            // of fallbacks, such as claude-*
	admins    []string            // normalised addresses
	own       []all.Configured    // providers beside those of the drivers

	userLimits, keyLimits models.Limits // of those that have no such limit of their own
}

// derive reads the catalogue and checks the settings that name its models or an
// address. It reports all faults at once.
func derive(cfg *config.Config, warn *warner) (*derived, error) {
	d := &derived{
		fallbacks:  map[string][]string{},
		userLimits: limitDefaults(cfg.Spend.Users), keyLimits: limitDefaults(cfg.Spend.Keys.LimitDefaults),
	}
	var faults []error
	for i, email := range cfg.Spend.AdminEmails {
		normal, err := account.NormalEmail(email)
		if err != nil {
			faults = append(faults, fmt.Errorf("ADMIN_EMAILS: address %d of the list is not valid", i+1))
		}
		d.admins = append(d.admins, normal)
	}
	list, err := catalog.Load(cfg.ModelsFile, all.CatalogPresets(*cfg)...)
	if err != nil {
		return nil, errors.Join(append(faults, fmt.Errorf("MODELS_FILE: %w", err))...)
	}
	d.catalog = list
	if d.own, err = all.Own(*cfg, list.Own()); err != nil {
		faults = append(faults, err)
	}
	aliases := list.Aliases()
	maps.Copy(aliases, cfg.ModelAliases)
	if d.aliases, err = registry.NewAliases(list, aliases); err != nil {
		faults = append(faults, fmt.Errorf("MODEL_ALIASES: %w", err))
	}
	for _, provider := range cfg.ProviderOrder {
		if !slices.Contains(list.Providers(), provider) {
			faults = append(faults, fmt.Errorf("PROVIDER_ORDER: no provider is called %q; there are %s",
				provider, strings.Join(list.Providers(), ", ")))
		}
	}
	names := modelNames{list: list, aliases: d.aliases, discovery: cfg.ModelDiscovery, warn: warn}
	faults = append(faults, names.check("DEFAULT_KEY_MODELS", cfg.Spend.Keys.Models),
		names.check("DEFAULT_USER_MODELS", cfg.Spend.Users.Models))
	for _, model := range list.Models() {
		if len(model.Fallbacks) > 0 {
			d.fallbacks[model.ID] = model.Fallbacks
		}
	}
	maps.Copy(d.fallbacks, cfg.Fallbacks)
	for _, asked := range slices.Sorted(maps.Keys(d.fallbacks)) {
		if strings.HasSuffix(asked, "*") {
			d.patterns = append(d.patterns, asked)
		}
		faults = append(faults, names.check("FALLBACKS", append([]string{asked}, d.fallbacks[asked]...)),
			sameKind(list, asked, d.fallbacks[asked]))
	}
	return d, errors.Join(faults...)
}

func limitDefaults(c config.LimitDefaults) models.Limits {
	l := models.Limits{Models: models.Names(strings.Join(c.Models, ",")), Numbers: c.Numbers}
	if c.Budget >= 0 {
		l.Budget, l.BudgetWindow = c.Budget, models.Window(c.BudgetWindow)
	}
	return l
}

// sameKind checks that the fallbacks of a model can answer in its place, as far as
// they are in the catalogue.
func sameKind(list *catalog.Catalog, asked string, fallbacks []string) error {
	for _, id := range fallbacks {
		model, known := list.Model(asked)
		other, alsoKnown := list.Model(id)
		switch {
		case known && !model.Kind.Interchangeable():
			return fmt.Errorf("FALLBACKS: the model %q is for %s, which no other model can answer in its place", asked, model.Kind.Purpose())
		case known && alsoKnown && model.Kind != other.Kind:
			return fmt.Errorf("FALLBACKS: the model %q is for %s, and its fallback %q for %s",
				asked, model.Kind.Purpose(), id, other.Kind.Purpose())
		}
	}
	return nil
}

// modelNames checks the models that settings name.
type modelNames struct {
	list      *catalog.Catalog
	aliases   *registry.Aliases
	discovery bool
	warn      *warner
}

// check checks the models of a setting. A model that is not in the catalogue is an
// error, unless discovery may still find it.
func (n modelNames) check(setting string, ids []string) error {
	for _, id := range ids {
		if _, known := n.list.Model(id); known || n.list.CanName(id) || n.aliases.Has(id) || strings.HasSuffix(id, "*") {
			continue
		}
		if !n.discovery {
			return fmt.Errorf("%s: the model %q is not known: correct the name, add it to MODELS_FILE, or set MODEL_DISCOVERY=true",
				setting, id)
		}
		n.warn.add(setting, "a model of "+setting+" is not in the catalogue; discovery may find it", "model", id)
	}
	return nil
}
