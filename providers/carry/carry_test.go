package carry

import (
	"reflect"
	"regexp"
	"testing"

	"modelgateway/models/api"
)

func TestWhatIsPackedComesBack(t *testing.T) {
	for _, details := range [][]api.ReasoningDetail{
		nil,
		{{Type: api.ReasoningEncrypted, Data: "Et0BCtoBAXLI2nwM+/==", Format: api.FormatGemini}},
		{
			{Type: api.ReasoningText, Text: "think «é»\n", Signature: "s", Format: api.FormatAnthropic},
			{Type: api.ReasoningEncrypted, Data: "x", Format: api.FormatAnthropic, Index: 1},
		},
	} {
		packed := Pack("toolu_01", details)
		if !regexp.MustCompile(`^[a-zA-Z0-9_-]+$`).MatchString(packed) {
			t.Errorf("id has other characters: %s", packed)
		}
		id, got := Unpack(packed)
		if id != "toolu_01" || !reflect.DeepEqual(got, details) {
			t.Errorf("%q, %+v", id, got)
		}
	}
}

func TestForeignIdsAreLeftAlone(t *testing.T) {
	for _, id := range []string{"", "call_1", "a" + mark, "a" + mark + "!!", "a" + mark + "AAAA"} {
		if got, details := Unpack(id); got != id || details != nil {
			t.Errorf("%.40q became %.40q, %v", id, got, details)
		}
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add(Pack("a", []api.ReasoningDetail{{Type: "t", Data: "d"}}))
	f.Add("call_1")
	f.Fuzz(func(t *testing.T, id string) {
		base, details := Unpack(id)
		if details == nil && base != id && len(base) > len(id) {
			t.Fatalf("%q became %q", id, base)
		}
	})
}
