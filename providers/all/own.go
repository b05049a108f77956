package all

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"modelgateway/catalog"
	"modelgateway/config"
	"modelgateway/providers"
)

// CatalogPresets are the presets as the catalogue needs them. Those that the settings
// configure are on.
func CatalogPresets(cfg config.Config) []catalog.Preset {
	var all []catalog.Preset
	for _, p := range Presets() {
		all = append(all, catalog.Preset{
			Name: p.Name, Type: p.Type, Facts: p.Facts, Rules: p.Rules, On: cfg.Providers[p.Name].Configured(),
			Free: p.Keyless && !p.ProviderSettings.Login, Owner: p.Owner, Regional: p.Regional,
			Region: cfg.Providers[p.Name].Region, Project: cfg.Providers[p.Name].Project,
		})
	}
	return all
}

// Own makes the providers beside those of the drivers: of the models file, and the
// presets that the settings configure. All faults are reported together.
func Own(cfg config.Config, own []catalog.Provider) ([]Configured, error) {
	var made []Configured
	var faults []error
	for _, p := range own {
		c, err := maker{cfg: cfg, Provider: p}.make()
		if err != nil {
			if err = fmt.Errorf("%s: %w", p.Name, err); p.Line > 0 {
				err = fmt.Errorf("MODELS_FILE: line %d: providers: %w", p.Line, err)
			}
			faults = append(faults, err)
			continue
		}
		made = append(made, c)
	}
	return made, errors.Join(faults...)
}

// maker makes one provider.
type maker struct {
	catalog.Provider
	cfg    config.Config
	driver providers.Driver
	preset providers.Preset
}

func (m maker) make() (Configured, error) {
	m.driver = driver(m.Type)
	if at := slices.IndexFunc(Presets(), func(p providers.Preset) bool { return p.Name == m.Preset }); at >= 0 {
		m.preset = Presets()[at]
	}
	base, err := m.baseURL()
	if err != nil {
		return Configured{}, err
	}
	keys, err := m.keys()
	if err != nil {
		return Configured{}, err
	}
	query := url.Values{}
	for name, value := range m.Query {
		query.Set(name, value)
	}
	opts := providers.Options{
		Name: m.Name, BaseURL: base, Headers: m.Headers, Query: query.Encode(), Server: m.preset.Server,
		HeaderTimeout: cmp.Or(m.Timeouts.Response, m.cfg.UpstreamTimeout), IdleTimeout: cmp.Or(m.Timeouts.Idle, m.cfg.StreamIdleTimeout),
		Objects: m.cfg.ProviderObjects, Region: m.Account.Region, Project: m.Account.Project,
	}
	if m.Preset == "" && m.BaseURL != "" {
		vendors, err := config.ParseBaseURL(m.driver.BaseURL, m.driver.Version)
		opts.Server.ListsAll, opts.Server.ChatOnly = true, err != nil || base != vendors
	}
	if m.cfg.Simulator {
		opts.BaseURL, opts.Query = m.cfg.Providers[m.Type].BaseURL, ""
	}
	// Before the functions, of which two cannot be told apart by what is printed of them.
	identity := fmt.Sprintf("%s %s %s %q %+v %+v", m.Type, m.Preset, m.Timeouts.FirstToken, m.Auth, m.Account, opts)
	opts.Now = time.Now
	create, in := m.driver.New, providers.LogIn(nil)
	if !m.cfg.Simulator {
		if opts.Sign, in, err = m.sign(keys); err != nil {
			return Configured{}, err
		}
		if m.preset.New != nil {
			create = m.preset.New
		}
	}
	return Configured{
		Name: m.Name, Provider: create(opts), Keys: keys, Images: m.driver.Images, OTelName: m.preset.OTelName,
		FirstToken: m.Timeouts.FirstToken, Discovery: m.Discovery, Type: m.Type, Identity: identity,
		Vendor: opts.BaseURL == m.driver.BaseURL || m.cfg.Simulator, LogIn: in,
	}, nil
}

