package account

import (
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"modelgateway/api"
)

// The bounds of an address and its parts in bytes: RFC 5321, 4.5.3.1, with
// erratum 1690, and RFC 1035, 2.3.4.
const (
	longestEmail  = 254
	longestLocal  = 64
	longestDomain = 253
	longestLabel  = 63
)

// NormalEmail returns the one form in which an e-mail address is stored, compared
// and looked up: lower case, the domain as in DNS (punycode, no dot at the end),
// no spaces around it. An address without such a form is a 400 for the field
// email: quoted local parts, IP addresses and names without a dot as domains,
// control characters. A local part is ASCII, because different letters of Unicode
// may look alike.
func NormalEmail(text string) (string, error) {
	text = strings.Trim(text, " ")
	// The normal form of a domain may be shorter, but not by a factor of four.
	if len(text) > 4*longestEmail {
		return "", invalidEmail("is too long")
	}
	if !utf8.ValidString(text) || strings.ContainsFunc(text, api.Invisible) {
		return "", invalidEmail("has control characters or other invisible characters")
	}
	local, domain, found := strings.Cut(text, "@")
	if !found || strings.Contains(domain, "@") {
		return "", invalidEmail("is not of the form name@domain")
	}
	if !dotAtom(local) {
		return "", invalidEmail("has characters before the @ that are not accepted")
	}
	domain, ok := normalDomain(domain)
	if !ok {
		return "", api.Invalid(api.CodeInvalidEmail, "email",
			"the domain of the e-mail address is not valid: it must be a name with a dot, such as example.com")
	}
	email := strings.ToLower(local) + "@" + domain
	if len(email) > longestEmail {
		return "", invalidEmail("is too long")
	}
	return email, nil
}

func invalidEmail(why string) error {
	return api.Invalid(api.CodeInvalidEmail, "email", "the e-mail address %s", why)
}

// dotAtom is the unquoted local part of RFC 5322, 3.2.3.
func dotAtom(local string) bool {
	if len(local) > longestLocal {
		return false
	}
	for word := range strings.SplitSeq(local, ".") {
		if word == "" || strings.ContainsFunc(word, func(r rune) bool { return !atext(r) }) {
			return false
		}
	}
	return true
}

func atext(r rune) bool {
	return ldh(r) || 'A' <= r && r <= 'Z' || r < utf8.RuneSelf && strings.ContainsRune("!#$%&'*+/=?^_`{|}~", r)
}

// ldh reports whether r is a letter, digit or hyphen, as in domains.
func ldh(r rune) bool {
	return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-'
}

func normalDomain(text string) (domain string, ok bool) {
	mapped, err := idna.Lookup.ToASCII(text)
	if err != nil {
		return "", false
	}
	domain = strings.TrimSuffix(mapped, ".")
	labels := strings.Split(domain, ".")
	if len(labels) < 2 || len(domain) > longestDomain {
		return "", false
	}
	for _, label := range labels {
		if label == "" || len(label) > longestLabel || strings.ContainsFunc(label, func(r rune) bool { return !ldh(r) }) {
			return "", false
		}
	}
	if strings.Trim(labels[len(labels)-1], "0123456789") == "" { // an IP address
		return "", false
	}
	// Not every punycode is in normal form: xn--ascii- would be ascii.
	again, err := idna.Lookup.ToASCII(domain)
	return domain, err == nil && again == domain
}

// DomainAllowed reports whether the domain of a normalised address is one of
// domains; a subdomain is not. Without domains every address is allowed.
func DomainAllowed(email string, domains []string) bool {
	if len(domains) == 0 {
		return true
	}
	_, own, _ := strings.Cut(email, "@")
	if _, ok := normalDomain(own); !ok { // a second @ fails here
		return false
	}
	return slices.ContainsFunc(domains, func(domain string) bool {
		allowed, ok := normalDomain(strings.TrimSpace(domain))
		return ok && allowed == own
	})
}

func domainRefused() error {
	return api.Forbidden(api.CodeDomainNotAllowed, "email", api.DomainNotAllowed)
}
