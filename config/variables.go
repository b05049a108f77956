package config

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// A provider of the models file may take its keys from an environment variable of any
// name. Such a name is one of those that are read: in the .env file it is no misspelling.

// nameVariables adds the variables that the models file names to those that are read.
func (l *loader) nameVariables(environ map[string]string, dotenv string) {
	path := environ["MODELS_FILE"]
	if path == "" && dotenv != "" {
		if text, err := readFile(dotenv); err == nil {
			vars, _ := l.parseDotenv(text) // its faults are reported later
			path = vars["MODELS_FILE"]
		}
	}
	if path == "" {
		return
	}
	text, err := readFile(path)
	if err != nil {
		return // is a fault of MODELS_FILE
	}
	l.variables = namedVariables([]byte(text))
	for _, name := range l.variables {
		if !slices.Contains(l.known, name) {
			l.known = append(l.known, name)
		}
	}
}

// namedVariables are the values of env under providers of a models file: of keys, and of the
// secrets of auth. The faults of the file are reported where it is read.
func namedVariables(text []byte) []string {
	var f struct {
		Providers []struct{ Keys, Auth yaml.Node }
	}
	_ = yaml.Unmarshal(text, &f)
	var names []string
	for _, p := range f.Providers {
		sources := []*yaml.Node{&p.Keys}
		if p.Keys.Kind == yaml.SequenceNode {
			sources = p.Keys.Content
		}
		for _, account := range p.Auth.Content {
			sources = append(sources, account.Content...)
		}
		for _, source := range sources {
			var key struct{ Env string }
			if source.Decode(&key) == nil && settingName.MatchString(key.Env) {
				names = append(names, key.Env)
			}
		}
	}
	return names
}

// completeVariables fills Config.Variables.
func (l *loader) completeVariables() {
	for _, name := range l.variables {
		text := l.values.GetString(name)
		if text == "" {
			continue
		}
		pool, err := ParseKeys(text)
		if err != nil {
			l.fault("%s: %v", name, err)
			continue
		}
		if l.Variables == nil {
			l.Variables = map[string][]Secret{}
		}
		l.Variables[name] = pool
	}
}

// ParseKeys reads keys that are separated by commas. Its error does not show the text.
func ParseKeys(text string) (pool []Secret, err error) {
	return pool, keys(&pool).parse(text)
}

// ReadKeys reads the keys of a file, as NAME_FILE has them. Its errors do not show the
// path: it may be a key.
func ReadKeys(path string) ([]Secret, error) {
	text, err := readFile(path)
	if err != nil {
		return nil, err
	}
	text = trimLine(text)
	if text == "" {
		return nil, errEmptyFile
	}
	return ParseKeys(text)
}

// ParseBaseURL reads the URL of an API with or without its version at the end, and
// removes the version.
func ParseBaseURL(text, version string) (base string, err error) {
	if err = baseURL(&base, version).parse(text); err != nil {
		return "", fmt.Errorf("base_url: %w", err)
	}
	return base, nil
}
