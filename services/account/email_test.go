package account

import (
	"errors"
	"net/mail"
	"slices"
	"strings"
	"testing"

	"modelgateway/api"
)

func TestOneAddressIsOneAccountOrRefused(t *testing.T) {
	const refused = ""
	for _, tt := range []struct{ text, want string }{
		{"a@x.com", "a@x.com"},
		{"A@X.com", "a@x.com"},
		{" a@x.com", "a@x.com"},
		{"  a@x.com   ", "a@x.com"},
		{"a@x.com.", "a@x.com"},
		{"a@X.COM.", "a@x.com"},
		{"First.Last+tag@Sub.Example.org", "first.last+tag@sub.example.org"},
		{"!#$%&'*+-/=?^_`{|}~@x.com", "!#$%&'*+-/=?^_`{|}~@x.com"},

		// The domain in its compatibility forms is the same domain.
		{"a@ｘ.com", "a@x.com"},
		{"a@x。com", "a@x.com"},
		{"a@x.com。", "a@x.com"},
		{"a@B\u00fccher.example", "a@xn--bcher-kva.example"},
		{"a@bu\u0308cher.example", "a@xn--bcher-kva.example"},
		{"a@XN--BCHER-KVA.example", "a@xn--bcher-kva.example"},
		{"a@fa\u00df.de", "a@xn--fa-hia.de"},
		{"a@\u0430pple.com", "a@xn--pple-43d.com"}, // a Cyrillic letter: another domain, and seen to be

		// A local part that only looks like another is refused.
		{"\u0430@x.com", refused},
		{"\uff41@x.com", refused},
		{"\u212a@x.com", refused}, // the Kelvin sign, a k in lower case
		{"\u00e9@x.com", refused},
		{"e\u0301@x.com", refused},
		{"a\u200b@x.com", refused},
		{"a\u00ad@x.com", refused},
		{"a@x\u00ad.com", refused},
		{"a@x.com\u200b", refused},
		{"\ufeffa@x.com", refused},
		{"a\uff20x.com", refused},
		{"a@b\uff20x.com", refused},

		{"a@x.com\n", refused},
		{"\ta@x.com", refused},
		{"a@x.com\r\nBcc: b@x.com", refused},
		{"a\x00@x.com", refused},
		{"a@x.com\x00", refused},
		{"a@x.com\u00a0", refused},
		{"a@x.com\xff", refused},
		{"a b@x.com", refused},
		{"a@x .com", refused},

		{"", refused}, {"@", refused}, {"a", refused}, {"a@", refused}, {"@x.com", refused}, {"x.com", refused},
		{"a@@x.com", refused},
		{"a@evil.com@corp.com", refused},
		{`"a@corp.com"@evil.com`, refused},
		{`"a"@x.com`, refused},
		{`a\@b@x.com`, refused},
		{"A <a@x.com>", refused},
		{"a(comment)@x.com", refused},
		{"a,b@x.com", refused},
		{"mailto:a@x.com", refused},
		{".a@x.com", refused}, {"a.@x.com", refused}, {"a..b@x.com", refused},
		{"a@x.com..", refused}, {"a@.x.com", refused}, {"a@x..com", refused}, {"a@.", refused},
		{"a@localhost", refused},
		{"a@127.0.0.1", refused}, {"a@[127.0.0.1]", refused}, {"a@[IPv6:::1]", refused}, {"a@x.123", refused},
		{"a@-x.com", refused}, {"a@x-.com", refused}, {"a@x_y.com", refused}, {"a@x!.com", refused},
		{"a@xn--.com", refused}, {"a@xn--ascii-.com", refused}, {"a@xn--a.com", refused}, {"a@xn--0.com", refused},

		{strings.Repeat("a", 64) + "@x.com", strings.Repeat("a", 64) + "@x.com"},
		{strings.Repeat("a", 65) + "@x.com", refused},
		{"a@" + strings.Repeat("b", 63) + ".com", "a@" + strings.Repeat("b", 63) + ".com"},
		{"a@" + strings.Repeat("b", 64) + ".com", refused},
		{longAddress(254), longAddress(254)},
		{longAddress(255), refused},
		{strings.Repeat("a@x.com ", 100_000), refused},
	} {
		got, err := NormalEmail(tt.text)
		if got != tt.want {
			t.Errorf("%.60q is %q (%v), want %q", tt.text, got, err, tt.want)
		}
		if (err != nil) != (tt.want == refused) {
			t.Errorf("%.60q: %v", tt.text, err)
		}
		if err != nil {
			expectEmailRefused(t, tt.text, err)
		}
	}
}

