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

// format is the format of a setting's text. The text is never empty, and parse
// does not trim it: every deviation is a fault.
type format struct {
	accepts string // a description for the operator
	parse   func(text string) error
}

// invalid is the fault of a text that is not a secret.
func invalid(text, accepts string) error {
	if safeToShow(text) {
		return fmt.Errorf("%q is not %s", text, accepts)
	}
	return fmt.Errorf("not %s", accepts)
}

// safeToShow keeps secrets that were pasted into the wrong setting out of the
// log, such as a key or a URL with a password.
func safeToShow(text string) bool {
	return len(text) < 32 && !strings.ContainsAny(text, "@") && !strings.Contains(text, "://")
}

func whole[T int | int64](into *T, lowest, highest int64) format {
	accepts := fmt.Sprintf("a whole number from %d to %d", lowest, highest)
	return format{accepts, func(text string) error {
		if strings.Trim(text, "0123456789") != "" {
			return invalid(text, accepts)
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < lowest || n > highest {
			return invalid(text, accepts)
		}
		*into = T(n)
		return nil
	}}
}

func seconds(into *time.Duration, lowest, highest int64) format {
	var n int64
	v := whole(&n, lowest, highest)
	return format{v.accepts + ", in seconds", func(text string) error {
		err := v.parse(text)
		*into = time.Duration(n) * time.Second
		return err
	}}
}

func hours(into *time.Duration, lowest, highest int64) format {
	var n int64
	v := whole(&n, lowest, highest)
	return format{v.accepts + ", in hours", func(text string) error {
		err := v.parse(text)
		*into = time.Duration(n) * time.Hour
		return err
	}}
}

func milliseconds(into *time.Duration, lowest, highest int64) format {
	var n int64
	v := whole(&n, lowest, highest)
	return format{v.accepts + ", in milliseconds", func(text string) error {
		err := v.parse(text)
		*into = time.Duration(n) * time.Millisecond
		return err
	}}
}

// fallbacks reads model=other,other;model=other, in the order of the attempts.
func fallbacks(into *map[string][]string) format {
	const accepts = "a list such as gpt-6-sol=claude-haiku-4-5,gemini-3.5-flash;claude-*=gpt-6-sol"
	return format{accepts, func(text string) error {
		all := map[string][]string{}
		for entry := range strings.SplitSeq(text, ";") {
			model, list, ok := strings.Cut(entry, "=")
			model = strings.TrimSpace(model)
			if !ok || model == "" {
				return invalid(strings.TrimSpace(entry), accepts)
			}
			if _, ok := all[model]; ok {
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

// aliases reads name=model;name=model.
func aliases(into *map[string]string) format {
	const accepts = "a list such as fast=claude-haiku-4-5;claude-*=gpt-6-sol"
	return format{accepts, func(text string) error {
		all := map[string]string{}
		for entry := range strings.SplitSeq(text, ";") {
			name, model, ok := strings.Cut(entry, "=")
			name, model = strings.TrimSpace(name), strings.TrimSpace(model)
			if !ok || name == "" || model == "" {
				return invalid(strings.TrimSpace(entry), accepts)
			}
			if _, ok := all[name]; ok {
				return fmt.Errorf("%s is listed twice", oneLine(name))
			}
			all[name] = model
		}
		*into = all
		return nil
	}}
}

func boolean(into *bool) format {
	const accepts = "true or false"
	return format{accepts, func(text string) error {
		switch strings.ToLower(text) {
		case "true", "1":
			*into = true
		case "false", "0":
			*into = false
		default:
			return invalid(text, accepts)
		}
		return nil
	}}
}

func oneOf(into *string, choices ...string) format {
	last := len(choices) - 1
	accepts := strings.Join(choices[:last], ", ") + " or " + choices[last]
	return format{accepts, func(text string) error {
		if !slices.Contains(choices, text) {
			return invalid(text, accepts)
		}
		*into = text
		return nil
	}}
}

func level(into *slog.Level) format {
	var name string
	v := oneOf(&name, "debug", "info", "warn", "error")
	return format{v.accepts, func(text string) error {
		if err := v.parse(text); err != nil {
			return err
		}
		return into.UnmarshalText([]byte(name))
	}}
}

func text(into *string) format {
	const accepts = "printable ASCII without spaces"
	return format{accepts, func(text string) error {
		if !graphic(text) {
			return invalid(text, accepts)
		}
		*into = text
		return nil
	}}
}

func host(into *string) format {
	const accepts = "an IP address or a host name"
	return format{accepts, func(text string) error {
		if _, err := netip.ParseAddr(text); err != nil && !hostname(text) {
			return invalid(text, accepts)
		}
		*into = text
		return nil
	}}
}

// readable accepts a file that can be opened. Its content is not checked here.
func readable(into *string) format {
	const accepts = "the path of a readable file"
	return format{accepts, func(text string) error {
		file, err := os.Open(text)
		if err != nil {
			return unreadable(err)
		}
		defer func() { _ = file.Close() }()
		if info, err := file.Stat(); err != nil || info.IsDir() {
			return errors.New("not " + accepts)
		}
		*into = text
		return nil
	}}
}

func domains(into *[]string) format {
	const accepts = "domain names, comma-separated"
	return list(into, accepts, func(item string) (string, error) {
		if !hostname(item) {
			return "", invalid(item, "a domain name")
		}
		return strings.ToLower(item), nil
	})
}

func prefixes(into *[]netip.Prefix) format {
	const accepts = "CIDRs or addresses, comma-separated"
	all := list(into, accepts, func(item string) (netip.Prefix, error) {
		prefix, err := netip.ParsePrefix(item)
		if addr, addrErr := netip.ParseAddr(item); addrErr == nil {
			prefix, err = addr.Prefix(addr.BitLen())
		}
		// Clients' addresses are compared without a zone and unmapped: such a prefix would match none.
		if err != nil || strings.Contains(item, "%") || prefix.Addr().Is4In6() {
			return netip.Prefix{}, invalid(item, "a CIDR such as 10.0.0.0/8")
		}
		if prefix != prefix.Masked() {
			return netip.Prefix{}, fmt.Errorf("%s has bits set beyond its prefix length; did you mean %s?", prefix, prefix.Masked())
		}
		return prefix, nil
	})
	return format{accepts, func(text string) error {
		if err := all.parse(text); err != nil {
			return err
		}
		return checkEveryone(*into)
	}}
}

// checkEveryone refuses a prefix of all addresses that is not listed twice: every
// client could then choose its own address.
func checkEveryone(prefixes []netip.Prefix) error {
	for _, p := range prefixes {
		times := 0
		for _, other := range prefixes {
			if other == p {
				times++
			}
		}
		if p.Bits() == 0 && times < 2 {
			return fmt.Errorf("%s lets every client choose its address; list it twice (%s,%s) if only proxies reach the gateway", p, p, p)
		}
	}
	return nil
}

// list reads comma-separated items, with or without spaces around the commas.
func list[T any](into *[]T, accepts string, read func(item string) (T, error)) format {
	return format{accepts, func(text string) error {
		var all []T
		for i, item := range strings.Split(text, ",") {
			item = strings.Trim(item, " ")
			if item == "" {
				return fmt.Errorf("item %d is empty", i+1)
			}
			value, err := read(item)
			if err != nil {
				return fmt.Errorf("item %d: %w", i+1, err)
			}
			all = append(all, value)
		}
		*into = all
		return nil
	}}
}

// graphic reports whether s is printable ASCII without spaces.
func graphic(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// hostname reports whether s is a host name by RFC 1123, section 2.1, without a
// final dot. A text of digits and dots is an IPv4 address or invalid.
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

// isWordRune also accepts the underscore, which names of containers may contain.
func isWordRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_'
}
