package gemini

import (
	"strings"
	"testing"

	"modelgateway/dialects/chat"
)

// told are a body's answers as a stream and whole.
func told(t *testing.T, request, stream, whole string) []*chat.Completion {
	t.Helper()
	return []*chat.Completion{complete(t, "gemini-2.5-flash", request, stream), complete(t, "gemini-2.5-flash", request, whole)}
}

const grounded = `,"groundingMetadata":{"webSearchQueries":["q"],"groundingChunks":[{"web":{"uri":"https://example.com/a","title":"A"}},` +
	`{"retrievedContext":{"title":"log.txt","text":"six","fileSearchStore":"stores/x"}},{"maps":{"uri":"https://example.com/m"}},` +
	`{"image":{}}],` +
	`"groundingSupports":[{"segment":{"startIndex":5,"endIndex":10,"text":"🎉!"},"groundingChunkIndices":[0,1]},` +
	`{"segment":{"partIndex":1,"endIndex":3,"text":"é"},"groundingChunkIndices":[2,3,9]},{"segment":{},"groundingChunkIndices":[0]}]}`

const groundedWant = `{"annotations":[` +
	`{"type":"url_citation","url_citation":{"start_index":4,"end_index":6,"title":"A","url":"https://example.com/a"}},` +
	`{"type":"file_citation","file_citation":{"start_index":4,"end_index":6,"title":"log.txt","content":"six"}},` +
	`{"type":"url_citation","url_citation":{"start_index":0,"end_index":3,"title":"","url":"https://example.com/m"}}]}`

func TestGroundingBecomesAnnotationsInCharacters(t *testing.T) {
	answers := told(t, ask,
		eventsOf(answerWith(`{"text":"Zo"}`, `,"groundingMetadata":{}`), answerWith(`{"text":"é 🎉!"}`, ""),
			answerWith(`{"text":"."}`, stop+grounded), answerWith(``, grounded)),
		answerWith(`{"text":"hm","thought":true},{"text":"Zoé 🎉!."}`, stop+grounded)) // part 1 begins where the text begins
	for _, c := range answers {
		if m := c.Choices[0].Message; *m.Content != "Zoé 🎉!." || string(m.Extra) != groundedWant {
			t.Errorf("%s\n%s\nwant\n%s", *m.Content, m.Extra, groundedWant)
		}
	}
}

