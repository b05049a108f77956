package litellm

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"

	"modelgateway/catalog"
)

// Configuration is what the models and settings of a LiteLLM become here. It has no secret in it.
type Configuration struct {
	ModelsFile string              // the text of the file for MODELS_FILE
	Settings   string              // the text of a file with lines NAME=value
	Groups     map[string][]string // names of models by the name and by the id of their access group
	Names      []string            // the models that clients may call, also patterns such as anthropic/*
	Secrets    []Secret
	Losses     []Loss
}

// Secret is an environment variable that the gateway needs.
type Secret struct {
	Name  string
	Where string // what its value is, for a person
	Set   bool   // the environment has it
}

// reference begins a value that is in an environment variable.
const reference = "os.environ/"

// taking is a Configuration that is being made.
type taking struct {
	Configuration
	env       func(name string) string // the environment, and environment_variables of the configuration
	catalog   *catalog.Catalog
	variables map[string]string // the variable that was chosen for a key, by the key itself
	needed    map[string]string // Secret.Where by Secret.Name
	file      modelsFile
	comments  string                   // at the beginning of the models file
	models    map[string][]*deployment // by name
	fallbacks map[string][]string
	losses    Losses
}

// Configure makes it from the configuration file and the snapshot of the database, of which either may be nil. What is
// encrypted in the database needs LITELLM_SALT_KEY or LITELLM_MASTER_KEY in env, or the paths of files in these names
// with _FILE. Variables that are referenced for keys stay references; addresses, regions and accounts are looked up.
func Configure(file []byte, s *Snapshot, env func(name string) string) (*Configuration, error) {
	root := map[string]any{}
	if err := yaml.Unmarshal(file, &root); err != nil { // whose words may show a secret
		return nil, errors.New("the configuration of LiteLLM is no YAML file with members such as model_list")
	}
	known, err := catalog.Load("")
	if err != nil {
		return nil, err
	}
	if s == nil {
		s = &Snapshot{}
	}
	t := &taking{
		Configuration: Configuration{Groups: map[string][]string{}}, catalog: known,
		variables: map[string]string{}, needed: map[string]string{},
		file: modelsFile{Aliases: map[string]string{}}, models: map[string][]*deployment{}, fallbacks: map[string][]string{},
	}
	section := func(name string) map[string]any { // the database wins, member by member
		all, _ := root[name].(map[string]any)
		for _, row := range s.Config {
			if row.Name == name {
				all = object(row.Value, all)
			}
		}
		delete(root, name)
		return all
	}
	settings := map[string]any{}
	for _, name := range []string{"litellm_settings", "general_settings", "router_settings"} {
		maps.Copy(settings, section(name)) // the last wins
	}
	keys := newKeyring(env, text(settings["master_key"]))
	own := section("environment_variables")
	keys.open(own)
	t.env = func(name string) string { return cmp.Or(text(own[name]), env(name)) }
	t.takeModels(t.deployments(root, s, keys))
	t.takeAliases(settings)
	t.takeFallbacks(settings)
	for _, group := range s.AccessGroups {
		t.Groups[group.Name] = append(t.Groups[group.Name], group.Models...)
		t.Groups[group.ID] = append(t.Groups[group.ID], group.Models...)
	}
	t.writeSettings(settings, len(s.Keys) > 0 || strings.Join(keys, "") != "" || !empty(settings["master_key"]))
	maps.Copy(settings, root)
	t.listUnknown(settings)
	t.Losses = t.losses.List()
	for _, name := range sorted(t.needed) { // the gateway does not have what only LiteLLM's database has
		t.Secrets = append(t.Secrets, Secret{name, t.needed[name], env(name) != ""})
	}
	t.ModelsFile, err = t.file.text(t.comments)
	return &t.Configuration, err
}

