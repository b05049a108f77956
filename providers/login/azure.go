package login

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"modelgateway/config"
)

// Azure says whose tokens of Entra are sent to Azure's services. Members that are empty are read
// from the environment: AZURE_TENANT_ID, AZURE_CLIENT_ID, AZURE_CLIENT_SECRET,
// AZURE_FEDERATED_TOKEN_FILE and AZURE_AUTHORITY_HOST.
type Azure struct {
	Tenant, ClientID   string
	ClientSecret       config.Secret
	FederatedTokenFile string // read anew for each token
	ManagedIdentity    bool   // that of the machine, or of ClientID where it has several
	Scope              string // empty: https://cognitiveservices.azure.com/.default
	AuthorityHost      string // empty: https://login.microsoftonline.com/
}

// ofIdentity is what to look at where a managed identity gives no token.
const ofIdentity = "that this machine has a managed identity, and that AZURE_CLIENT_ID is one of its own or not set"

// AzureLogin sends access tokens to Azure's services.
type AzureLogin struct {
	opts     Azure
	identity string        // the address of the managed identity
	secret   config.Secret // the header of App Service's
	client   *http.Client
	token    *renewing[string]
}

// NewAzure reads the environment and looks for the file, and asks no server.
func NewAzure(opts Azure) (*AzureLogin, error) {
	opts.Tenant = cmp.Or(opts.Tenant, os.Getenv("AZURE_TENANT_ID"))
	opts.ClientID = cmp.Or(opts.ClientID, os.Getenv("AZURE_CLIENT_ID"))
	opts.FederatedTokenFile = cmp.Or(opts.FederatedTokenFile, os.Getenv("AZURE_FEDERATED_TOKEN_FILE"))
	opts.AuthorityHost = cmp.Or(opts.AuthorityHost, os.Getenv("AZURE_AUTHORITY_HOST"), "https://login.microsoftonline.com/")
	opts.Scope = cmp.Or(opts.Scope, "https://cognitiveservices.azure.com/.default")
	if opts.ClientSecret.IsZero() {
		opts.ClientSecret = config.NewSecret(os.Getenv("AZURE_CLIENT_SECRET"))
	}
	l := &AzureLogin{opts: opts, client: exchanger()}
	l.token = &renewing[string]{fetch: l.fromEntra, settings: "AZURE_TENANT_ID and AZURE_AUTHORITY_HOST"}
	var err error
	switch {
	case opts.ManagedIdentity, opts.ClientSecret.IsZero() && opts.FederatedTokenFile == "" && opts.Tenant == "":
		err = l.useIdentity()
	case opts.ClientSecret.IsZero() && opts.FederatedTokenFile == "":
		err = errors.New("azure log-in: no credential: set AZURE_CLIENT_SECRET or AZURE_FEDERATED_TOKEN_FILE, or use the managed identity")
	case opts.Tenant == "":
		err = errors.New("azure log-in: no tenant: set AZURE_TENANT_ID")
	case opts.ClientID == "":
		err = errors.New("azure log-in: no client: set AZURE_CLIENT_ID")
	case !secure(opts.AuthorityHost):
		err = errors.New("azure log-in: AZURE_AUTHORITY_HOST is not an https address")
	case opts.ClientSecret.IsZero():
		_, err = l.assertion()
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

// useIdentity finds the server of the managed identity: that of App Service where there is one,
// else that of a virtual machine.
func (l *AzureLogin) useIdentity() error {
	resource := strings.TrimSuffix(l.opts.Scope, "/.default")
	query := url.Values{"api-version": {"2018-02-01"}, "resource": {resource}}
	if l.opts.ClientID != "" {
		query.Set("client_id", l.opts.ClientID)
	}
	host := cmp.Or(os.Getenv("AZURE_POD_IDENTITY_AUTHORITY_HOST"), "http://169.254.169.254")
	l.identity = strings.TrimSuffix(host, "/") + "/metadata/identity/oauth2/token"
	if service := os.Getenv("IDENTITY_ENDPOINT"); service != "" {
		l.identity, l.secret = service, config.NewSecret(os.Getenv("IDENTITY_HEADER"))
		query.Set("api-version", "2019-08-01")
		if l.secret.IsZero() {
			return errors.New("azure log-in: IDENTITY_ENDPOINT is set without IDENTITY_HEADER: only App Service's is supported")
		}
	}
	l.identity += "?" + query.Encode()
	l.client = metadataClient()
	l.token = &renewing[string]{fetch: l.fromIdentity, settings: ofIdentity}
	return nil
}

// Sign is a providers.Sign.
func (l *AzureLogin) Sign(ctx context.Context, r *http.Request, _ string, _ [][]byte) error {
	return signBearer(ctx, r, l.token)
}

// Check fetches a token, unless it has a valid one.
func (l *AzureLogin) Check(ctx context.Context) error {
	_, err := l.token.get(ctx)
	return err
}

// assertion is what the cluster says about this workload.
func (l *AzureLogin) assertion() (string, error) {
	text, err := os.ReadFile(l.opts.FederatedTokenFile)
	if err != nil {
		return "", failure("azure", err, "AZURE_FEDERATED_TOKEN_FILE")
	}
	return strings.TrimSpace(string(text)), nil
}

// fromEntra exchanges the secret or the assertion.
func (l *AzureLogin) fromEntra(ctx context.Context) (string, time.Time, error) {
	exchange := clientcredentials.Config{
		ClientID: l.opts.ClientID, ClientSecret: l.opts.ClientSecret.Reveal(), AuthStyle: oauth2.AuthStyleInParams,
		TokenURL: strings.TrimSuffix(l.opts.AuthorityHost, "/") + "/" + url.PathEscape(l.opts.Tenant) + "/oauth2/v2.0/token",
		Scopes:   []string{l.opts.Scope},
	}
	settings, secret := "AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET", exchange.ClientSecret
	if secret == "" {
		var err error
		if secret, err = l.assertion(); err != nil {
			return "", time.Time{}, err
		}
		settings = "AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_FEDERATED_TOKEN_FILE"
		exchange.EndpointParams = url.Values{
			"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"}, "client_assertion": {secret},
		}
	}
	token, err := exchange.Token(context.WithValue(ctx, oauth2.HTTPClient, l.client))
	if err != nil {
		return "", time.Time{}, failure("azure", err, settings, secret)
	}
	return token.AccessToken, token.Expiry, nil
}

// fromIdentity asks the server of the managed identity.
func (l *AzureLogin) fromIdentity(ctx context.Context) (string, time.Time, error) {
	token, end, err := l.askIdentity(ctx)
	if err != nil {
		err = failure("azure", err, ofIdentity, l.secret.Reveal())
	}
	return token, end, err
}

func (l *AzureLogin) askIdentity(ctx context.Context) (access string, end time.Time, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, l.identity, nil)
	if err != nil {
		return "", end, err
	}
	r.Header.Set("Metadata", "true")
	if !l.secret.IsZero() {
		r.Header.Set("X-IDENTITY-HEADER", l.secret.Reveal())
	}
	answer, err := l.client.Do(r)
	if err != nil {
		return "", end, err
	}
	defer func() { _ = answer.Body.Close() }()
	const longest = 1 << 20
	text, err := io.ReadAll(io.LimitReader(answer.Body, longest))
	if err != nil {
		return "", end, err
	}
	if answer.StatusCode != http.StatusOK {
		return "", end, fmt.Errorf("the managed identity answered %d %s", answer.StatusCode, text)
	}
	var token struct {
		AccessToken string      `json:"access_token"`
		ExpiresOn   json.Number `json:"expires_on"` // Unix seconds, as text or as a number
	}
	err = json.Unmarshal(text, &token)
	seconds, notNumber := token.ExpiresOn.Int64()
	if err != nil || notNumber != nil || token.AccessToken == "" {
		return "", end, errors.New("the managed identity answered without a token")
	}
	return token.AccessToken, time.Unix(seconds, 0), nil
}
