package cloudtest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// signed serves requests with a Bedrock key, or with a signature for the service.
func (a *AWS) signed(service string, serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if refusal := a.authorize(r, service); refusal != nil {
			refusal.write(w)
			return
		}
		serve(w, r)
	}
}

const longDate = "20060102T150405Z"

// skew is by how much Bedrock lets the clock of a client differ.
const skew = 5 * time.Minute

const wrongSignature = "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key " +
	"and signing method. Consult the service documentation for details."

func badSignature(format string, args ...any) *awsRefusal {
	return &awsRefusal{http.StatusForbidden, "InvalidSignatureException", fmt.Sprintf(format, args...)}
}

// authorize checks whose request it is, by signing it once more.
func (a *AWS) authorize(r *http.Request, service string) *awsRefusal {
	header := r.Header.Get("Authorization")
	if key, ok := strings.CutPrefix(header, "Bearer "); ok && service != "sts" {
		if !equal(key, BedrockKey) {
			return &awsRefusal{http.StatusForbidden, "AccessDeniedException", "Authentication failed: Please make sure your API Key is valid."}
		}
		a.accept(r, "bearer", nil)
		return nil
	}
	if header == "" {
		return &awsRefusal{http.StatusForbidden, "MissingAuthenticationTokenException", "Missing Authentication Token"}
	}
	s, ok := readSignature(header)
	if !ok {
		return &awsRefusal{http.StatusForbidden, "IncompleteSignatureException", "Authorization header requires 'Credential', 'Signature' " +
			"and 'SignedHeaders' parameters."}
	}
	g, known := a.granted(s.id)
	switch {
	case !known || g.secret == "" || !equal(r.Header.Get("X-Amz-Security-Token"), g.session):
		return &awsRefusal{http.StatusForbidden, "UnrecognizedClientException", "The security token included in the request is invalid."}
	case g.expired():
		return &awsRefusal{http.StatusForbidden, "ExpiredTokenException", "The security token included in the request is expired"}
	}
	if refusal := s.check(r, service); refusal != nil {
		return refusal
	}
	if !equal(s.signature, s.again(r, g, service)) {
		return badSignature(wrongSignature)
	}
	a.accept(r, s.id, g.tags)
	return nil
}

// signature is a header Authorization in its parts.
type signature struct {
	id, scope, signature string
	headers              []string
}

func readSignature(header string) (s signature, ok bool) {
	parts, ok := strings.CutPrefix(header, "AWS4-HMAC-SHA256 ")
	for part := range strings.SplitSeq(parts, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch name {
		case "Credential":
			s.id, s.scope, _ = strings.Cut(value, "/")
		case "SignedHeaders":
			s.headers = strings.Split(value, ";")
		case "Signature":
			s.signature = value
		}
	}
	return s, ok && s.id != "" && s.signature != "" && s.headers != nil
}

// check refuses what was signed for another time or place, or only in part.
func (s signature) check(r *http.Request, service string) *awsRefusal {
	given := r.Header.Get("X-Amz-Date")
	signed, err := time.Parse(longDate, given)
	if err != nil {
		return badSignature("Date must be in ISO-8601 'basic format'. Got '%s'.", given)
	}
	now := time.Now().UTC()
	switch at := now.Format(longDate); {
	case now.Sub(signed) > skew:
		return badSignature("Signature expired: %s is now earlier than %s (%s - 5 min.)", given, now.Add(-skew).Format(longDate), at)
	case signed.Sub(now) > skew:
		return badSignature("Signature not yet current: %s is still later than %s (%s + 5 min.)", given, now.Add(skew).Format(longDate), at)
	}
	scope := strings.Split(s.scope, "/")
	switch {
	case len(scope) != 4 || scope[3] != "aws4_request":
		return badSignature("Credential should be scoped with a valid terminator: 'aws4_request'.")
	case scope[0] != signed.Format("20060102"):
		return badSignature("Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP.")
	case scope[1] != Region:
		return badSignature("Credential should be scoped to a valid region.")
	case scope[2] != service:
		return badSignature("Credential should be scoped to correct service: '%s'.", service)
	case !slices.Contains(s.headers, "host"):
		return badSignature("'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization.")
	}
	for name := range r.Header {
		if name = strings.ToLower(name); strings.HasPrefix(name, "x-amz-") && !slices.Contains(s.headers, name) {
			return badSignature("'%s' must be a 'SignedHeader' in the AWS Authorization.", name)
		}
	}
	return nil
}

// again is the signature of what came, made with the secret. The path is encoded as it came
// and encoded once more, as it is for all services but S3.
func (s signature) again(r *http.Request, g grant, service string) string {
	body := readBody(r)
	sum := sha256.Sum256(body)
	at := *r.URL
	copied := &http.Request{Method: r.Method, URL: &at, Host: r.Host, Header: http.Header{}}
	for _, name := range s.headers {
		switch name {
		case "host":
		case "content-length":
			copied.ContentLength = int64(len(body))
		default:
			copied.Header[http.CanonicalHeaderKey(name)] = r.Header.Values(name)
		}
	}
	signed, _ := time.Parse(longDate, r.Header.Get("X-Amz-Date")) // checked before
	credentials := aws.Credentials{AccessKeyID: s.id, SecretAccessKey: g.secret, SessionToken: g.session}
	if err := v4.NewSigner().SignHTTP(r.Context(), credentials, copied, hex.EncodeToString(sum[:]), service, Region, signed); err != nil {
		return ""
	}
	own, _ := readSignature(copied.Header.Get("Authorization"))
	return own.signature
}
