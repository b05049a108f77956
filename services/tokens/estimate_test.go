package tokens

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"modelgateway/dialects/chat"
	"modelgateway/llm"
)

// theEstimator is one for all tests: its vocabulary takes a while to be made.
var theEstimator = sync.OnceValue(func() *Estimator { return new(Estimator) })

func TestTokensAreThoseOfThePublishedVocabulary(t *testing.T) {
	e := theEstimator()
	for text, want := range map[string]int{
		// OpenAI's cookbook, "How to count tokens with tiktoken", o200k_base.
		"tiktoken is great!":           6,
		"antidisestablishmentarianism": 6,
		"2 + 2 = 4":                    7,
		"お誕生日おめでとう":                    8,
		// Two common words, the second with its space.
		"hello world": 2,
		"":            0,
	} {
		if got, err := e.tokens(text); err != nil || got != want {
			t.Errorf("%q: %d tokens, not %d, %v", text, got, want, err)
		}
	}
}

func TestInvalidTextIsCounted(t *testing.T) {
	e := theEstimator()
	for _, text := range []string{"\xff", "hello\xffworld", "\xe4\xb8", strings.Repeat("\xff\xfe", 5000), "\x00", "<|endoftext|>", "\ud7ff"} {
		if n, err := e.tokens(text); err != nil || n < 1 || n > len(text)+2 {
			t.Errorf("%.20q: %d, %v", text, n, err)
		}
	}
}

// tokensOf is the tokens of texts, each of them by itself.
func tokensOf(t *testing.T, e *Estimator, texts ...string) (n int64) {
	t.Helper()
	for _, text := range texts {
		one, err := e.tokens(text)
		if err != nil {
			t.Fatal(err)
		}
		n += int64(one)
	}
	return n
}

func TestPromptIsEstimatedFromAllItsTexts(t *testing.T) {
	e := theEstimator()
	for _, tt := range []struct {
		body  string
		texts []string // that are counted one by one
		fixed int64    // three of the reply, three a message, a thousand a picture
	}{
		{`"messages":[{"role":"user","content":"hello world"}]`, []string{"user", "hello world"}, 6},
		{`"messages":[{"role":"user","content":""}]`, []string{"user"}, 6},
		{`"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"hi","name":"ada_b"}]`,
			[]string{"system", "Be brief.", "user", "hi", "ada_b"}, 9},
		// "hello" and "world" are not "helloworld".
		{`"messages":[{"role":"user","content":[{"type":"text","text":"hello"},{"type":"text","text":"world"}]}]`,
			[]string{"user", "hello", "world"}, 6},
		{`"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url",` +
			`"image_url":{"url":"https://example.com/a.png"}},{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}},{"type":"file",` +
			`"file":{"file_id":"f"}}]}]`,
			[]string{"user", "a"}, 6 + 3000},
		{`"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"refusal","refusal":"I cannot"}]},{"role":"user",` +
			`"content":"b"}]`, []string{"user", "a", "assistant", "I cannot", "user", "b"}, 12},
		{`"messages":[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function",` +
			`"function":{"name":"look_up","arguments":"{\"q\":\"tide tables\"}"}}]},{"role":"tool","tool_call_id":"c","content":"twice"}]`,
			[]string{"user", "a", "assistant", "look_up", `{"q":"tide tables"}`, "tool", "twice"}, 12},
		{`"messages":[{"role":"user","content":"a"},{"role":"assistant","content":null,"function_call":{"name":"look_up",` +
			`"arguments":"{\"q\":1}"}},{"role":"function","name":"look_up","content":"twice"}]`,
			[]string{"user", "a", "assistant", "look_up", `{"q":1}`, "function", "twice", "look_up"}, 12},
		{`"messages":[{"role":"user","content":"a"}],"tools":[{"type":"function","function":{"name":"look_up","description":"Looks it up.",` +
			`"parameters":{"type":"object","properties":{}}}}]`,
			[]string{"user", "a", "look_up", "Looks it up.", `{"type":"object","properties":{}}`}, 6},
		{`"messages":[{"role":"user","content":"a"}],"functions":[{"name":"look_up",` +
			`"description":"Looks it up.","parameters":{"type":"object"}}]`,
			[]string{"user", "a", "look_up", "Looks it up.", `{"type":"object"}`}, 6},
		{`"messages":[{"role":"user","content":"a"}],"tools":[{"type":"custom","custom":{"name":"sql"}}]`,
			[]string{"user", "a", `{"name":"sql"}`}, 6},
	} {
		r := decoded(t, `{"model":"m",`+tt.body+`}`)
		got, err := e.Prompt(r)
		if want := tokensOf(t, e, tt.texts...) + tt.fixed; err != nil || got != want {
			t.Errorf("%s: %d, not %d, %v", tt.body, got, want, err)
		}
	}
	if got, err := e.Prompt(&llm.Request{Kind: llm.KindChat, Source: new(chat.Request)}); err != nil || got != 3 {
		t.Errorf("of nothing: %d, %v", got, err)
	}
}

func TestPictureOfAModelIsCountedAsOneOfTheClient(t *testing.T) {
	e := theEstimator()
	r := &llm.Request{Kind: llm.KindChat, Source: &chat.Request{Messages: []chat.Message{{Role: "assistant", Images: make([]chat.Image, 2)}}}}
	if got, err := e.Prompt(r); err != nil || got != 6+2000+tokensOf(t, e, "assistant") {
		t.Errorf("%d, %v", got, err)
	}
}

