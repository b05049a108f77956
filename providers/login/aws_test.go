package login_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"modelgateway/config"
	"modelgateway/providers/login"
)

const (
	keyID     = "AKIDEXAMPLE"
	secretKey = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
)

// aws makes a log-in that must be right.
func aws(t *testing.T, opts login.AWS) *login.AWSLogin {
	t.Helper()
	if opts.Region == "" {
		opts.Region = "us-east-1"
	}
	l, err := login.NewAWS(opts)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// static are the keys of AWS's own examples.
func static(token string) login.AWS {
	return login.AWS{AccessKeyID: keyID, SecretAccessKey: config.NewSecret(secretKey), SessionToken: config.NewSecret(token)}
}

// The vectors are of AWS's test suite (awslabs/aws-c-auth, tests/aws-signing-test-suite/v4, read
// in November 2026).
func TestSignaturesAreThoseOfTheTestSuite(t *testing.T) {
	const session = "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267"
	for name, c := range map[string]struct {
		request, token, signature string
		body                      []string
		header                    map[string]string
	}{
		"get-vanilla": {
			request:   "GET https://example.amazonaws.com/",
			signature: "host;x-amz-date, Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
		},
		"get-vanilla-with-session-token": {
			request: "GET https://example.amazonaws.com/", token: session,
			signature: "host;x-amz-date;x-amz-security-token, Signature=07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8",
		},
		"get-vanilla-query-order-encoded": {
			request:   "GET https://example.amazonaws.com/?Param-3=Value3&Param=Value2&%E1%88%B4=Value1",
			signature: "host;x-amz-date, Signature=371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac",
		},
		"post-x-www-form-urlencoded": {
			request: "POST https://example.amazonaws.com/", body: []string{"Param1", "=", "value1"},
			header: map[string]string{
				"Content-Type":         "application/x-www-form-urlencoded",
				"X-Amz-Content-Sha256": "9095672bbd1f56dfc5b65f3e153adc8731a4a654192329106275f4c7b24d0b6e",
			},
			signature: "content-length;content-type;host;x-amz-content-sha256;x-amz-date, " +
				"Signature=d3875051da38690788ef43de4db0d8f280229d82040bfac253562e56c3f20e0b",
		},
	} {
		t.Run(name, func(t *testing.T) {
			none(t)
			opts := static(c.token)
			opts.Service = "service"
			l := aws(t, opts)
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC)))
				method, address, _ := strings.Cut(c.request, " ")
				r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(strings.Join(c.body, "")))
				if err != nil {
					t.Fatal(err)
				}
				for name, value := range c.header {
					r.Header.Set(name, value)
				}
				var pieces [][]byte
				for _, piece := range c.body {
					pieces = append(pieces, []byte(piece))
				}
				if err := l.Sign(t.Context(), r, "", pieces); err != nil {
					t.Fatal(err)
				}
				want := "AWS4-HMAC-SHA256 Credential=" + keyID + "/20150830/us-east-1/service/aws4_request, SignedHeaders=" + c.signature
				if got := r.Header.Get("Authorization"); got != want {
					t.Errorf("got  %s\nwant %s", got, want)
				}
			})
		})
	}
}

// signature is how a service computes it from what has arrived, by the rules of the SigV4
// specification for all services but S3: each segment of the path is encoded once more.
func signature(r *http.Request, body []byte, secret string) string {
	sum := func(key []byte, text string) []byte {
		mac := hmac.New(sha256.New, key)
		_, _ = io.WriteString(mac, text)
		return mac.Sum(nil)
	}
	hash := func(b []byte) string { h := sha256.Sum256(b); return hex.EncodeToString(h[:]) }
	given := r.Header.Get("Authorization")
	_, rest, _ := strings.Cut(given, "Credential=")
	credential, rest, _ := strings.Cut(rest, ", SignedHeaders=")
	names, _, _ := strings.Cut(rest, ", Signature=")
	_, scope, _ := strings.Cut(credential, "/")

	path, query, _ := strings.Cut(r.RequestURI, "?")
	pairs := strings.Split(query, "&")
	slices.Sort(pairs)
	canonical := r.Method + "\n" + strings.NewReplacer("%", "%25", ":", "%3A").Replace(path) + "\n" + strings.Join(pairs, "&") + "\n"
	for name := range strings.SplitSeq(names, ";") {
		value := strings.Join(r.Header.Values(name), ",")
		switch name {
		case "host":
			value = r.Host
		case "content-length":
			value = fmt.Sprint(r.ContentLength)
		}
		canonical += name + ":" + value + "\n"
	}
	if missing := strings.Contains(canonical, ":\n"); missing {
		return "a header without a value is signed"
	}
	canonical += "\n" + names + "\n" + hash(body)
	part := strings.Split(scope, "/")
	key := sum(sum(sum(sum([]byte("AWS4"+secret), part[0]), part[1]), part[2]), part[3])
	text := "AWS4-HMAC-SHA256\n" + r.Header.Get("X-Amz-Date") + "\n" + scope + "\n" + hash([]byte(canonical))
	return hex.EncodeToString(sum(key, text))
}

