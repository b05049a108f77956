package archive

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// random matches what the gateway makes anew for each call: ids, which end in at least sixteen letters and digits.
var random = regexp.MustCompile(`\b[a-z]+(?:_[a-z]+)*[_-][A-Za-z0-9]{16,}`)

// sealed matches what the gateway seals into an upstream's ids.
var sealed = regexp.MustCompile(`_mgw[A-Za-z0-9_-]{20,}`)

// carried matches thoughts that a client carries for the gateway, which name its ids.
var carried = regexp.MustCompile(`mgw1\.[A-Za-z0-9_-]+`)

// seconds matches Unix times of this century.
var seconds = regexp.MustCompile(`\b[12]\d{9}\b`)

// plain is what is the same in each run of what clients and upstreams see: ids that are in none of the texts that are known
// become numbers, in their order, and times of now a word.
func plain(text string, known ...string) string {
	text = carried.ReplaceAllStringFunc(text, func(s string) string {
		inside, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(s, "mgw1."))
		if err != nil {
			return s
		}
		return "mgw1." + string(inside)
	})
	text = sealed.ReplaceAllString(text, "_mgw<sealed>")
	numbers := map[string]string{}
	text = random.ReplaceAllStringFunc(text, func(id string) string {
		if slices.ContainsFunc(known, func(k string) bool { return strings.Contains(k, id) }) {
			return id
		}
		if numbers[id] == "" {
			kind := id[:strings.LastIndexAny(id, "_-")+1]
			numbers[id] = fmt.Sprintf("%s#%d", kind, len(numbers)+1)
		}
		return numbers[id]
	})
	return seconds.ReplaceAllStringFunc(text, func(s string) string {
		at, _ := strconv.ParseInt(s, 10, 64)
		if time.Since(time.Unix(at, 0)).Abs() > time.Hour {
			return s
		}
		return "<now>"
	})
}

// silent are headers of the connection, not of the answer, and times that it took.
var silent = []string{"Content-Length", "Date", "Connection", "Transfer-Encoding", "Accept-Encoding", "User-Agent", "Openai-Processing-Ms"}

// headers are those of an answer or a request, by name.
func headers(all http.Header) string {
	var lines []string
	for name, values := range all {
		if !slices.Contains(silent, name) {
			lines = append(lines, name+": "+strings.Join(values, ", "))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
