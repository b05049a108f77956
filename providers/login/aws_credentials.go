package login

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/aws-sdk-go-v2/service/sts/types"
	"github.com/aws/smithy-go"
)

// fetch asks for credentials of a caller.
func (l *AWSLogin) fetch(who caller) func(context.Context) (aws.Credentials, time.Time, error) {
	from := l.base.Credentials
	if l.opts.Role != "" {
		from = stscreds.NewAssumeRoleProvider(sts.NewFromConfig(l.base), l.opts.Role, func(o *stscreds.AssumeRoleOptions) {
			o.RoleSessionName = "modelgateway"
			if l.opts.ExternalID != "" {
				o.ExternalID = &l.opts.ExternalID
			}
			o.Duration = time.Hour // which each role allows
			o.Tags = tags(who)
		})
	}
	return func(ctx context.Context) (aws.Credentials, time.Time, error) {
		if kept, ok := from.(*aws.CredentialsCache); ok {
			kept.Invalidate() // it would return the same until their end
		}
		got, err := from.Retrieve(ctx)
		if err != nil {
			return got, time.Time{}, l.failure(err)
		}
		if !got.CanExpire {
			got.Expires = time.Time{}
		}
		return got, got.Expires, nil
	}
}

// tags are those of a session, without what STS does not accept in a value (STS API reference,
// Tag, read in November 2026).
func tags(who caller) []types.Tag {
	refused := regexp.MustCompile(`[^\p{L}\p{Z}\p{N}_.:/=+\-@]`)
	var all []types.Tag
	for _, tag := range []struct{ name, value string }{{"user", who.user}, {"team", who.team}} {
		if tag.value != "" {
			all = append(all, types.Tag{Key: aws.String(tag.name), Value: aws.String(refused.ReplaceAllString(tag.value, "_"))})
		}
	}
	return all
}

// failure says why there are no credentials. Of an answer of STS it has the message alone: the
// SDK puts three lines before it.
func (l *AWSLogin) failure(err error) error {
	if answer, ok := errors.AsType[smithy.APIError](err); ok && answer.ErrorCode() != "" {
		err = fmt.Errorf("%s: %s", answer.ErrorCode(), answer.ErrorMessage())
	}
	return failure("aws", err, l.settings(), l.opts.SecretAccessKey.Reveal(), l.opts.SessionToken.Reveal())
}

// settings are those to look at when there are no credentials.
func (l *AWSLogin) settings() string {
	used := sources(l.base.Credentials)
	from := "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
	switch has := func(s aws.CredentialSource) bool { return slices.Contains(used, s) }; {
	case has(aws.CredentialSourceEnvVarsSTSWebIDToken):
		from = "AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE"
	case has(aws.CredentialSourceSSO), has(aws.CredentialSourceSSOLegacy), has(aws.CredentialSourceLogin):
		from = "the profile (AWS_PROFILE), and sign in with the AWS CLI"
	case has(aws.CredentialSourceProfile), has(aws.CredentialSourceProfileSourceProfile), has(aws.CredentialSourceProfileSTSWebIDToken):
		from = "the profile (AWS_PROFILE)"
	case has(aws.CredentialSourceHTTP):
		from = "AWS_CONTAINER_CREDENTIALS_FULL_URI or AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"
	case has(aws.CredentialSourceIMDS):
		from = "that AWS_ACCESS_KEY_ID or AWS_PROFILE is set, or that this machine has a role"
	}
	if l.opts.Role != "" {
		from = "that the role " + l.opts.Role + " may be assumed, and " + from
	}
	return from
}

// sources are the links of the chain that a provider was made of.
func sources(of aws.CredentialsProvider) []aws.CredentialSource {
	if known, ok := of.(aws.CredentialProviderSource); ok {
		return known.ProviderSources()
	}
	return nil
}
