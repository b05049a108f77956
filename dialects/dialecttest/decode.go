package dialecttest

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/llm"
)

// Decode is a dialect's decoder.
type Decode = func(memory api.Memory, body []byte) (*llm.Request, error)

var update = flag.Bool("update", false, "write the golden files")

// Decoded is a request whose decoding must succeed.
func Decoded(t testing.TB, decode Decode, body string) *llm.Request {
	t.Helper()
	req, err := decode(nil, []byte(body))
	if err != nil {
		t.Fatalf("%v: %.300s", err, body)
	}
	return req
}

// Golden compares the requests of real clients in testdata, whose texts are shortened and in words of the project
// (tests/captures), with what the common form says of them.
func Golden(t *testing.T, least int, dump func(file string, body []byte) string) {
	files, err := filepath.Glob("testdata/requests/*.json")
	if err != nil || len(files) < least {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got := dump(file, body)
		golden := strings.TrimSuffix(strings.Replace(file, "requests", "conversations", 1), ".json") + ".txt"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil || got != string(want) {
			t.Errorf("%s: %v\n%s", file, err, got)
		}
	}
}

// Strict checks which code refuses a body: those of the dialect, and a request without its last brace with what is no JSON.
func Strict(t *testing.T, decode Decode, open string, own map[string]string) {
	bodies := map[string]string{}
	for _, body := range []string{
		``, `[]`, `null`, open, open + `} x`, open + `,"model":"m"}`, open + `,"mod\u0065l":"m"}`, open + `,"x":{"a":[{"b":1,"b":2}]}}`,
		open + `,"x":01}`, open + ",\"x\":\"\xff\"}", open + `,"x":"\ud800"}`,
		open + `,"x":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`,
	} {
		bodies[body] = api.CodeInvalidJSON
	}
	for body, code := range own {
		bodies[body] = code
	}
	for body, want := range bodies {
		_, err := decode(nil, []byte(body))
		if e := api.AsError(err); err == nil || e.Code != want || e.Status != 400 {
			t.Errorf("%.100s: %v", body, err)
		}
	}
	if _, err := decode(nil, []byte(open+"}")); err != nil {
		t.Errorf("%s}: %v", open, err)
	}
}

// Unjudged checks that a request with each of these members is taken as it is: a provider that speaks the dialect judges them.
func Unjudged(t *testing.T, decode Decode, open string, members ...string) {
	for _, member := range members {
		body := open + member + "}"
		req, err := decode(nil, []byte(body))
		if err != nil {
			t.Errorf("%s: %v", member, err)
			continue
		}
		if size := req.Source.Size(); size.Bytes <= 0 || string(req.Raw) != body {
			t.Errorf("%s: %+v", member, size)
		}
		for range req.Source.Texts() {
		}
	}
}

// FuzzDecode compares a decoder's one pass with the strict decoder. No conversation may panic, and each is the same whenever it
// is made. The seeds are those of the real clients' requests that are short: of a longer one the fuzzer tries little.
func FuzzDecode(f *testing.F, decode Decode, dump func(*llm.Request) string, seeds ...string) {
	files, _ := filepath.Glob("testdata/requests/*.json")
	for _, file := range files {
		if body, err := os.ReadFile(file); err == nil && len(body) < 2<<10 {
			f.Add(body)
		}
	}
	for _, body := range seeds {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		valid := jsontext.Value(body).IsValid()
		req, err := decode(nil, body)
		if err != nil {
			e := api.AsError(err)
			if valid && jsontext.Value(body).Kind() == '{' && e.Code == api.CodeInvalidJSON && !strings.Contains(e.Message, "deeper") {
				t.Fatalf("%q: %v", body, err)
			}
			return
		}
		if !valid {
			t.Fatalf("taken: %q", body)
		}
		first, err := req.Source.Conversation()
		for range req.Source.Texts() {
		}
		req.Source.Ignored([]llm.Field{llm.FieldTopK, llm.FieldTopP, llm.FieldPartType, llm.FieldThinking})
		again, _ := decode(nil, body)
		second, err2 := again.Source.Conversation()
		if (err == nil) != (err2 == nil) || !reflect.DeepEqual(first, second) || dump(req) != dump(again) {
			t.Fatalf("%q: %v, %v", body, err, err2)
		}
	})
}

// Repeated is an element n times, as a list has it, with its number for each # in it.
func Repeated(n int, element string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("," + strings.ReplaceAll(element, "#", strconv.Itoa(i)))
	}
	return b.String()[1:]
}

// room is memory of some bytes.
type room struct{ left, reserved int64 }

func (r *room) Reserve(bytes int64) error {
	if bytes > r.left {
		return errors.New("no room")
	}
	r.left, r.reserved = r.left-bytes, r.reserved+bytes
	return nil
}

// allocated is how many bytes f allocates.
func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// Reserved decodes wide requests, each of a list or an object with many elements: none that has no room, and with room a request
// and its conversation stay within what was reserved and twice the body.
func Reserved(t *testing.T, decode Decode, wide func(n int) map[string]string) {
	const most = 1 << 20
	for name, body := range wide(200_000) {
		text := []byte(body)
		var err error
		took := allocated(func() { _, err = decode(&room{left: most}, text) })
		if err == nil {
			t.Errorf("%s was decoded", name)
		}
		if took > 2*most {
			t.Errorf("%s: %d KiB were allocated, %d could be reserved", name, took>>10, most>>10)
		}
	}
	for name, body := range wide(900) {
		text := []byte(body)
		memory := &room{left: 1 << 30}
		took := allocated(func() {
			req, err := decode(memory, text)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			_, _ = req.Source.Conversation()
			req.Source.Ignored(nil)
		})
		const others = 64 << 10 // the reader, and the names of what is left out
		if bound := memory.reserved + 2*int64(len(text)) + others; took > bound {
			t.Errorf("%s: %d KiB were allocated, %d reserved for a body of %d", name, took>>10, memory.reserved>>10, len(text)>>10)
		}
	}
}
