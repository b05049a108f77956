package signin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
)

// endpoints are those of a gateway, as its document of RFC 8414 has them.
type endpoints struct {
	Device     string `json:"device_authorization_endpoint"`
	Token      string `json:"token_endpoint"`
	Revocation string `json:"revocation_endpoint"`
}

type tokens struct {
	Access  string `json:"access_token"`
	Seconds int64  `json:"expires_in"`
	Refresh string `json:"refresh_token"`
	Email   string `json:"email"`
}

// device is the answer to a sign-in that begins.
type device struct {
	Code     string `json:"device_code"`
	UserCode string `json:"user_code"`
	URL      string `json:"verification_uri"`
	WholeURL string `json:"verification_uri_complete"`
	Seconds  int64  `json:"expires_in"`
	Interval int64  `json:"interval"`
	Notice   string `json:"login_notice"`
}

// refusal is an error in the form of RFC 6749.
type refusal struct{ code, description string }

// Error is the description, where there is one.
func (r *refusal) Error() string { return cmp.Or(r.description, r.code) }

func (g *Gateway) endpoints(ctx context.Context) (at endpoints, err error) {
	base := strings.TrimRight(g.URL, "/")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/.well-known/oauth-authorization-server", nil)
	if err != nil {
		return at, fmt.Errorf("the URL of the gateway is not valid: %w", err)
	}
	if err := send(req, &at); err != nil {
		return at, fmt.Errorf("%s does not say how to sign in, without which only a key works: %w", base, err)
	}
	if at.Device == "" || at.Token == "" {
		return at, fmt.Errorf("the gateway at %s has no sign-in by device code: use a key", base)
	}
	return at, nil
}

func (at endpoints) renew(ctx context.Context, refresh string) (next tokens, err error) {
	if err = at.grant(ctx, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh}}, &next); err != nil {
		return next, fmt.Errorf("renew the sign-in: %w", err)
	}
	next.Refresh = cmp.Or(next.Refresh, refresh) // RFC 6749, section 6: without a new one the former goes on
	return next, nil
}

// signIn shows a code to a person, and waits until that person has confirmed it in a browser.
func (at endpoints) signIn(ctx context.Context, show func(line string)) (t tokens, err error) {
	var d device
	if err := post(ctx, at.Device, url.Values{"surface": {"modelgateway"}}, &d); err != nil {
		return t, fmt.Errorf("begin to sign in: %w", err)
	}
	if d.Notice != "" {
		show(d.Notice)
	}
	show(fmt.Sprintf("Open %s in a browser, and confirm the code %s.", cmp.Or(d.WholeURL, d.URL), d.UserCode))
	form := url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}, "device_code": {d.Code}}
	wait := time.Duration(cmp.Or(d.Interval, 5)) * time.Second
	for ends := time.Now().Add(time.Duration(d.Seconds) * time.Second); time.Now().Before(ends); {
		select {
		case <-ctx.Done():
			return t, ctx.Err()
		case <-time.After(wait):
		}
		err := at.grant(ctx, form, &t)
		refused, ok := errors.AsType[*refusal](err)
		switch {
		case err == nil:
			show("Signed in as " + cmp.Or(t.Email, "a user of the gateway") + ".")
			return t, nil
		case !ok:
			return t, fmt.Errorf("sign in: %w", err)
		case refused.code == "authorization_pending":
		case refused.code == "slow_down":
			wait += 5 * time.Second // RFC 8628, section 3.5
		case refused.code == "access_denied":
			return t, errors.New("the sign-in was refused in the browser")
		case refused.code != "expired_token":
			return t, fmt.Errorf("sign in: %w", err)
		default:
			ends = time.Time{}
		}
	}
	return t, errors.New("the code was not confirmed in time: run the command again")
}

func (at endpoints) grant(ctx context.Context, form url.Values, into *tokens) error {
	err := post(ctx, at.Token, form, into)
	if err == nil && into.Access == "" {
		err = errors.New("the answer of the gateway has no access token")
	}
	return err
}

func post(ctx context.Context, endpoint string, form url.Values, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return send(req, into)
}

// send decodes the answer to a request; nil: it is of no interest. A redirect is an error: it
// could lead a token to another host.
func send(req *http.Request, into any) error {
	const patience, most = 30 * time.Second, 64 << 10
	client := &http.Client{Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "modelgateway-cli")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, most))
	switch {
	case err != nil:
		return err
	case resp.StatusCode != http.StatusOK:
		return refused(resp, text)
	case into == nil:
		return nil
	}
	if err := json.Unmarshal(text, into, api.Lenient); err != nil {
		return fmt.Errorf("the answer cannot be read: %w", err)
	}
	return nil
}

// refused is the error of an answer, in the form of RFC 6749 or of the gateway's other routes.
func refused(resp *http.Response, text []byte) error {
	var answer struct {
		Error       jsontext.Value `json:"error"`
		Description string         `json:"error_description"`
	}
	_ = json.Unmarshal(text, &answer, api.Lenient)
	var code string
	if json.Unmarshal(answer.Error, &code) == nil && code != "" {
		return &refusal{code, answer.Description}
	}
	var other struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(answer.Error, &other, api.Lenient) == nil && other.Message != "" {
		return fmt.Errorf("the gateway answers %s: %s", resp.Status, other.Message)
	}
	return fmt.Errorf("the gateway answers %s", resp.Status)
}
