package requests

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
)

func TestMalformedHTTPIsRefused(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t)
	for name, head := range map[string]string{
		"two lengths":            "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
		"bad length":             "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n{}",
		"unknown coding":         "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, x\r\n\r\n{}",
		"no host":                "GET /health HTTP/1.1\r\n\r\n",
		"folded header":          "GET /health HTTP/1.1\r\n folded\r\nHost: x\r\n\r\n",
		"header with a new line": "GET /health HTTP/1.1\r\nHost: x\r\nX-A: a\nb\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			_ = conn.SetDeadline(time.Now().Add(gatewaytest.Patience))
			_, _ = io.WriteString(conn, head)
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				return // closing without an answer is as good
			}
			defer func() { _ = resp.Body.Close() }()
			if resp.StatusCode < 400 || resp.StatusCode == 500 {
				t.Errorf("status %d", resp.StatusCode)
			}
		})
	}
}

// sendRaw sends bytes unchanged. It returns the answers until the gateway closes
// the connection or has sent nothing for three seconds.
func sendRaw(t testing.TB, p *gatewaytest.Program, text string) (answers []gatewaytest.Answer, closed bool) {
	t.Helper()
	const timeout = 3 * time.Second
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetWriteDeadline(time.Now().Add(10 * time.Second))
	_, _ = io.WriteString(conn, text) // the gateway may close before it has read all
	reader := bufio.NewReader(conn)
	for {
		_ = conn.SetReadDeadline(time.Now().Add(timeout))
		resp, err := http.ReadResponse(reader, nil)
		if err != nil {
			network, ok := errors.AsType[net.Error](err)
			return answers, !ok || !network.Timeout()
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		answers = append(answers, gatewaytest.Answer{Status: resp.StatusCode, Header: resp.Header, Body: string(body), Err: err})
	}
}

const (
	// postHead begins the header of a chat request.
	postHead = "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
	// probeHead begins the header of a request that always succeeds.
	probeHead = "GET /livez HTTP/1.1\r\nHost: x\r\n"
	// smuggled is a second request, if the bytes before it are read as shorter
	// than they are.
	smuggled = probeHead + "Connection: close\r\n\r\n"
)

// chunked is a body in one chunk.
func chunked(body string) string { return fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body) }

func contentLength(n int) string { return "Content-Length: " + strconv.Itoa(n) + "\r\n" }