func driver(name string) providers.Driver {
	all := Drivers()
	return all[slices.IndexFunc(all, func(d providers.Driver) bool { return d.Name == name })]
}

// baseURL is that of the file, else that of the preset's setting, else the driver's own.
func (m maker) baseURL() (string, error) {
	switch settings := m.cfg.Providers[m.Preset]; {
	case m.BaseURL != "":
		return config.ParseBaseURL(m.BaseURL, m.driver.Version)
	case m.Preset == "":
		return config.ParseBaseURL(m.driver.BaseURL, m.driver.Version)
	case m.preset.Cloud != nil && m.Account.Region == "" && !m.cfg.Simulator:
		return "", errors.New("region is missing")
	case m.preset.Cloud != nil: // the address follows from the region
		return settings.BaseURL, nil
	case settings.BaseURL == "":
		return "", errors.New("base_url is missing")
	default:
		return settings.BaseURL, nil
	}
}

// keys are those of the sources in the file, else, unless it has the log-in of an account, those of
// the preset's setting. A server that needs none has one empty key. The simulator's take the place of all.
func (m maker) keys() ([]config.Secret, error) {
	if m.cfg.Simulator {
		return m.cfg.Providers[m.Type].Keys, nil
	}
	var pool []config.Secret
	if len(m.Keys) == 0 && m.Account.Cloud == "" {
		pool = m.cfg.Providers[m.Preset].Keys
	}
	for _, source := range m.Keys {
		keys, err := m.read(source)
		if err != nil {
			return nil, fmt.Errorf("keys: %w", err)
		}
		pool = append(pool, keys...)
	}
	for i, key := range pool {
		if slices.ContainsFunc(pool[:i], func(k config.Secret) bool { return k.Reveal() == key.Reveal() }) {
			return nil, errors.New("keys: a key is there twice")
		}
	}
	if len(pool) == 0 && (m.Auth == catalog.AuthNone || m.preset.Keyless || m.preset.Login != nil || m.Account.Cloud != "") {
		return []config.Secret{{}}, nil
	}
	if len(pool) == 0 {
		return nil, errors.New("keys are missing: keys: {env: NAME} or keys: {file: PATH}; or auth: none for a server that needs no key")
	}
	return pool, nil
}

// read returns the keys of a source.
func (m maker) read(source catalog.KeySource) ([]config.Secret, error) {
	if source.File != "" {
		keys, err := config.ReadKeys(source.File)
		if err != nil {
			return nil, fmt.Errorf("the file %s: %w", source.File, err)
		}
		return keys, nil
	}
	keys := m.cfg.Variables[source.Env]
	if keys == nil {
		return nil, fmt.Errorf("the environment variable %s is not set", source.Env)
	}
	return keys, nil
}

// sign is how calls are signed, and the log-in that does it where one does.
func (m maker) sign(keys []config.Secret) (providers.Sign, providers.LogIn, error) {
	switch m.Auth {
	case "":
	case catalog.AuthBearer:
		return providers.SignBearer, nil, nil
	case catalog.AuthNone:
		return providers.SignNothing, nil, nil
	default:
		return providers.SignHeader(m.Auth), nil, nil
	}
	enter := m.preset.Login
	if enter == nil {
		enter = logins()[m.Account.Cloud]
	}
	if enter == nil || !keys[0].IsZero() {
		return m.preset.Sign, nil, nil
	}
	var secret config.Secret
	if m.Account.Secret != (catalog.KeySource{}) {
		read, err := m.read(m.Account.Secret)
		if err != nil || len(read) != 1 {
			return nil, nil, fmt.Errorf("auth: %w", cmp.Or(err, errors.New("the secret has a comma in it")))
		}
		secret = read[0]
	}
	in, err := enter(m.Account, secret)
	if err != nil {
		return nil, nil, err
	}
	return in.Sign, in, nil
}
