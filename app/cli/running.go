package cli

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"modelgateway/app"
	"modelgateway/models"
)

// keyVariable has the key with which chat asks the gateway. It is no setting of the server.
const keyVariable = "MODELGATEWAY_API_KEY"

// gateway is the running gateway at a URL; an empty one is that of the settings.
func (p *Program) gateway(url string) (*app.Running, error) {
	r := &app.Running{URL: url}
	var settings []string
	for _, entry := range p.Environ {
		if key, found := strings.CutPrefix(entry, keyVariable+"="); found {
			r.Credential = key
			continue
		}
		settings = append(settings, entry)
	}
	if url != "" {
		return r, nil
	}
	cfg, err := app.Settings(slices.Clip(settings))
	if err != nil {
		return nil, err
	}
	r.URL = app.Local(cfg)
	return r, nil
}

// gateway is the running gateway, asked as an administrator.
func (s *session) gateway(ctx context.Context, url string) (*app.Running, error) {
	token, err := s.Operator(ctx)
	switch {
	case errors.Is(err, models.ErrNotFound):
		return nil, errors.New("there is no administrator yet: `modelgateway admin create` makes one")
	case err != nil:
		return nil, err
	}
	return &app.Running{URL: cmp.Or(url, app.Local(s.config)), Credential: token}, nil
}
