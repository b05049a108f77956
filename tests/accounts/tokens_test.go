package accounts

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"modelgateway/api"
	"modelgateway/models"
	"modelgateway/services/auth"
	"modelgateway/tests/gatewaytest"
)

// TestTokenValidityFollowsTheClockWithinItsLeeway sets the clock back and forth.
func TestTokenValidityFollowsTheClockWithinItsLeeway(t *testing.T) {
	store, err := models.Open("sqlite:" + filepath.Join(t.TempDir(), "gateway.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	ada := &models.User{ID: "usr_ada", Email: "ada@example.com", CreatedAt: 5}
	if err := errors.Join(store.Migrate(t.Context()), store.CreateUser(t.Context(), ada)); err != nil {
		t.Fatal(err)
	}
	shift := time.Duration(0)
	clock := func() time.Time { return time.Now().Add(shift) }
	tokens := auth.NewTokens(
		auth.TokenOptions{Secret: []byte(gatewaytest.JWTSecret), Expiry: 24 * time.Hour, Issuer: "modelgateway", Store: store, Now: clock},
	)
	token, err := tokens.Issue(ada)
	if err != nil {
		t.Fatal(err)
	}
	const soon, late = 30 * time.Second, 90 * time.Second // the leeway is a minute
	for _, tt := range []struct {
		name  string
		shift time.Duration
		code  string
	}{
		{"as it was", 0, ""},
		{"back within the leeway", -soon, ""},
		{"back beyond the leeway", -late, api.CodeInvalidToken},
		{"back an hour", -time.Hour, api.CodeInvalidToken},
		{"back a day", -24 * time.Hour, api.CodeInvalidToken},
		{"as it was again", 0, ""},
		{"an hour on", time.Hour, ""},
		{"just before the end", 24*time.Hour - soon, ""},
		{"a day on, which is the end", 24 * time.Hour, api.CodeTokenExpired},
		{"back again from there", 0, ""},
		{"to the beginning of time", -time.Since(time.Unix(0, 0)), api.CodeInvalidToken},
	} {
		shift = tt.shift
		user, err := tokens.Verify(context.Background(), token.Text)
		if tt.code == "" && (err != nil || user != ada.ID) || tt.code != "" && api.AsError(err).Code != tt.code {
			t.Errorf("%s: %q, %v", tt.name, user, err)
		}
	}
	shift = -time.Hour // a login while the clock is wrong works at once
	behind, err := tokens.Issue(ada)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tokens.Verify(t.Context(), behind.Text); err != nil {
		t.Errorf("a token of the wrong clock: %v", err)
	}
	shift = 0
	if _, err := tokens.Verify(t.Context(), behind.Text); err != nil {
		t.Errorf("the same when the clock is right again: %v", err)
	}
}
