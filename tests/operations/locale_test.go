package operations

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"modelgateway/tests/gatewaytest"
)

// TestTimeZoneAndLocaleChangeNoAnswer sends the same requests under two time zones
// and locales. Kathmandu is 5 h 45 min ahead of UTC; in Turkish the lower case of I
// has no dot, and the upper case of i has one.
func TestTimeZoneAndLocaleChangeNoAnswer(t *testing.T) {
	t.Parallel()
	places := map[string][]string{
		"here":  {"TZ=UTC", "LANG=C"},
		"there": {"TZ=Asia/Kathmandu", "LANG=tr_TR.UTF-8", "LC_ALL=tr_TR.UTF-8", "LANGUAGE=tr"},
	}
	said := map[string][]string{}
	for name, place := range places {
		p := gatewaytest.Launch(
			t,
			nil,
			append(place, "SIMULATOR=true", "REQUIRE_AUTH=true", gatewaytest.JWTSecret, "RATE_LIMIT_RPM=600",
				"ALLOWED_EMAIL_DOMAINS=ISIK.example,example.com", "JWT_EXPIRY_SECONDS=3600")...)
		if name == "there" && !strings.Contains(p.Log.String(), `+05:45"`) {
			t.Skip("this system does not know Kathmandu's time")
		}
		said[name] = accountLifecycle(t, p)
	}
	for i := range said["here"] {
		if here, there := said["here"][i], said["there"][i]; here != there {
			t.Errorf("answer %d\nhere  %s\nthere %s", i, here, there)
		}
	}
}

// variableMembers matches the members that differ between two runs.
var variableMembers = regexp.MustCompile(`"(id|key|prefix|token|user_id)":"[^"]*"|"(uptime)":\d+|"(expires_in)":3(599|600)\b`)

// accountLifecycle returns the answers that a user gets from registration to the
// list of keys, without what differs each time. It compares times with the clock.
func accountLifecycle(t *testing.T, p *gatewaytest.Process) []string {
	t.Helper()
	var all []string
	now := time.Now()
	say := func(method, path, body string, headers ...string) gatewaytest.Answer {
		a := p.Call(t, method, path, body, headers...)
		var times []string
		for _, at := range regexp.MustCompile(`"(created|created_at|last_used_at|expires_at)":(\d+)`).FindAllStringSubmatch(a.Body, -1) {
			if n, _ := strconv.ParseInt(at[2], 10, 64); path != "/v1/models" && (n < now.Unix()-5 || n > now.Unix()+3700) {
				times = append(times, at[0])
			}
		}
		if date, err := http.ParseTime(a.Header.Get("Date")); err != nil || date.Sub(now).Abs() > time.Minute {
			times = append(times, a.Header.Get("Date"))
		}
		if times != nil {
			t.Errorf("%s %s: times of another place: %s", method, path, times)
		}
		text := a.Body
		var value any
		if json.Unmarshal([]byte(text), &value) == nil { // the order of members does not matter
			sorted, _ := json.Marshal(value)
			text = string(sorted)
		}
		text = variableMembers.ReplaceAllString(text, "$1$2$3")
		if path != "/v1/models" {
			text = regexp.MustCompile(`":\d{9,}`).ReplaceAllString(text, `":time`)
		}
		all = append(
			all,
			fmt.Sprint(method, " ", path, " ", a.Status, " ", a.Header.Get("Content-Type"), " ", text),
		)
		return a
	}
	const account = `"email":"INCI.ISIK@ISIK.EXAMPLE","password":"correct horse battery"`
	say("POST", "/auth/register", `{"name":"İnci Işık",`+account+`}`)
	say("POST", "/auth/register", `{"name":"again",`+strings.ToLower(account)+`}`)
	say("POST", "/auth/register", `{"name":"dotless","email":"ıncı@ısık.example","password":"correct horse battery"}`)
	login := say("POST", "/auth/login", `{"email":"inci.isik@isik.example","password":"correct horse battery"}`)
	token := []string{"Authorization", "BEARER " + gatewaytest.Field(t, login, "token")}
	key := gatewaytest.Field(t, say("POST", "/auth/keys", `{"name":"IİıiI"}`, token...), "key")
	say("POST", "/v1/chat/completions", gatewaytest.HelloRequest, "X-API-Key", key)
	say("POST", "/v1/chat/completions", strings.Replace(gatewaytest.HelloRequest, "{", `{"stream":true,"temperature":0.5,`, 1), "X-API-Key", key)
	say("POST", "/v1/chat/completions", `{"model":"GPT-4",`+gatewaytest.HiMessages+`}`, "X-API-Key", key)
	say("POST", "/v1/chat/completions", `{"model":"gpt-6-sol","temperature":0,5,`+gatewaytest.HiMessages+`}`, "X-API-Key", key)
	say("GET", "/v1/models", "", "X-API-Key", key)
	gatewaytest.Until(t, "both calls are in the ledger", func() bool {
		return strings.Contains(p.Call(t, "GET", "/v1/usage", "", token...).Body, `"calls":2,`)
	})
	say("GET", "/auth/keys", "", token...)
	say("GET", "/health", "")
	say("GET", "/V1/MODELS", "")
	return all
}
