package api

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// USD is an amount of money in micro-dollars. In JSON it is a decimal number of
// dollars, exactly, with at most six decimals.
type USD int64

const usdDecimals = 6

// MarshalJSONTo writes dollars without zeros at the end.
func (u USD) MarshalJSONTo(enc *jsontext.Encoder) error {
	sign, micro := "", uint64(u)
	if u < 0 {
		sign, micro = "-", uint64(-u)
	}
	digits := strconv.FormatUint(micro, 10)
	for len(digits) <= usdDecimals {
		digits = "0" + digits
	}
	whole, rest := digits[:len(digits)-usdDecimals], strings.TrimRight(digits[len(digits)-usdDecimals:], "0")
	if rest != "" {
		whole += "." + rest
	}
	return enc.WriteValue(jsontext.Value(sign + whole))
}

var errUSD = errors.New("must be a number of dollars with at most 6 decimals")

// UnmarshalJSONFrom reads a number without an exponent.
func (u *USD) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	value, err := dec.ReadValue()
	if err != nil {
		return err
	}
	if value.Kind() != '0' {
		return errUSD
	}
	text, negative := strings.CutPrefix(string(value), "-")
	whole, rest, _ := strings.Cut(text, ".")
	if len(rest) > usdDecimals || strings.ContainsAny(text, "eE") {
		return errUSD
	}
	micro, err := strconv.ParseUint(whole+rest+strings.Repeat("0", usdDecimals-len(rest)), 10, 64)
	if err != nil || micro > math.MaxInt64 {
		return errUSD
	}
	*u = USD(micro)
	if negative {
		*u = -*u
	}
	return nil
}
