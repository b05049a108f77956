package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"modelgateway/api"
	"modelgateway/config"
	"modelgateway/services/auth"
)

// Running is a gateway that runs, which commands ask over HTTP for what only its process
// knows or may do.
type Running struct {
	URL        string // without a slash at its end
	Credential string // of each request; empty: none
}

// Local is the URL of the gateway of these settings for this machine.
func Local(cfg *config.Config) string {
	host := cfg.Host
	if host == "" {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, strconv.Itoa(cfg.Port))
}

// Send sends a request, whose body is JSON; nil for none. An error that the gateway answers
// with is an *api.Error. The caller closes the body of the answer.
func (r *Running) Send(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(r.URL, "/")+path, content)
	if err != nil {
		return nil, fmt.Errorf("the URL of the gateway is not valid: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	if r.Credential != "" {
		req.Header.Set("Authorization", "Bearer "+r.Credential)
	}
	direct := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // no proxy stands before this machine
	resp, err := direct.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("the gateway does not answer at %s: %w", r.URL, errors.Unwrap(err))
	}
	if resp.StatusCode < http.StatusBadRequest {
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }()
	return nil, refusal(resp)
}

// Read sends a request without a body, and decodes the JSON of the answer.
func (r *Running) Read(ctx context.Context, path string, into any) error {
	resp, err := r.Send(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	return json.UnmarshalRead(resp.Body, into, api.Lenient)
}

// refusal is the error of an answer.
func refusal(resp *http.Response) error {
	const most = 64 << 10
	text, err := io.ReadAll(io.LimitReader(resp.Body, most))
	if err != nil {
		return err
	}
	var told struct {
		Error struct {
			Type    string `json:"type"`
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(text, &told, api.Lenient) != nil || told.Error.Message == "" {
		return fmt.Errorf("the gateway answers %s", resp.Status)
	}
	return &api.Error{Status: resp.StatusCode, Type: told.Error.Type, Code: told.Error.Code, Message: told.Error.Message}
}

// ErrNoToken says why a command cannot ask the running gateway as an administrator.
var ErrNoToken = errors.New("JWT_SECRET is not set here: set it to the JWT_SECRET of the running gateway, " +
	"which signs the token of this command")

// operator returns a token for a minute with which a command reads what administrators may:
// who has the signing secret may issue one.
func (g *gateway) operator(ctx context.Context, cfg *config.Config) (string, error) {
	if cfg.JWTSecret.IsZero() {
		return "", ErrNoToken
	}
	u, err := g.administration.First(ctx)
	if err != nil {
		return "", err
	}
	tokens := auth.NewTokens(auth.TokenOptions{
		Secret: []byte(cfg.JWTSecret.Reveal()), Expiry: time.Minute, Issuer: issuer, Store: g.store, Log: slog.New(slog.DiscardHandler),
		Now: time.Now, Revisions: g.revisions,
	})
	token, err := tokens.Issue(u)
	return token.Text, err
}
