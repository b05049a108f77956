package config

import (
	"errors"
	"net/url"
	"strconv"
	"strings"
)

// No fault here shows the address: it may hold a password. For that reason
// the errors of net/url, which quote it, are not passed on either.

// parseURL wants an absolute URL of one of the schemes, with a host.
func parseURL(text string, schemes ...string) (*url.URL, error) {
	want := strings.Join(schemes, ":// or ") + "://"
	u, err := url.Parse(text)
	if err != nil || strings.ContainsAny(text, " \\") {
		return nil, errors.New("not a valid URL; special characters in a password are written as %XX")
	}
	for _, scheme := range schemes {
		if u.Scheme == scheme && strings.HasPrefix(text[len(scheme):], "://") {
			return u, checkHost(u)
		}
	}
	return nil, errors.New("does not begin with " + want)
}

func checkHost(u *url.URL) error {
	if u.Hostname() == "" {
		return errors.New("the URL has no host")
	}
	if port, err := strconv.Atoi(u.Port()); u.Port() != "" && (err != nil || port < 1 || port > 65535) || strings.HasSuffix(u.Host, ":") {
		return errors.New("the URL's port is not from 1 to 65535")
	}
	return nil
}

// parseHTTP wants an http or https URL that is no more than an address and a
// path: the rest would get lost where paths are appended to it.
func parseHTTP(text string) (*url.URL, error) {
	u, err := parseURL(text, "http", "https")
	if err != nil {
		return nil, err
	}
	if u.User != nil {
		return nil, errors.New("the URL must not hold a user or a password")
	}
	if strings.ContainsAny(text, "?#") {
		return nil, errors.New("the URL must not have a query or a fragment")
	}
	return u, nil
}

func httpURL(into *string) kind {
	return kind{"an http or https URL", func(text string) error {
		u, err := parseHTTP(text)
		if err != nil {
			return err
		}
		*into = address(u) + strings.TrimRight(u.EscapedPath(), "/")
		return nil
	}}
}

// baseURL takes an API's address with or without its version at the end.
func baseURL(into *string, version string) kind {
	return kind{"an http or https URL, with or without " + version, func(text string) error {
		u, err := parseHTTP(text)
		if err != nil {
			return err
		}
		path := strings.TrimSuffix(strings.TrimRight(u.EscapedPath(), "/"), version)
		*into = address(u) + strings.TrimRight(path, "/")
		return nil
	}}
}

// issuer keeps the text, a final slash included: OpenID Connect Discovery 1.0,
// section 4.3, wants it identical to the issuer's own.
func issuer(into *string) kind {
	return kind{"an http or https URL", func(text string) error {
		if _, err := parseHTTP(text); err != nil {
			return err
		}
		*into = text
		return nil
	}}
}

// origins are held as browsers write them in the Origin header: in lower case
// and without a default port.
func origins(into *[]string) kind {
	const want = "origins such as https://app.example.com, comma-separated, or * alone"
	all := list(into, want, func(item string) (string, error) {
		if item == "*" {
			return "", errors.New("* is accepted only alone")
		}
		u, err := parseHTTP(item)
		if err != nil {
			return "", err
		}
		if u.Path != "" {
			return "", errors.New("an origin has no path, not even a final slash")
		}
		defaultPort := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]
		return strings.TrimSuffix(address(u), defaultPort), nil
	})
	return kind{want, func(text string) error {
		if text == "*" {
			*into = []string{"*"}
			return nil
		}
		return all.parse(text)
	}}
}

func address(u *url.URL) string {
	return u.Scheme + "://" + strings.ToLower(u.Host)
}

func database(into *Secret) kind {
	return kind{"postgres://..., postgresql://... or sqlite:PATH", func(text string) error {
		var err error
		switch {
		case strings.HasPrefix(text, "sqlite:"):
			err = checkSQLite(text)
		case strings.HasPrefix(text, "postgres://"), strings.HasPrefix(text, "postgresql://"):
			err = checkPostgres(text)
		default:
			err = errors.New("does not begin with postgres://, postgresql:// or sqlite:") //nolint:staticcheck // it ends with what to type
		}
		if err != nil {
			return err
		}
		*into = NewSecret(text)
		return nil
	}}
}

func checkPostgres(text string) error {
	u, err := parseURL(text, "postgres", "postgresql")
	// A Unix socket has no host but a query parameter of that name.
	if u != nil && u.Host == "" && u.Query().Get("host") != "" {
		return nil
	}
	return err
}

// checkSQLite refuses the forms with slashes, in which a relative path would
// silently become another one, and a query, which a path has not.
func checkSQLite(text string) error {
	path := strings.TrimPrefix(text, "sqlite:")
	if strings.Trim(path, " ") == "" {
		return errors.New("sqlite: needs the path of a file")
	}
	if strings.HasPrefix(path, "//") || strings.ContainsAny(path, "?#\x00\n") {
		return errors.New("after sqlite: comes a plain path, without // before it and without ? or #")
	}
	return nil
}

func redis(into *Secret) kind {
	return kind{"redis://... or rediss://...", func(text string) error {
		u, err := parseURL(text, "redis", "rediss")
		if err != nil {
			return err
		}
		number := strings.TrimPrefix(u.Path, "/")
		if _, err := strconv.ParseUint(number, 10, 16); number != "" && err != nil {
			return errors.New("the URL's path is not the number of a database")
		}
		*into = NewSecret(text)
		return nil
	}}
}