func expectEmailRefused(t *testing.T, text string, err error) {
	t.Helper()
	e, ok := errors.AsType[*api.Error](err)
	if !ok || e.Status != 400 || e.Type != api.TypeInvalidRequest || e.Code != api.CodeInvalidEmail || e.Param != "email" {
		t.Errorf("%.60q: %v", text, err)
	}
}

// longAddress has this many bytes.
func longAddress(size int) string {
	label := strings.Repeat("c", 49)
	domain := strings.Join([]string{label, label, label, label}, ".") + ".com"
	return strings.Repeat("a", size-len(domain)-1) + "@" + domain
}

func TestOnlyTheExactDomainIsAllowed(t *testing.T) {
	for _, tt := range []struct {
		text    string
		domains []string
		want    bool
	}{
		{"a@corp.com", nil, true},
		{"a@corp.com", []string{}, true},
		{"a@corp.com", []string{"corp.com"}, true},
		{"a@CORP.com", []string{"corp.com"}, true},
		{"a@corp.com.", []string{"corp.com"}, true},
		{"a@corp.com", []string{"other.org", " Corp.COM ", ""}, true},
		{"a@evil.com@corp.com", []string{"corp.com"}, false},
		{"a@corp.com@evil.com", []string{"corp.com"}, false},
		{"a@corp.com.evil.com", []string{"corp.com"}, false},
		{"a@evilcorp.com", []string{"corp.com"}, false},
		{"a@sub.corp.com", []string{"corp.com"}, false},
		{"a@com", []string{"corp.com"}, false},
		{`"a@corp.com"@evil.com`, []string{"corp.com"}, false},
		{"corp.com", []string{"corp.com"}, false},
		{"a@c\u043erp.com", []string{"corp.com"}, false},
		{"a@xn--crp-emc.com", []string{"corp.com"}, false},
		{"a@b\u00fccher.example", []string{"xn--bcher-kva.example"}, true},
		{"a@xn--bcher-kva.example", []string{"B\u00fccher.example"}, true},
		{"a@corp.com", []string{""}, false},
		{"a@corp.com", []string{" ", "@corp.com", "*.com", "*"}, false},
		{"", []string{""}, false},
	} {
		email, err := NormalEmail(tt.text)
		if got := err == nil && DomainAllowed(email, tt.domains); got != tt.want {
			t.Errorf("%q with %q: %t (%q, %v)", tt.text, tt.domains, got, email, err)
		}
		// Nothing passes by being left as it came.
		if len(tt.domains) > 0 && !tt.want && DomainAllowed(tt.text, tt.domains) {
			t.Errorf("%q with %q passes when it is not normalised", tt.text, tt.domains)
		}
	}
}

func FuzzNormalEmail(f *testing.F) {
	for _, text := range []string{
		"a@x.com", " A@X.com. ", "a@b\u00fccher.example", "a@bu\u0308cher.example", "a@xn--bcher-kva.example", "a@xn--ascii-.com",
		"a@x。com。", "a\uff20x.com", "a@x\u00ad.com", `"a@b"@c.com`, "a@b@c.com", "a@\u0430pple.com", "a@x.com\n", "\xff@\xfe", "a@[::1]",
		"a@\u05d0\u05d1.com", "a@\u0646\u0627\u0645\u0647\u200c\u0627\u06cc.com", "a@1.2.3.4", "a.b+c@d-e.co.uk", "a@x.com..", "a@xn--.com", longAddress(254),
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		email, err := NormalEmail(text)
		if err != nil {
			if email != "" {
				t.Errorf("%q is refused and %q", text, email)
			}
			expectEmailRefused(t, text, err)
			return
		}
		if again, err := NormalEmail(email); again != email || err != nil {
			t.Errorf("%q is %q, and that is %q (%v)", text, email, again, err)
		}
		if len(email) > 254 || strings.Count(email, "@") != 1 || email != strings.ToLower(email) ||
			strings.ContainsFunc(email, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
			t.Errorf("%q is %q", text, email)
		}
		if a, err := mail.ParseAddress(email); err != nil || a.Address != email {
			t.Errorf("%q is %q, which no mail server takes: %v", text, email, err)
		}
		_, domain, _ := strings.Cut(email, "@")
		for _, allowed := range [][]string{{domain}, {"other.example", strings.ToUpper(domain)}} {
			if !DomainAllowed(email, allowed) {
				t.Errorf("%q is not of %q", email, allowed)
			}
		}
		if others := []string{"sub." + domain, "x" + domain, domain + ".evil"}; DomainAllowed(
			email, slices.DeleteFunc(others, func(d string) bool { return d == domain }),
		) {
			t.Errorf("%q is of one of %q", email, others)
		}
	})
}