// deployments are those of the file and of the database, with the values of their credentials.
func (t *taking) deployments(root map[string]any, s *Snapshot, keys keyring) (all []*deployment) {
	open := func(column jsontext.Value, name, table string) (map[string]any, bool) {
		values := object(column, nil)
		opened := keys.open(values)
		if !opened {
			t.losses.Lose(name, table+" of the database", "they are encrypted with another key",
				"set LITELLM_SALT_KEY, or LITELLM_MASTER_KEY where there is none, and run again")
		}
		return values, opened
	}
	credentials := map[string]map[string]any{}
	for _, entry := range items[map[string]any](root["credential_list"]) {
		credentials[text(entry["credential_name"])], _ = entry["credential_values"].(map[string]any)
	}
	for _, row := range s.Credentials {
		if values, ok := open(row.Values, row.Name, "credentials"); ok {
			credentials[row.Name] = values
		}
	}
	for _, entry := range items[map[string]any](root["model_list"]) {
		d := &deployment{name: text(entry["model_name"])}
		d.params, _ = entry["litellm_params"].(map[string]any)
		d.info, _ = entry["model_info"].(map[string]any)
		all = append(all, d)
	}
	for _, row := range s.Models {
		if row.Blocked {
			continue
		}
		if params, ok := open(row.Params, row.Name, "models"); ok {
			all = append(all, &deployment{name: row.Name, params: params, info: object(row.Info, nil)})
		}
	}
	delete(root, "credential_list")
	delete(root, "model_list")
	return slices.DeleteFunc(all, func(d *deployment) bool {
		name := d.text("litellm_credential_name")
		values, known := credentials[name]
		switch {
		case name == "":
			return d.info["blocked"] == true
		case !known:
			t.losses.Lose(d.name, "models with the credential "+name, "it is neither in credential_list nor in the database: they are left out", "add them by hand")
			return true
		}
		for member, value := range values {
			if d.params[member] == nil {
				d.params[member] = value
			}
		}
		return d.info["blocked"] == true
	})
}

// place is the text of the first of some members that is set, where it is no secret: an address, a region, an account.
func (t *taking) place(d *deployment, members ...string) string {
	for _, member := range members {
		value := d.text(member)
		if name, referenced := strings.CutPrefix(value, reference); referenced {
			if value = t.env(name); value == "" {
				t.losses.Lose(d.name, member+", which is in the variable "+name, "it is not set here", "set it, and run again")
			}
		}
		if value != "" {
			return value
		}
	}
	return ""
}

// variable is the name of the variable with the value of a member: the one that the member names, one of the usual ones
// for this service, or a new one.
func (t *taking) variable(d *deployment, member string, usual []string) string {
	value := d.text(member)
	for _, name := range usual {
		if found := t.env(name); found != "" && (value == "" || value == found) {
			return t.need(name, "the variable "+name+" of LiteLLM")
		}
	}
	if value == "" {
		value = reference + usual[0]
	}
	name, referenced := strings.CutPrefix(value, reference)
	if referenced {
		return t.need(variableName(name), "the variable "+name+" of LiteLLM")
	}
	if t.variables[value] == "" {
		name = variableName("LITELLM_" + d.name + "_" + member)
		for first, n := name, 2; t.needed[name] != ""; n++ {
			name = fmt.Sprintf("%s_%d", first, n)
		}
		t.variables[value] = t.need(name, member+" of "+d.name+" in LiteLLM")
	}
	return t.variables[value]
}

// need lists a variable.
func (t *taking) need(variable, where string) string {
	t.needed[variable] = cmp.Or(t.needed[variable], where)
	return variable
}

// Unpriced adds the loss of the models that have no price.
func (c *Configuration) Unpriced(priced func(name string) bool) {
	names := slices.DeleteFunc(slices.Clone(c.Names), func(name string) bool { return strings.Contains(name, "*") || priced(name) })
	if len(names) > 0 {
		c.Losses = append(c.Losses, Loss{
			Thing: "models without a price: " + strings.Join(names, ", "), Why: "the gateway refuses their calls where a budget pays",
			Instead: "give them a price in the models file, or set DEFAULT_PRICE_USD",
		})
	}
}
