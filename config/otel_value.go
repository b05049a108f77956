package config

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
)

// wholeURL keeps the path as it is.
func wholeURL(into *string) format {
	return format{"an http or https URL", func(text string) error {
		if _, err := parseHTTP(text); err != nil {
			return err
		}
		*into = text
		return nil
	}}
}

// headers reads name=value,name=value with percent-encoded values. No fault
// shows a name or a value.
func headers(into *map[string]Secret) format {
	const tokenCharacters = "abcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~" // RFC 9110, section 5.6.2
	return format{"a list such as authorization=Bearer%20abc,x-tenant=1", func(text string) error {
		all := map[string]Secret{}
		err := pairs(text, func(name, value string) error {
			if strings.Trim(strings.ToLower(name), tokenCharacters) != "" {
				return errors.New("the name is not a valid header name")
			}
			if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
				return errors.New("the value holds a control character")
			}
			all[name] = NewSecret(value)
			return nil
		})
		*into = all
		return err
	}}
}

func attributes(into *map[string]string) format {
	return format{"a list such as deployment.environment.name=test,team=a%20b", func(text string) error {
		all := map[string]string{}
		err := pairs(text, func(name, value string) error {
			all[name] = value
			return nil
		})
		*into = all
		return err
	}}
}

// pairs reads name=value,name=value with percent-encoded values, which is the
// format of lists in OpenTelemetry's specification.
func pairs(text string, each func(name, value string) error) error {
	item := 0
	for pair := range strings.SplitSeq(text, ",") {
		item++
		name, encoded, ok := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		value, err := url.PathUnescape(strings.TrimSpace(encoded))
		if !ok || name == "" || err != nil {
			return fmt.Errorf("item %d is not name=value with a percent-encoded value", item)
		}
		if err := each(name, value); err != nil {
			return fmt.Errorf("item %d: %w", item, err)
		}
	}
	return nil
}

func authorities(into **x509.CertPool) format {
	const accepts = "the path of a file with certificates in PEM"
	return format{accepts, func(path string) error {
		pem, err := os.ReadFile(path)
		if err != nil {
			return unreadable(err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return errors.New("not " + accepts)
		}
		*into = pool
		return nil
	}}
}

func label(into *string) format {
	const accepts = "a text without control characters"
	return format{accepts, func(text string) error {
		if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return invalid(text, accepts)
		}
		*into = text
		return nil
	}}
}

func ratio(into *float64) format {
	const accepts = "a number from 0 to 1"
	return format{accepts, func(text string) error {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || !(n >= 0 && n <= 1) {
			return invalid(text, accepts)
		}
		*into = n
		return nil
	}}
}
