//go:build unix

package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// account is a user who has logged in at the first replica.
type account struct {
	system *system
	token  string
}

// register makes a user and logs in.
func (s *system) register(ctx context.Context) (*account, error) {
	a := &account{system: s}
	who := map[string]string{
		"email": strings.ToLower(rand.Text()) + "@example.com", "password": "correct horse battery staple", "name": "Scale",
	}
	if err := a.send(ctx, http.MethodPost, "/auth/register", who, nil); err != nil {
		return nil, err
	}
	var login struct{ Token string }
	if err := a.send(ctx, http.MethodPost, "/auth/login", who, &login); err != nil {
		return nil, err
	}
	a.token = login.Token
	return a, nil
}

// issued is a key that was made.
type issued struct{ ID, Key string }

// key makes a key; more are further members of the request.
func (a *account) key(ctx context.Context, more map[string]any) (k issued, err error) {
	body := map[string]any{"name": "scale"}
	for name, value := range more {
		body[name] = value
	}
	if err := a.send(ctx, http.MethodPost, "/auth/keys", body, &k); err != nil {
		return k, err
	}
	if k.Key == "" || k.ID == "" {
		return k, fmt.Errorf("/auth/keys: no key in the answer")
	}
	return k, nil
}

func (a *account) revoke(ctx context.Context, id string) error {
	return a.send(ctx, http.MethodDelete, "/auth/keys/"+id, nil, nil)
}

func (a *account) send(ctx context.Context, method, path string, body, into any) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+a.system.replicas[0].addr+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if a.token != "" {
		req.Header.Set("Authorization", "Bearer "+a.token)
	}
	resp, err := a.system.transport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	said, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s: %s: %.300s", path, resp.Status, said)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(said, into)
}

// fewKeys is how many keys make the calls where their number is not what is measured.
const fewKeys = 10

// firstKeys are a few keys of a user.
func (s *system) firstKeys(ctx context.Context) ([]string, error) {
	if len(s.few) > 0 {
		return s.few, nil
	}
	if err := s.run(ctx, 1); err != nil {
		return nil, err
	}
	a, err := s.register(ctx)
	if err != nil {
		return nil, err
	}
	for range fewKeys {
		k, err := a.key(ctx, nil)
		if err != nil {
			return nil, err
		}
		s.few = append(s.few, k.Key)
	}
	return s.few, nil
}
