package tokens

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"modelgateway/dialects/chat"
	"modelgateway/dialects/messages"
	"modelgateway/dialects/responses"
	"modelgateway/llm"
)

// captured are the requests of real clients, by their files.
func captured(t testing.TB) map[string]*llm.Request {
	t.Helper()
	all := map[string]*llm.Request{}
	for pattern, decode := range map[string]func(body []byte) (*llm.Request, error){
		"../../dialects/messages/testdata/requests/*.json":   func(b []byte) (*llm.Request, error) { return messages.DecodeCount(nil, b) },
		"../../providers/anthropic/testdata/requests/*.json": func(b []byte) (*llm.Request, error) { return messages.DecodeCount(nil, b) },
		"../../dialects/responses/testdata/requests/*.json":  func(b []byte) (*llm.Request, error) { return responses.Decode(nil, b) },
	} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			body, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			r, err := decode(body)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			all[file] = r
		}
	}
	return all
}

func jsonOf(t testing.TB, value any) []byte {
	t.Helper()
	body, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// The vocabularies count a text without the schema of the answer, and without tools that run at a provider.
func TestAnEstimateFromBytesIsWithin15PercentOfTheVocabularys(t *testing.T) {
	e := theEstimator()
	n := 0
	for file, r := range captured(t) {
		size := r.Source.Size()
		if size.Shaped || size.Hosted || size.Bytes < 500 {
			continue
		}
		openai, err := e.ForOpenAI(r, true)
		if err != nil {
			t.Fatal(err)
		}
		claude, err := e.AtLeast(r, true)
		if err != nil {
			t.Fatal(err)
		}
		common, err := e.Prompt(r)
		if err != nil {
			t.Fatal(err)
		}
		for v, want := range map[llm.Vocabulary]int64{llm.TokensOpenAI: openai, llm.TokensClaude: claude, llm.TokensCommon: common} {
			if got := FromBytes(r, v, true); got < want*85/100 || got > want*115/100 {
				t.Errorf("%s: %d tokens of vocabulary %d, not %d", file, got, v, want)
			}
			n++
		}
	}
	if n < 3*10 {
		t.Errorf("only %d are compared", n)
	}
}

func TestTextsOfAllKindsAreWeighed(t *testing.T) {
	e := theEstimator()
	for name, text := range map[string]string{
		"English":  "The committee met in the morning, read the report of the last year, and decided to ask for a second opinion before it signed.",
		"German":   "Der Ausschuss traf sich am Morgen, las den Bericht des vergangenen Jahres und beschloss, vor der Unterschrift eine zweite Meinung einzuholen.",
		"Russian":  "Комитет собрался утром, прочитал отчёт за прошлый год и решил перед подписанием запросить второе мнение у независимых специалистов.",
		"Chinese":  "委员会早上开会，阅读了去年的报告，并决定在签字之前征求第二个意见，因为其中有些数字无法解释。",
		"Japanese": "委員会は朝に集まり、昨年の報告書を読み、署名する前に別の意見を求めることに決めました。いくつかの数字が説明できなかったからです。",
		"Korean":   "위원회는 아침에 모여 작년 보고서를 읽고 서명하기 전에 다른 의견을 구하기로 결정했다. 일부 숫자를 설명할 수 없었기 때문이다.",
		"code":     "func (s *Store) Find(ctx context.Context, id string) (*Row, error) {\n\tvar row Row\n\tif err := s.db.First(&row, id).Error; err != nil {\n\t\treturn nil, err\n\t}\n\treturn &row, nil\n}\n",
		"JSON":     `{"id": 12345, "name": "report.txt", "size": 98304, "tags": ["draft", "2026"], "owner": {"id": 7, "active": true}}`,
	} {
		r, err := chat.Decode(nil, jsonOf(t, map[string]any{"model": "m", "messages": []map[string]any{{"role": "user", "content": strings.Repeat(text+" ", 20)}}}))
		if err != nil {
			t.Fatal(err)
		}
		want, err := e.Prompt(r)
		if got := FromBytes(r, llm.TokensCommon, false); err != nil || got < want*75/100 || got > want*130/100 {
			t.Errorf("%s: %d tokens, not %d, %v", name, got, want, err)
		}
	}
}

// Escapes are what they stand for, and media and names of objects are no text.
func TestOnlyTextIsWeighed(t *testing.T) {
	count := func(body string) int64 {
		r, err := messages.DecodeCount(nil, []byte(body))
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		return FromBytes(r, llm.TokensCommon, false) - tokensPerMedia*int64(r.Source.Size().Media)
	}
	plain := count(`{"model":"m","messages":[{"role":"user","content":"日本 says: hello"}]}`)
	for _, same := range []string{
		`{"model":"m","messages":[{"role":"user","content":"\u65e5\u672c says: hello"}]}`,
		`{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"日本 says: hello","cache_control":{"type":"ephemeral"}}]}]}`,
		`{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"日本 says: hello"},{"type":"image","source":{"type":"base64",` +
			`"media_type":"image/png","data":"` + strings.Repeat("QUJD", 1000) + `"}}]}]}`,
		`{"model":"m","metadata":{"user_id":"a long name that no model reads"},"messages":[{"role":"user","content":"日本 says: hello"}]}`,
	} {
		if got := count(same); got != plain {
			t.Errorf("%.120s: %d tokens, not %d", same, got, plain)
		}
	}
	if bad := count(`{"model":"m","messages":[{"role":"user","content":"\"\\\/\ud83d\ude00"}]}`); bad < 4 || bad > 12 {
		t.Errorf("%d tokens of escapes", bad)
	}
}

func FuzzFromBytes(f *testing.F) {
	f.Add(`{"model":"m","messages":[{"role":"user","content":"a\\u12 \"b"}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		r, err := chat.Decode(nil, []byte(body))
		if err != nil {
			return
		}
		for _, v := range []llm.Vocabulary{llm.TokensCommon, llm.TokensOpenAI, llm.TokensClaude} {
			if n := FromBytes(r, v, true); n < 0 {
				t.Errorf("%d tokens", n)
			}
		}
	})
}

func BenchmarkFromBytes(b *testing.B) {
	body := jsonOf(b, map[string]any{"model": "m", "messages": []map[string]any{
		{"role": "user", "content": strings.Repeat("The committee met in the morning and read the report.\n\tif err != nil {\n", 1<<20/72)},
	}})
	r, err := chat.Decode(nil, body)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		FromBytes(r, llm.TokensOpenAI, true)
	}
}

func TestEstimatesAreCorrectedByCounts(t *testing.T) {
	var c Corrections
	if n, known := c.Correct("m", 1000); n != 1000 || known {
		t.Errorf("%d, %v", n, known)
	}
	c.Observe("m", 0, 5)
	c.Observe("m", 5, 0)
	if _, known := c.Correct("m", 1000); known {
		t.Error("nothing has been counted")
	}
	c.Observe("m", 1000, 700)
	if n, known := c.Correct("m", 2000); n != 1400 || !known {
		t.Errorf("%d, %v", n, known)
	}
	if n, known := c.Correct("other", 1000); n != 1000 || known {
		t.Errorf("%d, %v of another model", n, known)
	}
	for range 100 {
		c.Observe("m", 1000, 1200)
	}
	if n, _ := c.Correct("m", 1000); n < 1190 || n > 1200 {
		t.Errorf("%d after many counts", n)
	}
	for range 100 {
		c.Observe("m", 1, 1<<60)
	}
	if n, _ := c.Correct("m", 1000); n > 4000 {
		t.Errorf("%d after counts that cannot be", n)
	}
}
