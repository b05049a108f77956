package api

import (
	stdjson "encoding/json"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

func TestMoneyIsWrittenAsAnExactNumber(t *testing.T) {
	for amount, want := range map[USD]string{
		0: "0", 1: "0.000001", 123: "0.000123", 12_500_000: "12.5", 1_000_000: "1", 10_000_000: "10", 100: "0.0001",
		999_999: "0.999999", 1_000_001: "1.000001", -1: "-0.000001", -2_500_000: "-2.5", MaxUSD: "1000000000",
		math.MaxInt64: "9223372036854.775807", math.MinInt64: "-9223372036854.775808",
	} {
		for _, marshal := range []func(any) ([]byte, error){stdjson.Marshal, func(v any) ([]byte, error) { return json.Marshal(v, Lenient) }} {
			text, err := marshal(struct{ A USD }{amount})
			if err != nil || string(text) != `{"A":`+want+`}` {
				t.Errorf("%d: %s, %v", amount, text, err)
			}
		}
	}
}

func TestMoneyIsReadExactlyOrNotAtAll(t *testing.T) {
	for text, want := range map[string]USD{
		"0": 0, "0.0": 0, "0e9": 0, "0e999999999999": 0, "0.000001": 1, "1e-6": 1, "10E-7": 1, "1.5": 1_500_000, "12": 12_000_000,
		"12.50":     12_500_000,
		"0.1000000": 100_000, "1e3": 1_000_000_000, "1.5e+2": 150_000_000, "1000000000": MaxUSD, "1e9": MaxUSD, "1000000000.000000": MaxUSD,
		"999999999.999999": MaxUSD - 1, "0.29": 290_000, "4.35": 4_350_000, "0.000000000000000000001e15": 1,
		"1000000000000000000000e-21": 1_000_000,
	} {
		got := struct{ A USD }{-7}
		if err := json.Unmarshal([]byte(`{"A":`+text+`}`), &got); err != nil || got.A != want {
			t.Errorf("%s: %d, %v", text, got.A, err)
		}
	}
	for _, text := range []string{
		"-1", "-0", "-0.5", "0.0000001", "1.0000001", "1e-7", "1000000000.000001", "1000000001", "1e10", "1e99", "1e999999999999999999999",
		"1e-999999999",
		"null", "true", `"1"`, `""`, `"1.5"`, "{}", "[]", `{"a":1}`, "9223372036854775808", "92233720368547758080000000000000",
	} {
		got := struct{ A USD }{-7}
		if err := json.Unmarshal([]byte(`{"A":`+text+`}`), &got); !errors.Is(err, errUSD) || got.A != -7 {
			t.Errorf("%s was read as %d, %v", text, got.A, err)
		}
	}
}

func TestMoneyThatCannotBeReadIsNamed(t *testing.T) {
	var in struct {
		Budget *USD `json:"budget_usd"`
	}
	err := AsError(Decode([]byte(`{"budget_usd":0.0000001}`), &in))
	if err.Code != CodeInvalidValue || err.Param != "budget_usd" || !strings.Contains(err.Message, "at most 6 decimals") {
		t.Errorf("%v", err)
	}
	if err := Decode([]byte(`{"budget_usd":null}`), &in); err != nil || in.Budget != nil {
		t.Errorf("%v", err)
	}
}

func FuzzUSD(f *testing.F) {
	for _, text := range []string{"0", "-1", "1e9", "12.5", "0.0000010", "1E-6", "1000000000.000001", "00", "1.5e+02", "0e-99", "null",
		`"1"`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var u USD
		err := json.Unmarshal([]byte(text), &u)
		var number stdjson.Number
		if stdjson.Unmarshal([]byte(text), &number) != nil || number == "" || strings.ContainsAny(text, `"`) || len(text) > 40 {
			if err == nil && len(text) <= 40 {
				t.Fatalf("%q was read as %s", text, u)
			}
			return
		}
		if _, power, _ := strings.Cut(strings.ToLower(text), "e"); len(strings.TrimLeft(strings.Trim(power, " \t\r\n"), "+-0")) > 3 {
			return // too large for the other reader
		}
		want, ok := new(big.Rat).SetString(strings.Trim(text, " \t\r\n"))
		if !ok {
			t.Fatal(text)
		}
		want.Mul(want, big.NewRat(1_000_000, 1))
		good := want.IsInt() && !strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "-") && want.Cmp(big.NewRat(int64(MaxUSD), 1)) <= 0
		if (err == nil) != good || good && want.Cmp(big.NewRat(int64(u), 1)) != 0 {
			t.Fatalf("%q was read as %s, %v", text, u, err)
		}
		if back, err := json.Marshal(u); good && (err != nil || json.Unmarshal(back, &u) != nil || want.Cmp(big.NewRat(int64(u), 1)) != 0) {
			t.Fatalf("%q is written as %s", text, back)
		}
	})
}