func TestAServiceVerifiesTheSignature(t *testing.T) {
	none(t)
	var got, want string
	address, _ := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		want = signature(r, body, secretKey)
		_, got, _ = strings.Cut(r.Header.Get("Authorization"), "Signature=")
	})
	l := aws(t, static("session"))
	for _, path := range []string{
		"/model/anthropic.claude-opus-4-6-v1%3A0/invoke",
		"/model/anthropic.claude-opus-4-6-v1:0/converse",
		"/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Ainference-profile%2Fus.amazon.nova-pro-v1%3A0/converse-stream",
		"/foundation-models?byOutputModality=TEXT&byInferenceType=ON_DEMAND",
	} {
		pieces := [][]byte{[]byte(`{"messages":`), []byte(`[]`), []byte(`}`)}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address+path, bytes.NewReader(bytes.Join(pieces, nil)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header["User-Agent"] = []string{"modelgateway"}
		r.Header["X-Idempotency-Key"] = nil // as the client of all providers sets it
		if err := l.Sign(t.Context(), r, "", pieces); err != nil {
			t.Fatal(err)
		}
		if _, kept := r.Header["X-Idempotency-Key"]; !kept {
			t.Error("the header that keeps the transport from repeating a call is lost")
		}
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if got != want {
			t.Errorf("%s: the signature is %s, want %s", path, got, want)
		}
	}
}

func TestAWSRefusesWhatCannotWork(t *testing.T) {
	shared := "[default]\nregion = us-east-1\naws_access_key_id = AKIDDEFAULT\naws_secret_access_key = HUSH-of-the-file\n" +
		"[profile program]\nregion = us-east-1\ncredential_process = /bin/touch /tmp/ran\n" +
		"[profile behind]\nregion = us-east-1\nrole_arn = arn:aws:iam::123456789012:role/x\nsource_profile = program\n"
	for name, c := range map[string]struct {
		opts   login.AWS
		region string
		says   string
	}{
		"no such profile":            {opts: login.AWS{Profile: "absent"}, says: "AWS_PROFILE"},
		"a program":                  {opts: login.AWS{Profile: "program"}, says: "credential_process"},
		"a program behind a profile": {opts: login.AWS{Profile: "behind"}, says: "credential_process"},
		"half a key":                 {opts: login.AWS{AccessKeyID: keyID}, says: "both its id and its secret"},
		"the other half":             {opts: login.AWS{SecretAccessKey: config.NewSecret("HUSH")}, says: "both its id and its secret"},
		"tags without a role":        {opts: login.AWS{Tags: []string{"user"}}, says: "set a role"},
		"an unknown tag":             {opts: login.AWS{Role: "r", Tags: []string{"project"}}, says: `"project"`},
		"no region":                  {opts: static(""), says: "AWS_REGION"},
	} {
		t.Run(name, func(t *testing.T) {
			none(t)
			t.Setenv("AWS_CONFIG_FILE", write(t, "config", shared))
			if name == "no region" {
				t.Setenv("AWS_CONFIG_FILE", "")
			}
			l, err := login.NewAWS(c.opts)
			if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "HUSH") {
				t.Errorf("got %v and %v, want an error with %s", l, err, c.says)
			}
		})
	}
	none(t)
	t.Setenv("AWS_CONFIG_FILE", write(t, "config", shared))
	if _, err := login.NewAWS(login.AWS{}); err != nil {
		t.Errorf("the default profile: %v", err)
	}
}