func TestAnswerIsEstimatedFromAllItsTexts(t *testing.T) {
	stream := func(yield func(*llm.Event, error) bool) {
		e := llm.NewEmitter(yield, llm.Head{ID: "1", Model: "m"})
		e.Text(0, "hello")
		e.Refusal(0, "no")
		e.Thought(0, "think", nil)
		at, _ := e.Call(0, &llm.CallStart{ID: "call", Name: "f"})
		e.Input(0, at, "{}")
		e.Call(0, &llm.CallStart{Name: "g", Arguments: "[]"})
		e.Text(1, "hello")
	}
	whole, err := llm.Collect(stream)
	if err != nil {
		t.Fatal(err)
	}
	const want = `hellonothinkf{}g[]hello`
	var read, heard Sample
	read.AddAnswer(whole)
	for event := range stream {
		heard.AddEvent(event)
	}
	sorted := func(text []byte) string { // of a call the arguments may come before the name
		letters := strings.Split(string(text), "")
		slices.Sort(letters)
		return strings.Join(letters, "")
	}
	if sorted(read.text) != sorted([]byte(want)) || string(heard.text) != want || read.total != len(want) || heard.total != len(want) {
		t.Errorf("%q and %q, %d and %d", read.text, heard.text, read.total, heard.total)
	}
	for _, s := range []*Sample{&read, &heard} {
		s.Release()
	}
}

func TestStreamIsEstimatedAsItsWholeText(t *testing.T) {
	e := theEstimator()
	const text = "The tide comes in twice a day — два раза, 二回."
	var s Sample
	defer s.Release()
	for i := range len(text) { // also inside its characters
		s.add(text[i : i+1])
	}
	if got, err := e.Count(&s); err != nil || got != tokensOf(t, e, text) {
		t.Errorf("%d, %v", got, err)
	}
}

func TestLongTextIsEstimatedFromItsBeginning(t *testing.T) {
	e := theEstimator()
	_ = tokensOf(t, e, "the vocabulary is there")
	const line = "The tide comes in twice a day, and goes out as often. "
	for name, unit := range map[string]string{
		"prose": line, "one letter": "a", "spaces": " ", "lines": "\n", "digits": "7", "cut characters": "二",
	} {
		var sizes []int64
		for _, size := range []int{sampleSize, 1 << 20} {
			text := strings.Repeat(unit, size/len(unit))
			began := time.Now()
			parts := chat.Content{Parts: []chat.ContentPart{{Type: "text", Text: text}}}
			r := &llm.Request{Kind: llm.KindChat, Source: &chat.Request{Messages: []chat.Message{{Role: "user", Content: parts}}}}
			got, err := e.Prompt(r)
			if took := time.Since(began); err != nil || took > 5*time.Second { // all of it would take minutes
				t.Errorf("%s of %d bytes: %s, %v", name, size, took, err)
			}
			var s Sample
			s.add(text)
			alone, err := e.Count(&s)
			s.Release()
			if difference := max(got-alone, alone-got); err != nil || difference > got/50+10 {
				t.Errorf("%s of %d bytes: %d in a prompt and %d in an answer, %v", name, size, got, alone, err)
			}
			sizes = append(sizes, alone)
		}
		for i, factor := range []int64{1, 16} {
			if want := sizes[0] * factor; sizes[i] < want-want/100-factor || sizes[i] > want+want/100+factor {
				t.Errorf("%s: %d tokens, and %d times as long %d", name, sizes[0], factor, sizes[i])
			}
		}
	}
	// What is looked at is the beginning, of all texts together.
	texts := tally{estimator: e}
	texts.add(strings.Repeat(" hello", sampleSize/6))
	texts.add(strings.Repeat("?", 1<<20))
	if n, err := texts.sum(); err != nil || n < (1<<20)/6 || n > (1<<20+sampleSize)/6+10 {
		t.Errorf("%d, %v", n, err)
	}
}

func TestEmptyTextHasNoTokens(t *testing.T) {
	e := new(Estimator)
	var s Sample
	if n, err := e.Count(&s); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	s.add("")
	s.Release()
	s.add("hello")
	s.Release()
	if s.text != nil || s.total != 0 || s.pooled != nil {
		t.Errorf("%+v", s)
	}
}

func TestSamplesDoNotShareText(t *testing.T) {
	e := theEstimator()
	want := map[string]int64{}
	texts := []string{"hello world", strings.Repeat("The tide comes in. ", 50), "二回", "", strings.Repeat("x", 3000), "a b c d e f g"}
	for _, text := range texts {
		var s Sample
		s.add(text)
		n, err := e.Count(&s)
		if err != nil {
			t.Fatal(err)
		}
		want[text] = n
		s.Release()
	}
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for j := range 60 {
				text := texts[(i*7+j)%len(texts)]
				var s Sample
				for rest := text; rest != ""; {
					n := min(len(rest), 1000)
					s.add(rest[:n])
					rest = rest[n:]
				}
				if n, err := e.Count(&s); err != nil || n != want[text] {
					t.Errorf("%.20q: %d, not %d, %v", text, n, want[text], err)
				}
				if s.Release(); j%5 == 0 {
					s.Release() // it has been given back already
				}
			}
		})
	}
	all.Wait()
}