func TestSourcesWithoutAPlaceAreToldWhereNoneHasOne(t *testing.T) {
	const metadata = `,"groundingMetadata":{"groundingChunks":[{"web":{"uri":"https://example.com/a","title":"A"}},{}]}`
	for _, c := range told(t, ask, eventsOf(answerWith(`{"text":"a"}`, metadata), answerWith(`{"text":"b"}`, stop+metadata)),
		answerWith(`{"text":"ab"}`, stop+metadata)) {
		const want = `{"annotations":[{"type":"url_citation","url_citation":{"start_index":0,"end_index":0,"title":"A",` +
			`"url":"https://example.com/a"}}]}`
		if got := string(c.Choices[0].Message.Extra); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestCitationMetadataBecomesAnnotations(t *testing.T) {
	for _, metadata := range []string{
		`,"citationMetadata":{"citationSources":[{"endIndex":2,"uri":"https://example.com/a","license":"MIT"},{"startIndex":1,"endIndex":2}]}`,
		`,"citationMetadata":{"citations":[{"endIndex":2,"uri":"https://example.com/a"}]}`,
	} {
		for _, c := range told(t, ask, eventsOf(answerWith(`{"text":"é"}`, metadata), answerWith(`{"text":"b"}`, stop)),
			answerWith(`{"text":"éb"}`, stop+metadata)) {
			const want = `{"annotations":[{"type":"url_citation","url_citation":{"start_index":0,"end_index":1,"title":"",` +
				`"url":"https://example.com/a"}}]}`
			if got := string(c.Choices[0].Message.Extra); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
	}
}

func TestMetadataThatCannotBeReadIsLeftOut(t *testing.T) {
	for _, metadata := range []string{
		`"groundingMetadata":7`, `"groundingMetadata":{"groundingChunks":5}`, `"citationMetadata":["x"]`, `"citationMetadata":{"citations":{}}`,
		`"groundingMetadata":null`, `"groundingMetadata":{"groundingSupports":[{"groundingChunkIndices":[-1,1e30]}]}`,
	} {
		for _, c := range told(t, ask, eventsOf(answerWith(`{"text":"a"}`, stop+","+metadata)), answerWith(`{"text":"a"}`, stop+","+metadata)) {
			if m := c.Choices[0].Message; *m.Content != "a" || len(m.Extra) > 0 {
				t.Errorf("%s: %q %s", metadata, *m.Content, m.Extra)
			}
		}
	}
}

func TestSourcesOfWordsBesideAnAnswerOfAFunction(t *testing.T) {
	const metadata = `,"citationMetadata":{"citations":[{"endIndex":2,"uri":"https://example.com/a"}]}`
	answer := complete(t, "gemini-2.5-flash", askFormatted, answerWith(`{"text":"Sure"},`+partial(`"name":"verdict","args":{"a":"x"}`),
		stop+metadata))
	if m := answer.Choices[0].Message; *m.Content != `{"a":"x"}` || len(m.Extra) > 0 {
		t.Errorf("%s %s", *m.Content, m.Extra)
	}
	answer = complete(t, "gemini-2.5-flash", askFormatted, answerWith(`{"text":"Sure"}`, stop+metadata))
	if m := answer.Choices[0].Message; *m.Content != `Sure` || !strings.Contains(string(m.Extra), "example.com") {
		t.Errorf("%s %s", *m.Content, m.Extra)
	}
}

func TestPlacesInLongTextsAreCountedInCharacters(t *testing.T) {
	for _, before := range []string{"", "abc", strings.Repeat("x", 5000)} {
		var w written
		text := before
		w.add(before)
		for i := range 3000 {
			piece := []string{"é", "a", "🎉", "–"}[i%4]
			text += piece
			w.add(piece)
		}
		chars := w.counter()
		n := 0
		for at := range text {
			if got := chars(at); got != n {
				t.Fatalf("byte %d is character %d, want %d", at, got, n)
			}
			n++
		}
		if chars(len(text)) != n || chars(len(text)+9) != n {
			t.Errorf("the end is %d, want %d", chars(len(text)), n)
		}
	}
}

func TestTheNativeReasonAndTheSafetyRatingsAreTold(t *testing.T) {
	const low, high = `[{"category":"HARM_CATEGORY_HARASSMENT","probability":"LOW"}]`,
		`[{"category":"HARM_CATEGORY_HARASSMENT","probability":"HIGH"}]`
	for name, tt := range map[string]struct{ stream, whole, want string }{
		"a reason": {eventsOf(answerWith(`{"text":"a"}`, `,"finishReason":"LANGUAGE"`)), answerWith(`{"text":"a"}`, `,"finishReason":"LANGUAGE"`),
			`{"native_finish_reason":"LANGUAGE"}`},
		"ratings": {eventsOf(answerWith(`{"text":"a"}`, `,"safetyRatings":`+low),
			answerWith(``, `,"finishReason":"SAFETY","safetyRatings":`+high)),
			answerWith(`{"text":"a"}`, `,"finishReason":"SAFETY","safetyRatings":`+high),
			`{"native_finish_reason":"SAFETY","safety_ratings":` + high + `}`},
		"a blocked prompt": {eventsOf(`{"promptFeedback":{"blockReason":"SAFETY","safetyRatings":` + high + `}}`),
			`{"promptFeedback":{"blockReason":"SAFETY","safetyRatings":` + high + `}}`,
			`{"native_finish_reason":"SAFETY","safety_ratings":` + high + `}`},
		"a message without a reason": {eventsOf(`{"promptFeedback":{"blockReasonMessage":"no"}}`),
			`{"promptFeedback":{"blockReasonMessage":"no"}}`, ``},
	} {
		for _, c := range told(t, ask, tt.stream, tt.whole) {
			if got := string(c.Choices[0].Extra); got != tt.want {
				t.Errorf("%s: %s, want %s", name, got, tt.want)
			}
		}
	}
	if got := complete(t, "gemini-2.5-flash", ask, answerWith(`{"text":"a"}`, "")).Choices[0]; len(got.Extra) > 0 ||
		got.FinishReason != "stop" {
		t.Errorf("without a reason: %s %s", got.FinishReason, got.Extra)
	}
}

func TestMediaGoWhereClientsLookForThem(t *testing.T) {
	const parts = `{"inlineData":{"mimeType":"image/png","data":"AA=="}},{"inlineData":{"mimeType":"audio/L16;rate=24000","data":"AQ=="}},` +
		`{"inlineData":{"mimeType":"audio/L16;rate=24000","data":"Ag=="}},{"inlineData":{"mimeType":"video/mp4","data":"Aw=="}}`
	streamed := complete(t, "gemini-2.5-flash", ask, eventsOf(answerWith(parts, stop)))
	whole := complete(t, "gemini-2.5-flash", ask, answerWith(strings.ReplaceAll(parts, "audio/L16;rate=24000", "Audio/WAV"), stop))
	for format, m := range map[string]chat.Answer{"audio/L16;rate=24000": streamed.Choices[0].Message, "wav": whole.Choices[0].Message} {
		if len(m.Images) != 1 || m.Images[0].ImageURL.URL != "data:image/png;base64,AA==" {
			t.Errorf("images %+v", m.Images)
		}
		extra := string(m.Extra)
		if !strings.Contains(extra, `"data":"AQI=","expires_at":1760000000,"transcript":"","format":"`+format+`"},"files":[{"type":"file",`+
			`"file":{"file_data":"data:video/mp4;base64,Aw=="}}]}`) || !strings.HasPrefix(extra, `{"audio":{"id":"audio_`) {
			t.Errorf("%s", extra)
		}
	}
}

func TestASignatureOfASoundCountsNoImage(t *testing.T) {
	got, err := show(t, ask, strings.NewReader(answerWith(`{"inlineData":{"mimeType":"image/png","data":"AA=="},"thoughtSignature":"one"},`+
		`{"inlineData":{"mimeType":"video/mp4","data":"AA=="},"thoughtSignature":"two"},`+
		`{"inlineData":{"mimeType":"image/png","data":"AA=="},"thoughtSignature":"three"}`, stop)))
	for _, want := range []string{"gemini-2.5-flash|0|one", "gemini-2.5-flash|two", "gemini-2.5-flash|1|three"} {
		if !strings.Contains(got, want) || err != nil {
			t.Errorf("%s is not in %s, %v", want, got, err)
		}
	}
}
