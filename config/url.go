package config

import (
	"errors"
	"net/mail"
	"net/url"
	"strconv"
	"strings"
)

// No fault in this file shows a URL: it may contain a password. The errors of
// net/url quote it and are therefore not wrapped.

// parseURL accepts an absolute URL of one of the schemes, with a host.
func parseURL(text string, schemes ...string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || strings.ContainsAny(text, " \\") {
		return nil, errors.New("not a valid URL; special characters in a password must be written as %XX")
	}
	for _, scheme := range schemes {
		if u.Scheme == scheme && strings.HasPrefix(text[len(scheme):], "://") {
			return u, checkHost(u)
		}
	}
	return nil, errors.New("does not begin with " + strings.Join(schemes, ":// or ") + "://")
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

// parseHTTP accepts an http or https URL of an address and a path only: a query
// would be lost when a path is appended.
func parseHTTP(text string) (*url.URL, error) {
	u, err := parseURL(text, "http", "https")
	if err != nil {
		return nil, err
	}
	if u.User != nil {
		return nil, errors.New("the URL must not contain a user name or a password")
	}
	if strings.ContainsAny(text, "?#") {
		return nil, errors.New("the URL must not contain a query or a fragment")
	}
	return u, nil
}

func httpURL(into *string) format {
	return format{"an http or https URL", func(text string) error {
		u, err := parseHTTP(text)
		if err != nil {
			return err
		}
		*into = address(u) + strings.TrimRight(u.EscapedPath(), "/")
		return nil
	}}
}

// baseURL accepts the URL of an API with or without its version at the end, and
// removes the version.
func baseURL(into *string, version string) format {
	accepts := "an http or https URL"
	if version != "" {
		accepts += ", with or without " + version
	}
	return format{accepts, func(text string) error {
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
// section 4.3, requires it to be identical to the issuer's own.
func issuer(into *string) format {
	return format{"an http or https URL", func(text string) error {
		if _, err := parseHTTP(text); err != nil {
			return err
		}
		*into = text
		return nil
	}}
}

// origins are stored as browsers write the Origin header: in lower case and
// without a default port.
func origins(into *[]string) format {
	const accepts = "origins such as https://app.example.com, comma-separated, or * alone"
	all := list(into, accepts, func(item string) (string, error) {
		if item == "*" {
			return "", errors.New("* must be the only item")
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
	return format{accepts, func(text string) error {
		if text == "*" {
			*into = []string{"*"}
			return nil
		}
		return all.parse(text)
	}}
}

// hosts are stored in lower case.
func hosts(into *[]string) format {
	const accepts = "host names without a port, comma-separated, or * alone for any"
	all := list(into, accepts, func(item string) (string, error) {
		if !hostname(item) {
			return "", errors.New("not the name of a host")
		}
		return strings.ToLower(item), nil
	})
	return format{accepts, func(text string) error {
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

func database(into *Secret) format {
	return format{"postgres://..., postgresql://... or sqlite:PATH", func(text string) error {
		var err error
		switch {
		case strings.HasPrefix(text, "sqlite:"):
			err = checkSQLite(text)
		case strings.HasPrefix(text, "postgres://"), strings.HasPrefix(text, "postgresql://"):
			err = checkPostgres(text)
		default:
			//nolint:staticcheck // as the operator has to type it
			err = errors.New("does not begin with postgres://, postgresql:// or sqlite:")
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
	// The URL of a Unix socket has no host, but a query parameter of that name.
	if u != nil && u.Host == "" && u.Query().Get("host") != "" {
		return nil
	}
	return err
}

// checkSQLite refuses two slashes, because a relative path after them would
// silently become another one, and a query, because paths have none.
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

func redis(into *Secret) format {
	return format{"redis://... or rediss://...", func(text string) error {
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

func smtp(into *Secret) format {
	return format{"smtp://... or smtps://...", func(text string) error {
		u, err := parseURL(text, "smtp", "smtps")
		if err != nil {
			return err
		}
		if strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
			return errors.New("the URL must not contain a path, a query or a fragment")
		}
		if _, ok := u.User.Password(); u.User != nil && (!ok || u.User.Username() == "") {
			return errors.New("the URL has a user without a password, or a password without a user")
		}
		*into = NewSecret(text)
		return nil
	}}
}

// sender accepts an address with or without a name, as in Model Gateway <a@b.example>.
func sender(into *string) format {
	return format{"an e-mail address, such as gateway@example.com or Model Gateway <gateway@example.com>", func(text string) error {
		if _, err := mail.ParseAddress(text); err != nil || strings.ContainsAny(text, "\r\n") {
			return errors.New("not an e-mail address") // not shown: addresses do not belong in a log
		}
		*into = text
		return nil
	}}
}