func TestAmbiguousRequestsEndTheirConnection(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "SIMULATOR=true")
	whole, chunks := gatewaytest.HelloRequest+smuggled, chunked(gatewaytest.HelloRequest)+smuggled
	for name, tt := range map[string]struct {
		text   string
		status []int
	}{
		"a length and chunks":             {postHead + contentLength(4) + "Transfer-Encoding: chunked\r\n\r\n" + chunks, []int{200, 400}},
		"chunks and a length":             {postHead + "Transfer-Encoding: chunked\r\n" + contentLength(len(gatewaytest.HelloRequest)) + "\r\n" + chunks, []int{200, 400}},
		"folded chunks and a length":      {postHead + "Transfer-Encoding:\r\n chunked\r\n" + contentLength(4) + "\r\n" + chunks, []int{200, 400}},
		"a length and folded chunks":      {postHead + contentLength(4) + "Transfer-Encoding:\r\n\tchunked\r\n\r\n" + chunks, []int{200, 400}},
		"two lengths":                     {postHead + contentLength(len(gatewaytest.HelloRequest)) + contentLength(4) + "\r\n" + whole, []int{400}},
		"a list of lengths":               {postHead + fmt.Sprintf("Content-Length: %d, 4\r\n\r\n", len(gatewaytest.HelloRequest)) + whole, []int{400}},
		"a length with a sign":            {postHead + fmt.Sprintf("Content-Length: +%d\r\n\r\n", len(gatewaytest.HelloRequest)) + whole, []int{400}},
		"a length in hex":                 {postHead + fmt.Sprintf("Content-Length: 0x%x\r\n\r\n", len(gatewaytest.HelloRequest)) + whole, []int{400}},
		"a length below zero":             {postHead + "Content-Length: -1\r\n\r\n" + whole, []int{400}},
		"an empty length":                 {postHead + "Content-Length: \r\n\r\n" + whole, []int{400}},
		"a length that overflows":         {postHead + "Content-Length: 18446744073709551617\r\n\r\n" + whole, []int{400}},
		"chunked, x":                      {postHead + "Transfer-Encoding: chunked, x\r\n\r\n" + chunks, []int{400, 501}},
		"x, chunked":                      {postHead + "Transfer-Encoding: x, chunked\r\n\r\n" + chunks, []int{400, 501}},
		"chunked twice":                   {postHead + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks, []int{400, 501}},
		"identity":                        {postHead + "Transfer-Encoding: identity\r\n" + contentLength(len(gatewaytest.HelloRequest)) + "\r\n" + whole, []int{400, 501}},
		"xchunked":                        {postHead + "Transfer-Encoding: xchunked\r\n\r\n" + chunks, []int{400, 501}},
		"a space before the colon":        {postHead + "Transfer-Encoding : chunked\r\n\r\n" + chunks, []int{400}},
		"a vertical tab":                  {postHead + "Transfer-Encoding: \x0bchunked\r\n\r\n" + chunks, []int{400, 501}},
		"a chunk's size ended by LF":      {postHead + "Transfer-Encoding: chunked\r\n\r\n" + strings.Replace(chunks, "\r\n", "\n", 1), []int{400}},
		"LF in a chunk's extension":       {postHead + "Transfer-Encoding: chunked\r\n\r\n" + strings.Replace(chunks, "\r\n", ";a\nb\r\n", 1), []int{400}},
		"a chunk's size overflows":        {postHead + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n" + whole, []int{400}},
		"a chunk's size below zero":       {postHead + "Transfer-Encoding: chunked\r\n\r\n-1\r\n" + whole, []int{400}},
		"chunks in HTTP/1.0":              {strings.Replace(postHead, "1.1", "1.0", 1) + "Transfer-Encoding: chunked\r\n\r\n" + chunks, []int{400}},
		"chunks and a length in HTTP/1.0": {strings.Replace(postHead, "1.1\r\n", "1.0\r\nConnection: keep-alive\r\n", 1) + "Transfer-Encoding: chunked\r\n" + contentLength(5) + "\r\n" + chunks, []int{400}},
		"chunks kept alive in HTTP/1.0":   {strings.Replace(postHead, "1.1\r\n", "1.0\r\nConnection: keep-alive\r\n", 1) + "Transfer-Encoding: chunked\r\n\r\n" + chunks, []int{400}},
		"a fold before all names":         {"GET /livez HTTP/1.1\r\n folded: x\r\nHost: x\r\n\r\n" + smuggled, []int{400}},
		"CR inside a value":               {probeHead + "X-A: a\rb\r\n\r\n" + smuggled, []int{400}},
		"NUL inside a value":              {probeHead + "X-A: a\x00b\r\n\r\n" + smuggled, []int{400}},
		"a name with a space":             {probeHead + "X A: a\r\n\r\n" + smuggled, []int{400}},
		"a line without a colon":          {probeHead + "X-A\r\n\r\n" + smuggled, []int{400}},
		"two hosts":                       {probeHead + "Host: y\r\n\r\n" + smuggled, []int{400}},
		"no host":                         {"GET /livez HTTP/1.1\r\n\r\n" + smuggled, []int{400}},
		"HTTP/3 on the line":              {"GET /livez HTTP/3.0\r\nHost: x\r\n\r\n" + smuggled, []int{505}},
		"no version":                      {"GET /livez\r\n\r\n" + smuggled, []int{400}},
	} {
		t.Run(name, func(t *testing.T) {
			answers, closed := sendRaw(t, p, tt.text)
			if len(answers) > 1 || !closed {
				t.Fatalf("%d answers, closed %v: what follows on the connection is taken for a request", len(answers), closed)
			}
			if len(answers) == 0 {
				return // closing without an answer is as good
			}
			if a := answers[0]; !slices.Contains(tt.status, a.Status) || a.Err != nil {
				t.Errorf("%d %s (%v)", a.Status, a.Body, a.Err)
			}
		})
	}
}

func TestFoldedHeaderLineIsOneValue(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "SIMULATOR=true", "REQUIRE_AUTH=true", gatewaytest.JWTSecret)
	_, key := p.CreateKey(t, p.Login(t))
	const list = "GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
	for name, tt := range map[string]struct {
		text   string
		status int
	}{
		"not folded":                 {list + "X-API-Key: " + key + "\r\n\r\n", 200},
		"a credential inside a fold": {list + "X-A: a\r\n X-API-Key: " + key + "\r\n\r\n", 401},
		"a fold behind a credential": {list + "X-API-Key: " + key + "\r\n b\r\n\r\n", 401},
	} {
		answers, _ := sendRaw(t, p, tt.text)
		if len(answers) != 1 || answers[0].Status != tt.status {
			t.Errorf("%s: %+v", name, answers)
		}
	}
}

