package chat

import (
	"reflect"
	"regexp"
	"testing"
)

func TestPackedSignaturesAreUnpacked(t *testing.T) {
	for _, details := range [][]ReasoningDetail{
		nil,
		{{Type: ReasoningEncrypted, Data: "Et0BCtoBAXLI2nwM+/==", Format: FormatGemini}},
		{
			{Type: ReasoningText, Text: "think «é»\n", Signature: "s", Format: FormatAnthropic},
			{Type: ReasoningEncrypted, Data: "x", Format: FormatAnthropic, Index: 1},
		},
	} {
		packed := PackID("toolu_01", details)
		if !regexp.MustCompile(`^[a-zA-Z0-9_-]+$`).MatchString(packed) {
			t.Errorf("id has other characters: %s", packed)
		}
		id, got := UnpackID(packed)
		if id != "toolu_01" || !reflect.DeepEqual(got, details) {
			t.Errorf("%q, %+v", id, got)
		}
	}
}

func TestOtherIDsAreNotUnpacked(t *testing.T) {
	for _, id := range []string{"", "call_1", "a" + mark, "a" + mark + "!!", "a" + mark + "AAAA"} {
		if got, details := UnpackID(id); got != id || details != nil {
			t.Errorf("%.40q became %.40q, %v", id, got, details)
		}
	}
}

func FuzzUnpackID(f *testing.F) {
	f.Add(PackID("a", []ReasoningDetail{{Type: "t", Data: "d"}}))
	f.Add("call_1")
	f.Fuzz(func(t *testing.T, id string) {
		base, details := UnpackID(id)
		if details == nil && base != id && len(base) > len(id) {
			t.Fatalf("%q became %q", id, base)
		}
	})
}
