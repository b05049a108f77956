package gemini

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestSoundsAreCountedByTheirModality(t *testing.T) {
	for details, want := range map[string]struct {
		tokens int64
		found  bool
	}{
		`[{"modality":"TEXT","tokenCount":12},{"modality":"AUDIO","tokenCount":640}]`: {640, true},
		`[{"modality":"TEXT","tokenCount":12}]`:                                       {0, true},
		`[{"modality":"AUDIO"}]`:                                                      {0, true},
		`[{"modality":"AUDIO","tokenCount":-5}]`:                                      {0, true},
		`[]`:                                                                          {0, false},
		`null`:                                                                        {0, false},
		`"AUDIO"`:                                                                     {0, false},
		`[7]`:                                                                         {0, false},
		``:                                                                            {0, false},
	} {
		if tokens, found := sounds(jsontext.Value(details)); tokens != want.tokens || found != want.found {
			t.Errorf("%s: %d, %v", details, tokens, found)
		}
	}
	s := &stream{usage: jsontext.Value(`{"promptTokenCount":652,"candidatesTokenCount":3,"cachedContentTokenCount":100,
		"promptTokensDetails":[{"modality":"TEXT","tokenCount":12},{"modality":"AUDIO","tokenCount":640}],
		"cacheTokensDetails":[{"modality":"AUDIO","tokenCount":100}]}`)}
	if u := s.Counted(); !u.HasAudio || u.Audio != 640 || u.CachedAudio != 100 || u.Input != 652 {
		t.Errorf("%+v", u)
	}
}
