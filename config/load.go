package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/viper"
)

// maxFile bounds a .env file and a file that holds a secret.
const maxFile = 1 << 20

// Faults is everything that is wrong with a configuration, one sentence each,
// none of which holds a secret or more than one line.
type Faults []string

func (f Faults) Error() string { return strings.Join(f, "\n") }

// loader is a Config on its way.
type loader struct {
	Config
	googleKeys []Secret // become Gemini's
	otel       otel     // becomes Tracing

	// values holds only texts that are not empty: an empty setting is unset.
	values *viper.Viper
	faults Faults
}

// Load reads the settings from environ, which is in the form of os.Environ
// (the last of several entries for one name counts), and from the .env file at
// the path dotenv. The environment wins; what is empty there counts as absent.
// Without a path, or without a file there, the environment is all there is.
// Every error is a Faults; the process's own environment is not looked at.
func Load(environ []string, dotenv string) (*Config, error) {
	l := &loader{values: viper.New()}
	l.gather(variables(environ), l.dotenv(dotenv))
	for _, row := range l.table() {
		l.read(row)
	}
	l.complete()
	l.check()
	if len(l.faults) > 0 {
		return nil, l.faults
	}
	c := l.Config
	return &c, nil
}

func (l *loader) fault(format string, args ...any) {
	l.faults = append(l.faults, fmt.Sprintf(format, args...))
}

// variables keeps the last of several, as os/exec does for a program it starts.
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
	vars, faults := parseDotenv(text)
	for _, fault := range faults {
		l.fault("%s: %s", oneLine(path), fault)
	}
	return vars
}

// gather puts our part of both sources into viper, and reports the names that
// were meant to be ours.
func (l *loader) gather(environ, dotenv map[string]string) {
	l.misspelt(environ, dotenv)
	for _, name := range knownNames() {
		// Not MergeConfigMap: it writes values to the log of the global viper.
		if value := dotenv[name]; value != "" {
			l.values.SetDefault(name, value)
		}
		if value := environ[name]; value != "" {
			l.values.Set(name, value)
		}
	}
}

// read gives a setting its value or its default.
func (l *loader) read(r row) {
	value, source, err := l.lookup(r.Setting)
	if err != nil {
		l.fault("%v", err)
		return
	}
	if value == "" {
		value = r.Default
	}
	if value == "" {
		return
	}
	if err := r.parse(value); err != nil {
		l.fault("%s: %v", source, err)
	}
}

// lookup finds the text of a setting and where it came from.
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
	value = strings.TrimSuffix(strings.TrimSuffix(value, "\n"), "\r")
	if value == "" {
		return "", "", fmt.Errorf("%s: the file is empty", source)
	}
	return value, source, nil
}

// given reports whether the operator set it, rightly or not.
func (l *loader) given(name string) bool {
	return l.values.IsSet(name) || l.values.IsSet(name+"_FILE")
}

// readFile reads a small file. Its errors do not hold the path: in NAME_FILE
// people put the secret itself.
func readFile(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", withoutPath(err)
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return "", withoutPath(err)
	}
	if len(text) > maxFile {
		return "", errors.New("the file is larger than 1 MiB")
	}
	return string(text), nil
}

func withoutPath(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	return fmt.Errorf("the file cannot be read: %w", err)
}

// oneLine is s, quoted when it would not print as it is.
func oneLine(s string) string {
	if quoted := strconv.Quote(s); quoted != `"`+s+`"` || strings.Contains(s, " ") {
		return quoted
	}
	return s
}
