package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"cloud.google.com/go/compute/metadata"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
)

// Google says whose tokens are sent to Google's services.
type Google struct {
	// CredentialsFile is a path. Empty: GOOGLE_APPLICATION_CREDENTIALS, then the application
	// default credentials of gcloud, then the metadata server.
	CredentialsFile string
}

const googleScope = "https://www.googleapis.com/auth/cloud-platform"

// ofMachine is what to look at where the metadata server gives no token.
const ofMachine = "that GOOGLE_APPLICATION_CREDENTIALS is set, or that this machine has a service account"

// GoogleLogin sends access tokens to Google's services.
type GoogleLogin struct {
	path    string // empty = the metadata server
	setting string // that names path
	quota   string // the project that pays, where that is not the credential's own
	token   *renewing[string]
}

// NewGoogle reads the environment and the file, and asks no server.
func NewGoogle(opts Google) (*GoogleLogin, error) {
	l := &GoogleLogin{path: opts.CredentialsFile, setting: "the credentials file"}
	if l.path == "" {
		l.path, l.setting = os.Getenv("GOOGLE_APPLICATION_CREDENTIALS"), "GOOGLE_APPLICATION_CREDENTIALS"
	}
	if l.path == "" {
		l.path, l.setting = gcloudFile(), "the credentials of gcloud auth application-default login"
	}
	if l.path == "" {
		l.token = &renewing[string]{fetch: l.fromMetadata, settings: ofMachine}
		return l, nil
	}
	file, err := l.read()
	if err != nil {
		return nil, err
	}
	l.quota = file.QuotaProject
	l.token = &renewing[string]{fetch: l.fromFile, settings: l.setting}
	return l, nil
}

// gcloudFile is where gcloud keeps the application default credentials; empty if there are none.
func gcloudFile() string {
	home, err := os.UserHomeDir()
	path := filepath.Join(home, ".config", "gcloud", "application_default_credentials.json")
	if _, missing := os.Stat(path); err != nil || missing != nil {
		return ""
	}
	return path
}

// Sign is a providers.Sign.
func (l *GoogleLogin) Sign(ctx context.Context, r *http.Request, _ string, _ [][]byte) error {
	if l.quota != "" {
		r.Header.Set("X-Goog-User-Project", l.quota)
	}
	return signBearer(ctx, r, l.token)
}

// Check fetches a token, unless it has a valid one.
func (l *GoogleLogin) Check(ctx context.Context) error {
	_, err := l.token.get(ctx)
	return err
}

// fromFile reads the file anew: a key is replaced without a restart.
func (l *GoogleLogin) fromFile(ctx context.Context) (string, time.Time, error) {
	file, err := l.read()
	if err != nil {
		return "", time.Time{}, err
	}
	params := google.CredentialsParams{Scopes: []string{googleScope}}
	ctx = context.WithValue(ctx, oauth2.HTTPClient, exchanger())
	// A new source each time: it would return the same token until its end.
	found, err := google.CredentialsFromJSONWithTypeAndParams(ctx, file.text, google.CredentialsType(file.Type), params)
	if err != nil {
		return "", time.Time{}, failure("google", err, l.setting, file.secrets()...)
	}
	token, err := found.TokenSource.Token()
	if err != nil {
		return "", time.Time{}, failure("google", err, l.setting, file.secrets()...)
	}
	return token.AccessToken, token.Expiry, nil
}

// fromMetadata asks the server of the machine.
func (l *GoogleLogin) fromMetadata(ctx context.Context) (string, time.Time, error) {
	server := metadata.NewClient(metadataClient())
	text, err := server.GetWithContext(ctx, "instance/service-accounts/default/token?scopes="+googleScope)
	if err != nil {
		return "", time.Time{}, failure("google", err, ofMachine)
	}
	var token oauth2.Token
	if err := json.Unmarshal([]byte(text), &token); err != nil || token.AccessToken == "" {
		return "", time.Time{}, failure("google", errors.New("the metadata server answered without a token"), ofMachine)
	}
	return token.AccessToken, time.Now().Add(time.Duration(token.ExpiresIn) * time.Second), nil
}

// googleFile is what is looked at in a file of credentials before it is used.
type googleFile struct {
	Type         string `json:"type"`
	QuotaProject string `json:"quota_project_id"`

	TokenURI      string `json:"token_uri"`
	TokenURL      string `json:"token_url"`
	Impersonation string `json:"service_account_impersonation_url"`

	PrivateKey   string `json:"private_key"`
	ClientSecret string `json:"client_secret"`
	RefreshToken string `json:"refresh_token"`

	Source struct {
		Executable *struct{} `json:"executable"`
	} `json:"credential_source"`
	Credentials *googleFile `json:"source_credentials"`

	text []byte
}

// read reads the file, by the rules of the library that uses it.
func (l *GoogleLogin) read() (*googleFile, error) {
	text, err := os.ReadFile(l.path)
	if err != nil {
		return nil, failure("google", err, l.setting)
	}
	file := &googleFile{text: text}
	if err := json.Unmarshal(text, file); err != nil {
		return nil, failure("google", fmt.Errorf("%s is not the JSON of credentials", l.path), l.setting)
	}
	if err := file.check(); err != nil {
		return nil, failure("google", fmt.Errorf("%s: %w", l.path, err), l.setting)
	}
	return file, nil
}

// check refuses what the gateway does not use: it runs no programs, and sends no secret in the
// open.
func (f *googleFile) check() error {
	switch google.CredentialsType(f.Type) {
	case google.ServiceAccount, google.AuthorizedUser, google.ExternalAccount, google.ExternalAccountAuthorizedUser,
		google.ImpersonatedServiceAccount:
	default:
		return fmt.Errorf("credentials of the type %q are not supported", f.Type)
	}
	if f.Source.Executable != nil {
		return errors.New("credential_source.executable is a program, and the gateway runs none")
	}
	for name, address := range map[string]string{
		"token_uri": f.TokenURI, "token_url": f.TokenURL, "service_account_impersonation_url": f.Impersonation,
	} {
		if address != "" && !secure(address) {
			return fmt.Errorf("%s is not an https address", name)
		}
	}
	if f.Credentials != nil {
		return f.Credentials.check()
	}
	return nil
}

// secrets are those that no message may repeat.
func (f *googleFile) secrets() []string {
	own := []string{f.PrivateKey, f.ClientSecret, f.RefreshToken}
	if f.Credentials != nil {
		own = append(own, f.Credentials.secrets()...)
	}
	return own
}
