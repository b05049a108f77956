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

func TestSearchesAndMapsAreCounted(t *testing.T) {
	for metadata, want := range map[string][2]int64{ // searches, and answers with places of Google Maps
		`{"webSearchQueries":["a","b"],"groundingChunks":[{"web":{"uri":"https://example.com"}}]}`:           {2, 0},
		`{"groundingChunks":[{"web":{"uri":"https://example.com"}},{"maps":{"uri":"https://example.com"}}]}`: {0, 1},
		`{"groundingChunks":[{"maps":{"title":"A"}},{"maps":{"title":"B"}}],"webSearchQueries":["a"]}`:       {1, 1},
		`{}`: {0, 0},
	} {
		s := &stream{usage: jsontext.Value(`{"promptTokenCount":1}`), choices: make([]choice, 1)}
		s.choices[0].sources.grounded(&candidate{GroundingMetadata: jsontext.Value(metadata)}, true)
		if u := s.Counted(); u.Searches != want[0] || u.Tools != want[1] {
			t.Errorf("%s: %+v", metadata, u)
		}
	}
}
