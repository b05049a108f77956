// Package signin signs a person in to a gateway from a command line: with a device code, as
// RFC 8628 has it, and from then on with the refresh token that is kept in a file of the user.
package signin

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/oauth2"
)

// least is how long a token still holds when it is handed out. Codex keeps one for five minutes.
const least = 10 * time.Minute

// Gateway is a gateway to which the user of this machine signs in. Processes that run at the same
// time share the sign-in, and one of them at a time renews it.
type Gateway struct {
	URL string
	Dir string // of the files, one for each gateway
	// Show shows a line to the person who signs in; nil: there is none, and a sign-in fails.
	Show func(line string)
}

// Dir is the folder of the sign-ins of this user.
func Dir() (string, error) {
	config, err := os.UserConfigDir()
	return filepath.Join(config, "modelgateway", "sign-ins"), err
}

func (g *Gateway) file() string {
	return filepath.Join(g.Dir, url.QueryEscape(strings.TrimRight(g.URL, "/"))+".json")
}

// SignedIn says whether a sign-in is kept. It may have ended at the gateway.
func (g *Gateway) SignedIn() bool {
	_, err := os.Stat(g.file())
	return err == nil
}

// Token is an access token that holds for some minutes. It renews the one that is kept, and where
// there is none, or the gateway takes it no more, signs in.
func (g *Gateway) Token(ctx context.Context) (string, error) {
	unlock, err := g.lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	now, err := g.read()
	switch {
	case err != nil:
		return "", err
	case now.AccessToken != "" && time.Until(now.Expiry) > least:
		return now.AccessToken, nil
	}
	at, err := g.endpoints(ctx)
	if err != nil {
		return "", err
	}
	if now.RefreshToken != "" {
		next, err := at.renew(ctx, now.RefreshToken)
		if refusal(err) != "invalid_grant" {
			return g.keep(next, err)
		}
	}
	if g.Show == nil {
		return "", fmt.Errorf("not signed in to %s, or the sign-in has ended: run `modelgateway token --url %s` in a terminal", g.URL, g.URL)
	}
	return g.keep(at.signIn(ctx, g.Show))
}

// SignOut ends the sign-in at the gateway, and forgets it.
func (g *Gateway) SignOut(ctx context.Context) error {
	unlock, err := g.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	now, err := g.read()
	if err != nil || now.RefreshToken == "" {
		return err
	}
	at, err := g.endpoints(ctx)
	if err != nil {
		return err
	}
	if err := at.revoke(ctx, now.RefreshToken); err != nil {
		return err
	}
	return os.Remove(g.file())
}

// read is what is kept; nothing where there is no file.
func (g *Gateway) read() (now oauth2.Token, err error) {
	text, err := os.ReadFile(g.file())
	if errors.Is(err, os.ErrNotExist) {
		return now, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &now)
	}
	if err != nil {
		return now, fmt.Errorf("the sign-in cannot be read; delete %s to sign in again: %w", g.file(), err)
	}
	return now, nil
}

// keep writes tokens before their first use: the gateway has replaced the former ones.
func (g *Gateway) keep(t *oauth2.Token, err error) (string, error) {
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(t)
	if err != nil {
		return "", err
	}
	file, err := os.CreateTemp(g.Dir, "new-*") // with mode 0600
	if err != nil {
		return "", err
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = os.Rename(file.Name(), g.file())
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(file.Name()))
	}
	return t.AccessToken, nil
}

// lock waits until no other process works with the sign-in. The system takes the lock from a
// process that ends.
func (g *Gateway) lock(ctx context.Context) (unlock func(), err error) {
	if err := os.MkdirAll(g.Dir, 0o700); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(g.file()+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		taken, err := tryLock(file)
		if taken {
			return func() { _ = file.Close() }, nil
		}
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
	}
}