func TestHeadersBeyondTheirBoundAreRefused(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "SIMULATOR=true")
	lines := func(n, size int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "X-%04d: %s\r\n", i, strings.Repeat("v", size))
		}
		return b.String()
	}
	const end = "Connection: close\r\n\r\n"
	for name, tt := range map[string]struct {
		text   string
		status int
		ours   bool // refused by the gateway and not by net/http
	}{
		"31 KiB in one line":   {probeHead + lines(1, 31<<10) + end, 200, false},
		"31 KiB in many lines": {probeHead + lines(31<<10/100, 90) + end, 200, false},
		"33 KiB in one line":   {probeHead + lines(1, 33<<10) + end, 431, true},
		"33 KiB in many lines": {probeHead + lines(33<<10/100, 90) + end, 431, true},
		"33 KiB of names":      {probeHead + lines(33<<10/10, 0) + end, 431, true},
		"33 KiB of query":      {"GET /livez?" + strings.Repeat("q", 33<<10) + " HTTP/1.1\r\nHost: x\r\n" + end, 431, true},
		"200 KiB in one line":  {probeHead + lines(1, 200<<10) + end, 431, false},
		"200 KiB of query":     {"GET /livez?" + strings.Repeat("q", 200<<10) + " HTTP/1.1\r\nHost: x\r\n" + end, 431, false},
	} {
		answers, closed := sendRaw(t, p, tt.text)
		if !closed {
			t.Errorf("%s: the connection is kept", name)
		}
		if len(answers) == 0 && tt.status == 431 && !tt.ours {
			continue // cut while it was still sending
		}
		if len(answers) != 1 || answers[0].Status != tt.status {
			t.Errorf("%s: %+v", name, answers)
			continue
		}
		if tt.ours && answers[0].APIError(t).Code != "request_too_large" {
			t.Errorf("%s: %s", name, answers[0].Body)
		}
	}
	if a := p.Get(t, "/livez"); a.Status != 200 {
		t.Errorf("afterwards: %d", a.Status)
	}
}

func TestNoPathSpellingBypassesAuthentication(t *testing.T) {
	t.Parallel()
	p := gatewaytest.Start(t, "SIMULATOR=true", "REQUIRE_AUTH=true", gatewaytest.JWTSecret)
	_, key := p.CreateKey(t, p.Login(t))
	ask := func(method, target, headers, body string) (gatewaytest.Answer, bool) {
		answers, _ := sendRaw(
			t,
			p,
			method+" "+target+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n"+headers+contentLength(
				len(body),
			)+"\r\n"+body,
		)
		if len(answers) != 1 {
			return gatewaytest.Answer{}, false
		}
		return answers[0], true
	}
	spellings := func(path string) []string {
		first, rest, _ := strings.Cut(path[1:], "/")
		return []string{
			path, path + "/", "/" + path, "/" + first + "//" + rest, "/./" + path[1:], "/health/.." + path, "/health/%2e%2e" + path, "/%2e" + path, "/" + first + "/%2e/" + rest,
			"/" + first + "%2f" + rest, "/%" + fmt.Sprintf("%x", first[0]) + first[1:] + "/" + rest, path + ";x", path + "%3bx", path + "%00", path + "%20", path + "%0a", path + "?x=/health", path + "#health",
			path + "%2f..%2f..%2fhealth", "/health/;/.." + path, "/health%3f" + path, "/" + strings.ToUpper(path[1:]), `/\` + path[1:], strings.ReplaceAll(path, "/", `\`), path[1:], "http://x" + path, "http://x/" + path, "//x" + path, "*",
		}
	}
	for _, guarded := range []struct{ method, path, body string }{
		{"POST", "/v1/chat/completions", gatewaytest.HelloRequest}, {"GET", "/v1/models", ""}, {"GET", "/v1/models/gpt-4", ""}, {"HEAD", "/v1/models", ""}, {"GET", "/auth/keys", ""},
	} {
		for _, target := range spellings(guarded.path) {
			if a, ok := ask(guarded.method, target, "", guarded.body); ok && a.Status < 400 {
				t.Errorf("%s %s: %d without a credential", guarded.method, target, a.Status)
			}
		}
	}
	for _, target := range []string{"/v1/models", "http://x/v1/models", "/v1/models?x=/health"} {
		if a, ok := ask("GET", target, "X-API-Key: "+key+"\r\n", ""); !ok || a.Status != 200 {
			t.Errorf("%s with a key: %d %s", target, a.Status, a.Body)
		}
	}
}
