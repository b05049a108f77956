package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// parseDotenv reads a .env file in the syntax of Docker Compose, so that both
// read the same values from one file. There are two exceptions: a value cannot
// span lines, and a variable that Compose would interpolate is a fault. Each bad
// line has one fault, which never shows its text, and so has a name that is no
// setting: the file is the gateway's own.
//
// viper's own reader (gotenv v1.6.0) is not used: it cuts an unquoted value at
// any #, expands $NAME from the environment of the process, keeps the last of
// two lines for one name, and quotes a line that it cannot read, secret included.
func (l *loader) parseDotenv(text string) (vars map[string]string, faults []string) {
	text = strings.TrimPrefix(text, "\ufeff")
	if !utf8.ValidString(text) || strings.Contains(text, "\x00") {
		return nil, []string{"not valid UTF-8"}
	}
	vars = make(map[string]string)
	for i, line := range strings.Split(text, "\n") {
		line = strings.Trim(line, " \t\r")
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, err := parseLine(line)
		_, again := vars[name]
		switch known := slices.Contains(l.known, name); {
		case known && again:
			err = fmt.Errorf("%s is set a second time", name)
		case known && err != nil:
			err = fmt.Errorf("%s: %w", name, err)
		case isCloudName(name):
		case !known && err == nil && !isComposeName(name):
			err = errors.New(l.unknown(name))
		}
		if err != nil {
			faults = append(faults, fmt.Sprintf("line %d: %v", i+1, err))
		}
		if name != "" {
			vars[name] = value
		}
	}
	return vars, faults
}

// parseLine returns the name as well when only the value is invalid.
func parseLine(line string) (name, value string, err error) {
	name, rest, ok := strings.Cut(line, "=")
	name = strings.Trim(name, " \t")
	if exported, found := strings.CutPrefix(name, "export "); found {
		name = strings.Trim(exported, " \t")
	}
	if !ok || name == "" || strings.ContainsFunc(name, func(r rune) bool { return !isWordRune(r) && r != '-' && r != '.' }) {
		return "", "", errors.New("not in the form NAME=value")
	}
	value, err = parseValue(rest)
	return name, value, err
}

func parseValue(rest string) (string, error) {
	value := strings.Trim(rest, " \t")
	switch {
	case strings.HasPrefix(value, "'"):
		return singleQuoted(value[1:])
	case strings.HasPrefix(value, `"`):
		return doubleQuoted(value[1:])
	}
	if i := strings.Index(strings.ReplaceAll(rest, "\t", " "), " #"); i >= 0 {
		value = strings.Trim(rest[:i], " \t")
	}
	if strings.Contains(value, "$") {
		return "", errDollar
	}
	return value, nil
}

var (
	errDollar   = errors.New("a $ would begin a variable in Docker Compose: put the value in single quotes")
	errUnclosed = errors.New("the quote is not closed on the same line")
	errTrailing = errors.New("there is more text after the closing quote")
	errEscape   = errors.New(`in double quotes only \\, \", \$, \n, \r and \t may follow a backslash`)
)

func singleQuoted(s string) (string, error) {
	value, rest, closed := strings.Cut(s, "'")
	if !closed {
		return "", errUnclosed
	}
	return value, checkTrailing(rest)
}

func doubleQuoted(s string) (string, error) {
	var value strings.Builder
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			return value.String(), checkTrailing(s[i+1:])
		case '$':
			return "", errDollar
		case '\\':
			i++
			if i == len(s) {
				return "", errUnclosed
			}
			escaped := strings.IndexByte(`\"$nrt`, s[i])
			if escaped < 0 {
				return "", errEscape
			}
			value.WriteByte("\\\"$\n\r\t"[escaped])
		default:
			value.WriteByte(s[i])
		}
	}
	return "", errUnclosed
}

func checkTrailing(rest string) error {
	rest = strings.Trim(rest, " \t")
	if rest == "" || rest[0] == '#' {
		return nil
	}
	return errTrailing
}
