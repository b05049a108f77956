package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/viper"
)

// maxFile bounds a .env file and the file of a secret, in bytes.
const maxFile = 1 << 20

// Faults are all faults of a configuration, one line each. None shows a secret.
type Faults []string

// Error returns the faults, one on each line.
func (f Faults) Error() string { return strings.Join(f, "\n") }

// loader builds a Config.
type loader struct {
	Config
	providers []*providerLoad // combined into Providers
	otel      otel            // combined into Tracing

	known     []string // all names that are read
	variables []string // of them those that only the models file names

	// values has no empty texts: an empty setting is unset.
	values  *viper.Viper
	environ map[string]string
	faults  Faults
}

// Load reads the settings from environ, in the format of os.Environ, and from
// the .env file at the path dotenv. A setting that is not empty in environ wins;
// of several entries with one name, the last one counts. The file is optional,
// and an empty path means that there is none. Every error is a Faults. The
// environment of the process itself is not read.
func Load(environ []string, dotenv string, providers []ProviderSettings) (*Config, error) {
	c, faults := Read(environ, dotenv, providers)
	if len(faults) > 0 {
		return nil, faults
	}
	return c, nil
}

// Read is Load for a check of the settings: it returns those without a fault as
// well. One with a fault has its default.
func Read(environ []string, dotenv string, providers []ProviderSettings) (*Config, Faults) {
	l := newLoader(providers)
	l.values = viper.New()
	vars := variables(environ)
	l.environ = vars
	l.nameVariables(vars, dotenv)
	l.merge(vars, l.dotenv(dotenv))
	for _, row := range l.table() {
		l.read(row)
	}
	l.complete()
	l.check()
	for _, name := range l.variables {
		l.note(Setting{Name: name, Secret: true, Pool: true}, l.values.GetString(name))
	}
	c := l.Config
	return &c, l.faults
}

func newLoader(providers []ProviderSettings) *loader {
	l := new(loader)
	for _, p := range providers {
		l.providers = append(l.providers, &providerLoad{ProviderSettings: p, others: make([][]Secret, len(p.OtherKeys))})
	}
	l.known = knownNames(l.table())
	return l
}

func (l *loader) fault(format string, args ...any) {
	l.faults = append(l.faults, fmt.Sprintf(format, args...))
}

// variables keeps the last entry for each name, as os/exec does.
func variables(environ []string) map[string]string {
	vars := make(map[string]string, len(environ))
	for _, entry := range environ {
		if name, value, ok := strings.Cut(entry, "="); ok {
			vars[name] = value
		}
	}
	return vars
}

// dotenv reads the optional .env file at path.
func (l *loader) dotenv(path string) map[string]string {
	if path == "" {
		return nil
	}
	text, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		l.fault("%s: %v", oneLine(path), err)
		return nil
	}
	vars, faults := l.parseDotenv(text)
	for _, fault := range faults {
		l.fault("%s: %s", oneLine(path), fault)
	}
	l.Ambient = map[string]string{}
	for name, value := range vars {
		if _, set := l.environ[name]; isCloudName(name) && !set && !slices.Contains(l.known, name) {
			l.Ambient[name] = value
		}
	}
	return vars
}

// merge passes the known names of both sources to viper and reports misspelt
// ones of the environment.
func (l *loader) merge(environ, dotenv map[string]string) {
	if environ[envFileVariable] == "" {
		l.reportMisspelt(environ)
	} else {
		l.reportUnknown(environ)
	}
	for _, name := range l.known {
		// MergeConfigMap would write values to the log of the global viper.
		if value := dotenv[name]; value != "" {
			l.values.SetDefault(name, value)
		}
		if value := environ[name]; value != "" {
			l.values.Set(name, value)
		}
	}
}

// read parses the value of a setting, or its default.
func (l *loader) read(r row) {
	value, source, err := l.lookup(r.Setting)
	if err != nil {
		l.fault("%v", err)
		return
	}
	l.note(r.Setting, value)
	if value == "" {
		value = r.Default
	}
	if value == "" {
		return
	}
	if err := r.parse(value); err != nil {
		l.fault("%s: %v", source, err)
		if r.Default != "" {
			_ = r.parse(r.Default) // every default is valid
		}
	}
}

// lookup returns the text of a setting and the name that it was read from.
func (l *loader) lookup(s Setting) (value, source string, err error) {
	value = l.values.GetString(s.Name)
	if !s.Secret {
		return value, s.Name, nil
	}
	source = s.Name + "_FILE"
	path := l.values.GetString(source)
	if path == "" {
		return value, s.Name, nil
	}
	if value != "" {
		return "", "", fmt.Errorf("%s and %s are both set: keep one", s.Name, source)
	}
	value, err = readFile(path)
	if err != nil {
		return "", "", fmt.Errorf("%s: %w", source, err)
	}
	if value = trimLine(value); value == "" {
		return "", "", fmt.Errorf("%s: %w", source, errEmptyFile)
	}
	return value, source, nil
}

var errEmptyFile = errors.New("the file is empty")

// trimLine cuts off the end of a last line.
func trimLine(text string) string { return strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r") }

// fileOf is the file that a secret was read from, or empty.
func (l *loader) fileOf(name string) string { return l.values.GetString(name + "_FILE") }

// isSet reports whether the operator set it, validly or not.
func (l *loader) isSet(name string) bool {
	return l.values.IsSet(name) || l.values.IsSet(name+"_FILE")
}

// readFile reads a small file. Its errors do not show the path: operators
// mistakenly put the secret itself into NAME_FILE.
func readFile(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", unreadable(err)
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return "", unreadable(err)
	}
	if len(text) > maxFile {
		return "", errors.New("the file is larger than 1 MiB")
	}
	return string(text), nil
}

// unreadable removes the path from the error of a file.
func unreadable(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	return fmt.Errorf("the file cannot be read: %w", err)
}

// oneLine returns s, quoted when it contains spaces or unprintable characters.
func oneLine(s string) string {
	if quoted := strconv.Quote(s); quoted != `"`+s+`"` || strings.Contains(s, " ") {
		return quoted
	}
	return s
}
