package login

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	lru "github.com/hashicorp/golang-lru/v2"

	"modelgateway/config"
	"modelgateway/providers/upstream"
)

// AWS says whose credentials sign calls to Amazon's services. The zero value is the usual chain
// of the environment variables, profile files and metadata servers.
type AWS struct {
	Region  string // empty: AWS_REGION, or that of the profile
	Service string // SigV4's name of it; empty: bedrock, and bedrock-mantle at its hosts
	Profile string // of the shared files

	// Role is assumed with these credentials, by STS.
	Role, ExternalID string

	// Given in place of the chain.
	AccessKeyID                   string
	SecretAccessKey, SessionToken config.Secret

	// Tags, of "user" and "team", are put on the session of Role, with one set of credentials for
	// each pair of values. Calls without a caller have none: see upstream.Call.
	Tags []string
}

// AWSLogin signs calls to Amazon's services.
type AWSLogin struct {
	opts    AWS
	base    aws.Config
	signer  *v4.Signer
	own     *renewing[aws.Credentials] // without tags
	callers *lru.Cache[caller, *renewing[aws.Credentials]]
}

// maxCallers bounds the sets of credentials that are kept, one for each pair of a user and a team.
const maxCallers = 4096

// NewAWS reads the environment and the profile files, and asks no server.
func NewAWS(opts AWS) (*AWSLogin, error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	base, err := opts.load()
	if err != nil {
		return nil, err
	}
	if opts.Region = base.Region; opts.Region == "" {
		return nil, errors.New("aws log-in: no region: set AWS_REGION, or region in the profile")
	}
	if opts.Service == "" {
		opts.Service = "bedrock"
	}
	l := &AWSLogin{opts: opts, base: base, signer: v4.NewSigner()}
	l.own = &renewing[aws.Credentials]{fetch: l.fetch(caller{}), settings: l.settings()}
	l.callers, err = lru.New[caller, *renewing[aws.Credentials]](maxCallers)
	return l, err
}

func (a *AWS) validate() error {
	if (a.AccessKeyID == "") != a.SecretAccessKey.IsZero() {
		return errors.New("aws log-in: an access key has two parts: set both its id and its secret")
	}
	for _, tag := range a.Tags {
		if tag != "user" && tag != "team" {
			return fmt.Errorf("aws log-in: there is no session tag %q: use user and team", tag)
		}
	}
	if len(a.Tags) > 0 && a.Role == "" {
		return errors.New("aws log-in: session tags are put on an assumed role: set a role")
	}
	return nil
}

// load finds the credentials. Those of a program are refused: the gateway runs none.
func (a *AWS) load() (aws.Config, error) {
	const attemptTime = 10 * time.Second // the SDK tries three times
	options := []func(*awsconfig.LoadOptions) error{
		awsconfig.WithHTTPClient(awshttp.NewBuildableClient().WithTimeout(attemptTime)),
		// The true end: the SDK puts that of a container's five minutes earlier.
		awsconfig.WithCredentialsCacheOptions(func(o *aws.CredentialsCacheOptions) { o.ExpiryWindow = 0 }),
	}
	if a.Region != "" {
		options = append(options, awsconfig.WithRegion(a.Region))
	}
	if a.Profile != "" {
		options = append(options, awsconfig.WithSharedConfigProfile(a.Profile))
	}
	if a.AccessKeyID != "" {
		given := credentials.NewStaticCredentialsProvider(a.AccessKeyID, a.SecretAccessKey.Reveal(), a.SessionToken.Reveal())
		options = append(options, awsconfig.WithCredentialsProvider(given))
	}
	base, err := awsconfig.LoadDefaultConfig(context.Background(), options...)
	if err != nil {
		return base, failure("aws", err, "AWS_PROFILE, AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE")
	}
	if slices.Contains(sources(base.Credentials), aws.CredentialSourceProcess) {
		return base, errors.New("aws log-in: the profile has a credential_process, and the gateway runs no programs: use another profile")
	}
	return base, nil
}

// mantle is the service of Bedrock that has OpenAI's and Anthropic's own APIs, at hosts of its own.
const mantle = "bedrock-mantle"

// Sign is a providers.Sign.
func (l *AWSLogin) Sign(ctx context.Context, r *http.Request, _ string, body [][]byte) error {
	with, err := l.credentials(ctx).get(ctx)
	if err != nil {
		return err
	}
	hash := sha256.New()
	for _, piece := range body {
		hash.Write(piece)
	}
	service := l.opts.Service
	if strings.HasPrefix(r.URL.Host, mantle+".") {
		service = mantle
	}
	// net/http sends no header without a value, and the signer signs it.
	var unsent []string
	for name, values := range r.Header {
		if len(values) == 0 {
			unsent = append(unsent, name)
			delete(r.Header, name)
		}
	}
	err = l.signer.SignHTTP(ctx, with, r, hex.EncodeToString(hash.Sum(nil)), service, l.opts.Region, time.Now())
	for _, name := range unsent {
		r.Header[name] = nil
	}
	return err
}

// Check fetches the credentials, unless it has valid ones.
func (l *AWSLogin) Check(ctx context.Context) error {
	_, err := l.credentials(ctx).get(ctx)
	return err
}

// credentials are those of the context's caller.
func (l *AWSLogin) credentials(ctx context.Context) *renewing[aws.Credentials] {
	var who caller
	if call := upstream.CallOf(ctx); call != nil {
		who = caller{call.User, call.Team}
	}
	if !slices.Contains(l.opts.Tags, "user") {
		who.user = ""
	}
	if !slices.Contains(l.opts.Tags, "team") {
		who.team = ""
	}
	if who == (caller{}) {
		return l.own
	}
	if known, ok := l.callers.Get(who); ok {
		return known
	}
	added := &renewing[aws.Credentials]{fetch: l.fetch(who), settings: l.settings()}
	if known, ok, _ := l.callers.PeekOrAdd(who, added); ok {
		return known
	}
	return added
}
