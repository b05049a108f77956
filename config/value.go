package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// kind is how a setting's text is read. The text is never empty, and parse
// does not trim it: what is not exactly right is a fault.
type kind struct {
	want  string // what is accepted, as people would say it
	parse func(text string) error
}

// refused is the fault of a text that is no secret.
func refused(text, want string) error {
	if showable(text) {
		return fmt.Errorf("%q is not %s", text, want)
	}
	return fmt.Errorf("not %s", want)
}

// showable keeps what was pasted into the wrong setting, such as a key or an
// address with a password, out of the log.
func showable(text string) bool {
	return len(text) < 32 && !strings.ContainsAny(text, "@") && !strings.Contains(text, "://")
}

func whole[T int | int64](into *T, least, most int64) kind {
	want := fmt.Sprintf("a whole number from %d to %d", least, most)
	return kind{want, func(text string) error {
		if strings.Trim(text, "0123456789") != "" {
			return refused(text, want)
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < least || n > most {
			return refused(text, want)
		}
		*into = T(n)
		return nil
	}}
}

func seconds(into *time.Duration, least, most int64) kind {
	var n int64
	v := whole(&n, least, most)
	return kind{v.want + ", in seconds", func(text string) error {
		err := v.parse(text)
		*into = time.Duration(n) * time.Second
		return err
	}}
}

func milliseconds(into *time.Duration, least, most int64) kind {
	var n int64
	v := whole(&n, least, most)
	return kind{v.want + ", in milliseconds", func(text string) error {
		err := v.parse(text)
		*into = time.Duration(n) * time.Millisecond
		return err
	}}
}

// fallbacks reads model=other,other;model=other.
func fallbacks(into *map[string][]string) kind {
	const want = "a list such as gpt-4=claude-haiku-4-5-20251001,gemini-2.5-flash;gemini-2.5-pro=gpt-4"
	return kind{want, func(text string) error {
		all := map[string][]string{}
		for entry := range strings.SplitSeq(text, ";") {
			model, list, ok := strings.Cut(entry, "=")
			model = strings.TrimSpace(model)
			if !ok || model == "" {
				return refused(strings.TrimSpace(entry), want)
			}
			if _, twice := all[model]; twice {
				return fmt.Errorf("%s is listed twice", oneLine(model))
			}
			for other := range strings.SplitSeq(list, ",") {
				other = strings.TrimSpace(other)
				if other == "" || other == model || slices.Contains(all[model], other) {
					return fmt.Errorf("%s: its fallbacks must be other models, each once", oneLine(model))
				}
				all[model] = append(all[model], other)
			}
		}
		*into = all
		return nil
	}}
}

func boolean(into *bool) kind {
	const want = "true or false"
	return kind{want, func(text string) error {
		switch strings.ToLower(text) {
		case "true", "1":
			*into = true
		case "false", "0":
			*into = false
		default:
			return refused(text, want)
		}
		return nil
	}}
}

func oneOf(into *string, choices ...string) kind {
	last := len(choices) - 1
	want := strings.Join(choices[:last], ", ") + " or " + choices[last]
	return kind{want, func(text string) error {
		if !slices.Contains(choices, text) {
			return refused(text, want)
		}
		*into = text
		return nil
	}}
}

func level(into *slog.Level) kind {
	var name string
	v := oneOf(&name, "debug", "info", "warn", "error")
	return kind{v.want, func(text string) error {
		if err := v.parse(text); err != nil {
			return err
		}
		return into.UnmarshalText([]byte(name))
	}}
}

func text(into *string) kind {
	const want = "printable ASCII without blanks"
	return kind{want, func(text string) error {
		if !graphic(text) {
			return refused(text, want)
		}
		*into = text
		return nil
	}}
}

func host(into *string) kind {
	const want = "an IP address or a host name"
	return kind{want, func(text string) error {
		if _, err := netip.ParseAddr(text); err != nil && !hostname(text) {
			return refused(text, want)
		}
		*into = text
		return nil
	}}
}

// readable wants a file that can be opened. Its content is the reader's.
func readable(into *string) kind {
	const want = "the path of a readable file"
	return kind{want, func(text string) error {
		file, err := os.Open(text)
		if err != nil {
			return withoutPath(err)
		}
		defer func() { _ = file.Close() }()
		if info, err := file.Stat(); err != nil || info.IsDir() {
			return errors.New("not " + want)
		}
		*into = text
		return nil
	}}
}

func domains(into *[]string) kind {
	const want = "domain names, comma-separated"
	return list(into, want, func(item string) (string, error) {
		if !hostname(item) {
			return "", refused(item, "a domain name")
		}
		return strings.ToLower(item), nil
	})
}

func prefixes(into *[]netip.Prefix) kind {
	const want = "CIDRs or addresses, comma-separated"
	return list(into, want, func(item string) (netip.Prefix, error) {
		prefix, err := netip.ParsePrefix(item)
		if addr, addrErr := netip.ParseAddr(item); addrErr == nil {
			prefix, err = addr.Prefix(addr.BitLen())
		}
		// Addresses are compared without a zone and as IPv4 where they are one.
		if err != nil || strings.Contains(item, "%") || prefix.Addr().Is4In6() {
			return netip.Prefix{}, refused(item, "a CIDR such as 10.0.0.0/8")
		}
		if prefix != prefix.Masked() {
			return netip.Prefix{}, fmt.Errorf("%s has bits beyond its length; did you mean %s?", prefix, prefix.Masked())
		}
		return prefix, nil
	})
}

// list reads comma-separated items, with or without spaces around the commas.
func list[T any](into *[]T, want string, read func(item string) (T, error)) kind {
	return kind{want, func(text string) error {
		var all []T
		for i, item := range strings.Split(text, ",") {
			item = strings.Trim(item, " ")
			if item == "" {
				return fmt.Errorf("item %d is empty", i+1)
			}
			one, err := read(item)
			if err != nil {
				return fmt.Errorf("item %d: %w", i+1, err)
			}
			all = append(all, one)
		}
		*into = all
		return nil
	}}
}

// graphic reports whether s is printable ASCII without blanks.
func graphic(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// hostname reports whether s is a name by RFC 1123, section 2.1, without a
// final dot. What looks like an IPv4 address is none.
func hostname(s string) bool {
	if len(s) > 253 || strings.Trim(s, "0123456789.") == "" {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		if strings.ContainsFunc(label, func(r rune) bool { return !isWordRune(r) && r != '-' }) {
			return false
		}
	}
	return true
}

// isWordRune also admits the underscore, which names of containers may hold.
func isWordRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_'
}
