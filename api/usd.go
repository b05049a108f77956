package api

import (
	"errors"
	"strconv"
	"strings"
)

// USD is an amount of US dollars in micro-dollars. In JSON it is an exact
// decimal number of dollars: 12.5 is 12,500,000.
type USD int64

const (
	microDigits = 6
	micro       = 1_000_000

	// MaxUSD is the largest amount that is read.
	MaxUSD USD = 1_000_000_000 * micro
)

var errUSD = errors.New("must be an amount in US dollars, from 0 to 1000000000 and with at most 6 decimals")

// String is the amount in dollars without needless digits: 0.000123, 12.5, 0.
func (u USD) String() string {
	sign, n := "", uint64(u)
	if u < 0 {
		sign, n = "-", -n
	}
	whole, rest := n/micro, n%micro
	text := sign + strconv.FormatUint(whole, 10)
	if rest == 0 {
		return text
	}
	digits := strconv.FormatUint(micro+rest, 10)[1:] // with its leading zeros
	return text + "." + strings.TrimRight(digits, "0")
}

// MarshalJSON writes the number.
func (u USD) MarshalJSON() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalJSON reads a number exactly: it refuses amounts that are negative,
// larger than MaxUSD or finer than a micro-dollar.
func (u *USD) UnmarshalJSON(text []byte) error {
	n, ok := ParseUSD(string(text))
	if !ok {
		return errUSD
	}
	*u = n
	return nil
}

// ParseUSD reads a JSON number in any notation; ok is false for what UnmarshalJSON
// refuses.
func ParseUSD(text string) (amount USD, ok bool) {
	if strings.HasPrefix(text, "-") || strings.HasPrefix(text, `"`) {
		return 0, false
	}
	number, power, scientific := strings.Cut(strings.ToLower(text), "e")
	whole, decimals, _ := strings.Cut(number, ".")
	digits := strings.TrimLeft(whole+decimals, "0")
	significant := strings.TrimRight(digits, "0")
	if strings.Trim(digits, "0123456789") != "" || number == "" {
		return 0, false // null, true, an object
	}
	if digits == "" {
		return 0, true
	}
	exponent := 0
	if scientific {
		var err error
		if exponent, err = strconv.Atoi(power); err != nil {
			return 0, false
		}
	}
	// The amount in micro-dollars is its significant digits and this many zeros.
	zeros := len(digits) - len(significant) - len(decimals) + microDigits
	const maxDigits = 16 // of MaxUSD
	if exponent > maxDigits+len(text) || exponent < -maxDigits-len(text) {
		return 0, false
	}
	if zeros += exponent; zeros < 0 || len(significant)+zeros > maxDigits {
		return 0, false
	}
	n, err := strconv.ParseInt(significant+strings.Repeat("0", zeros), 10, 64)
	return USD(n), err == nil && USD(n) <= MaxUSD
}
