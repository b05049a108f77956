//go:build !race

package chat

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"modelgateway/dialects/body"
)

// manyMembers are bodies with n unknown members, by where these stand.
func manyMembers(n int) map[string]string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, `,"m%d":1`, i)
	}
	return map[string]string{
		"of the request": `{"model":"m","messages":[{"role":"user","content":"a"}]` + all.String() + `}`,
		"of a message":   `{"model":"m","messages":[{"role":"user","content":"a"` + all.String() + `}]}`,
		"of a part":      `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a"` + all.String() + `}]}]}`,
	}
}

// prepared makes the common form of a body and names what it cannot hold.
func prepared(t *testing.T, body string) []string {
	t.Helper()
	req, err := Decode(nil, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := req.Source.Conversation(); err != nil {
		t.Fatal(err)
	}
	return req.Source.Ignored(nil)
}

func TestUnknownMembersAreNamedInTheTimeThatReadingThemTakes(t *testing.T) {
	const few, times = 5_000, 16
	took := func(body string) time.Duration {
		began := time.Now()
		prepared(t, body)
		return time.Since(began)
	}
	more := manyMembers(few * times)
	for where, body := range manyMembers(few) {
		short, long := time.Hour, time.Hour
		// On a machine with other work a measurement may be too long, never too short.
		for began := time.Now(); long > 8*times*short && time.Since(began) < 10*time.Second || short == time.Hour; {
			short, long = min(short, took(body)), min(long, took(more[where]))
		}
		if long > 8*times*short {
			t.Errorf("members %s: %d take %s, %d times as many %s", where, few, short, times, long)
		}
	}
}

// The header that names them has room for less; beyond that a name costs nothing.
func TestIgnoredNamesAreBounded(t *testing.T) {
	for where, text := range manyMembers(100_000) {
		var names []string
		took := allocated(func() { names = prepared(t, text) })
		if len(names) != body.MaxNames {
			t.Errorf("members %s: %d names", where, len(names))
		}
		if most := int64(30 * len(text)); took > most {
			t.Errorf("members %s: %d KiB were allocated for %d KiB", where, took>>10, len(text)>>10)
		}
	}
	long := strings.Repeat("a", 1<<20)
	names := prepared(t, `{"model":"m","messages":[{"role":"user","content":"a","`+long+`":1}],"`+long+`":1}`)
	if len(names) != 2 || len(names[0]) > 200 || len(names[1]) > 200 {
		t.Errorf("%d names, %.300q", len(names), names)
	}
}

func TestIgnoredNamesComeInTheOrderOfTheBody(t *testing.T) {
	names := prepared(t, `{"z":1,"messages":[{"role":"user","content":"a","y":1,"b":2,"null":null}],"model":"m","none":[ ],"some":[ 1 ],`+
		`"store":false,"a\u0062":{},"null":null}`)
	if want := []string{"z", "messages[].b", "messages[].y", "some", "ab"}; !slices.Equal(names, want) {
		t.Errorf("%q, not %q", names, want)
	}
}
