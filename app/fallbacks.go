package app

import (
	"fmt"
	"maps"
	"slices"

	"modelgateway/config"
	"modelgateway/models/catalog"
)

// fallbacks are the fallbacks of the catalogue; FALLBACKS overrides them by model.
func (g *gateway) fallbacks(cfg config.Config, list *catalog.Catalog) (map[string][]string, error) {
	all := map[string][]string{}
	for _, model := range list.Models() {
		if len(model.Fallbacks) > 0 {
			all[model.ID] = model.Fallbacks
		}
	}
	maps.Copy(all, cfg.Fallbacks)
	for _, asked := range slices.Sorted(maps.Keys(all)) {
		if err := g.known(cfg, list, "FALLBACKS", append([]string{asked}, all[asked]...)); err != nil {
			return nil, err
		}
		if err := sameKind(list, asked, all[asked]); err != nil {
			return nil, err
		}
	}
	return all, nil
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

// known checks the models of a setting. A model that is in no catalogue is an
// error, unless discovery may still find it.
func (g *gateway) known(cfg config.Config, list *catalog.Catalog, setting string, ids []string) error {
	for _, id := range ids {
		if _, known := list.Model(id); known {
			continue
		}
		if !cfg.ModelDiscovery {
			return fmt.Errorf("%s: the model %q is in no catalogue", setting, id)
		}
		g.log.Warn("a model of "+setting+" is in no catalogue; discovery may find it", "model", id)
	}
	return nil
}
