package chat

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/llm"
)

// told is a stream with everything that stands outside OpenAI's own members.
func told(yield func(*llm.Event, error) bool) {
	e := llm.NewEmitter(yield, llm.Head{ID: "a", Model: "m", Created: 7})
	e.Text(0, "Ebb at six.")
	e.Citations(0, []llm.Citation{{End: 11, URL: "https://example.com/tides", Title: "Tides", Quote: "six"}})
	e.Media(0, &llm.Media{Kind: llm.Image, URL: "data:image/png;base64,AA=="})
	e.Media(0, &llm.Media{Kind: llm.Audio, Data: "AQ==", Format: "audio/L16;rate=24000"})
	e.Media(0, &llm.Media{Kind: llm.Audio, Data: "Ag==", Format: "audio/L16;rate=24000"})
	e.Media(0, &llm.Media{Kind: llm.Audio, Data: "Aw==", Format: "mp3"})
	e.Media(0, &llm.Media{Kind: llm.File, URL: "data:video/mp4;base64,AA=="})
	e.Citations(0, []llm.Citation{{Start: 4, End: 6, Title: "log.txt", Native: jsontext.Value(`{"type":"page_location"}`)}})
	e.Finish(0, llm.Ending{
		Finish: llm.FinishContentFilter, NativeReason: "refusal", StopSequence: "END", StopDetails: jsontext.Value(`{"category":"bio"}`),
		Safety: jsontext.Value(`[{"probability":"LOW"}]`),
	})
}

const (
	toldEnding = `"native_finish_reason":"refusal","stop_reason":"END","stop_details":{"category":"bio"},` +
		`"safety_ratings":[{"probability":"LOW"}]`
	toldWeb = `"type":"url_citation","url_citation":{"start_index":0,"end_index":11,"title":"Tides","url":"https://example.com/tides",` +
		`"content":"six"}}`
	toldFile = `"type":"file_citation","file_citation":{"start_index":4,"end_index":6,"title":"log.txt",` +
		`"location":{"type":"page_location"}}}`
)

func TestWhatAProviderTellsBesidesIsWrittenInAStream(t *testing.T) {
	const head = `data: {"id":"a","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{`
	want := []string{
		`"role":"assistant","content":""},"finish_reason":null}]}`, `"content":"Ebb at six."},"finish_reason":null}]}`,
		`"annotations":[{"index":0,` + toldWeb + `]},"finish_reason":null}]}`,
		`"images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="},"index":0}]},"finish_reason":null}]}`,
		`"audio":{"id":"ID","data":"AQ==","expires_at":7,"transcript":"","format":"audio/L16;rate=24000"}},"finish_reason":null}]}`,
		`"audio":{"data":"Ag=="}},"finish_reason":null}]}`,
		`"files":[{"index":0,"type":"file","file":{"file_data":"data:audio/mp3;base64,Aw=="}}]},"finish_reason":null}]}`,
		`"files":[{"index":1,"type":"file","file":{"file_data":"data:video/mp4;base64,AA=="}}]},"finish_reason":null}]}`,
		`"annotations":[{"index":1,` + toldFile + `]},"finish_reason":null}]}`,
		`},"finish_reason":"content_filter",` + toldEnding + `}]}`,
	}
	got := strings.Split(strings.TrimSuffix(written(t, new(llm.Request), told), "\n\ndata: [DONE]\n\n"), "\n\n")
	if len(got) != len(want) {
		t.Fatalf("%d chunks, want %d: %q", len(got), len(want), got)
	}
	for i := range want {
		if got := withoutSoundID(strings.TrimPrefix(got[i], head)); got != want[i] {
			t.Errorf("chunk %d is\n%s\nwant\n%s", i, got, want[i])
		}
	}
}

func TestWhatAProviderTellsBesidesIsWrittenInAWholeAnswer(t *testing.T) {
	answer, err := llm.Collect(told)
	if err != nil {
		t.Fatal(err)
	}
	got, err := AppendAnswer(nil, new(llm.Request), answer)
	want := `"choices":[{"index":0,"message":{"role":"assistant","content":"Ebb at six.","refusal":null,` +
		`"images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}],` +
		`"annotations":[{` + toldWeb + `,{` + toldFile + `],` +
		`"audio":{"id":"ID","data":"AQI=","expires_at":7,"transcript":"","format":"audio/L16;rate=24000"},` +
		`"files":[{"type":"file","file":{"file_data":"data:audio/mp3;base64,Aw=="}},{"type":"file",` +
		`"file":{"file_data":"data:video/mp4;base64,AA=="}}]},"finish_reason":"content_filter",` + toldEnding + `}]`
	if err != nil || !strings.Contains(withoutSoundID(string(got)), want) {
		t.Errorf("%s, %v\nwant %s", got, err, want)
	}
}

func TestJSONThatStrictClientsCannotReadIsNotPassedOn(t *testing.T) {
	twice := jsontext.Value(`{"a":1,"a":2}`)
	text := written(t, new(llm.Request), func(yield func(*llm.Event, error) bool) {
		e := llm.NewEmitter(yield, llm.Head{ID: "a", Model: "m", Created: 7})
		e.Citations(0, []llm.Citation{{Title: "t", Native: twice}})
		e.Finish(0, llm.Ending{Finish: llm.FinishStop, StopDetails: twice, Safety: jsontext.Value("[\"\xff\"]")})
	})
	if strings.Contains(text, `"a":1`) || strings.Contains(text, "safety") || !strings.Contains(text, `"title":"t"`) {
		t.Error(text)
	}
}

// withoutSoundID has ID in place of the id of a sound, which is random.
func withoutSoundID(text string) string {
	before, after, found := strings.Cut(text, `"id":"audio_`)
	if !found {
		return text
	}
	_, after, _ = strings.Cut(after, `"`)
	return before + `"id":"ID"` + after
}
