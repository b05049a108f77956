package clouds

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modelgateway/tests/cloudtest"
	"modelgateway/tests/gatewaytest"
)

// renewing is a cloud whose credentials end.
type renewing struct {
	name, model string
	setting     string // that an operator has to look at; its beginning
	settings    func(t *testing.T, c clouds) []string
	cloud       func(c clouds) *cloudtest.Cloud
}

func renewals() []renewing {
	return []renewing{
		{
			"bedrock", "bedrock/amazon.nova-pro-v1:0", "AWS_",
			func(_ *testing.T, c clouds) []string { return c.aws.Settings() }, // and the metadata of the instance
			func(c clouds) *cloudtest.Cloud { return &c.aws.Cloud },
		},
		{
			"vertex", "vertex/gemini-2.5-flash", "GOOGLE_APPLICATION_CREDENTIALS",
			func(t *testing.T, c clouds) []string {
				return append(c.google.Settings(), "GOOGLE_APPLICATION_CREDENTIALS="+c.google.ServiceAccount(t))
			},
			func(c clouds) *cloudtest.Cloud { return &c.google.Cloud },
		},
		{
			"azure", "azure/gpt-4.1", "AZURE_CLIENT_SECRET",
			func(_ *testing.T, c clouds) []string {
				return append(c.azure.Settings(), entra(cloudtest.ClientSecret)...)
			},
			func(c clouds) *cloudtest.Cloud { return &c.azure.Cloud },
		},
	}
}

func entra(secret string) []string {
	return []string{"AZURE_TENANT_ID=" + cloudtest.Tenant, "AZURE_CLIENT_ID=" + cloudtest.ClientID, "AZURE_CLIENT_SECRET=" + secret}
}

// each runs a test for every cloud, with a gateway that has only that cloud's credentials.
func each(t *testing.T, test func(t *testing.T, r renewing, cloud *cloudtest.Cloud, start func(more ...string) *gatewaytest.Process)) {
	t.Parallel()
	for _, r := range renewals() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			c := serve(t)
			start := func(more ...string) *gatewaytest.Process {
				return gateway(t, slices.Concat(c.addresses(), r.settings(t, c), more)...)
			}
			test(t, r, r.cloud(c), start)
		})
	}
}

func hi(model string) string { return ask(model, dialects()[0].prompt("hi")) }

// Credentials are renewed once, before their end, while many calls go on: none fails.
func TestCredentialsAreRenewedUnderLoad(t *testing.T) {
	each(t, func(t *testing.T, r renewing, cloud *cloudtest.Cloud, start func(...string) *gatewaytest.Process) {
		const lifetime = 24 * time.Second
		cloud.SetLifetime(lifetime)
		p, client := start(), gatewaytest.ParallelClient(t)
		began := time.Now()
		ctx, stop := context.WithCancel(t.Context())
		var lanes sync.WaitGroup
		var calls, failed atomic.Int64
		for range 20 {
			lanes.Go(func() {
				for ctx.Err() == nil {
					if o := gatewaytest.Send(t.Context(), client, p.URL, hi(r.model), ""); o.Err != nil || o.Status != http.StatusOK {
						if failed.Add(1) == 1 {
							t.Errorf("%d %v %s", o.Status, o.Err, o.Body)
						}
					}
					calls.Add(1)
				}
			})
		}
		defer lanes.Wait()
		defer stop()
		gatewaytest.Until(t, "a call", func() bool { return calls.Load() > 20 })
		if n := cloud.LogIns(); n != 1 {
			t.Errorf("%d log-ins for the first calls", n)
		}
		cloud.SetLifetime(time.Hour) // of the next, which must not be due again
		gatewaytest.Until(t, "a renewal", func() bool { return cloud.LogIns() > 1 || failed.Load() > 0 })
		if after := time.Since(began); after < 2*time.Second || after > lifetime {
			t.Errorf("renewed after %s of %s", after, lifetime)
		}
		after := calls.Load()
		gatewaytest.Until(t, "more calls", func() bool { return calls.Load() > after+100 || failed.Load() > 0 })
		if n := cloud.LogIns(); n != 2 || failed.Load() != 0 {
			t.Errorf("%d log-ins, %d of %d calls failed", n, failed.Load(), calls.Load())
		}
	})
}

// A log-in that does not work is told by the call, with the setting to look at where the cloud
// refuses it, and by GET /health; it is well again by itself.
func TestALogInThatFailsIsTold(t *testing.T) {
	each(t, func(t *testing.T, r renewing, cloud *cloudtest.Cloud, start func(...string) *gatewaytest.Process) {
		p := start("STREAM_FIRST_TOKEN_TIMEOUT_SECONDS=3", "UPSTREAM_TIMEOUT_SECONDS=3")
		var told []string
		for _, fault := range []cloudtest.Fault{cloudtest.Refuses, cloudtest.Freezes} {
			cloud.Fail(fault)
			gatewaytest.Until(t, "the last failure is forgotten", func() bool { return p.Chat(t, hi(r.model)).Status != http.StatusServiceUnavailable })
			for _, members := range []string{"", gatewaytest.Streaming} {
				a := p.Chat(t, ask(r.model, dialects()[0].prompt("hi")+members))
				told = append(told, a.Body)
				if e := a.APIError(t); a.Status != http.StatusBadGateway || e.Provider != r.name ||
					fault == cloudtest.Refuses && !strings.Contains(e.Message, r.setting) {
					t.Errorf("fault %d%s: %d %s", fault, members, a.Status, a.Body)
				}
			}
			health := p.Get(t, "/health").Body
			if told = append(told, health); strings.Contains(health, `"`+r.name+`":"healthy"`) || !strings.Contains(health, `"`+r.name+`":`) {
				t.Errorf("fault %d: health: %s", fault, health)
			}
		}
		cloud.Fail(cloudtest.Slow)
		gatewaytest.Until(t, "a slow log-in is waited for", func() bool { return p.Chat(t, hi(r.model)).Status == http.StatusOK })
		gatewaytest.Until(t, "it is healthy", func() bool {
			p.Chat(t, hi(r.model))
			return strings.Contains(p.Get(t, "/health").Body, `"`+r.name+`":"healthy"`)
		})
		checkSecrets(t, p, told...)
	})
}

// Credentials that cannot be renewed serve calls until their end.
func TestCredentialsServeUntilTheirEnd(t *testing.T) {
	each(t, func(t *testing.T, r renewing, cloud *cloudtest.Cloud, start func(...string) *gatewaytest.Process) {
		const lifetime = 15 * time.Second // above what x/oauth2 takes for expired
		cloud.SetLifetime(lifetime)
		p := start()
		if a := p.Chat(t, hi(r.model)); a.Status != http.StatusOK {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		issued := time.Now()
		cloud.Fail(cloudtest.Refuses)
		for time.Since(issued) < 3*time.Second {
			a := p.Chat(t, hi(r.model))
			if a.Status != http.StatusOK && time.Since(issued) < 4*time.Second {
				t.Fatalf("after %s: %d %s", time.Since(issued), a.Status, a.Body)
			}
			time.Sleep(50 * time.Millisecond)
		}
		gatewaytest.Until(t, "the end of the credentials", func() bool { return p.Chat(t, hi(r.model)).Status != http.StatusOK })
		cloud.Fail(cloudtest.Works)
		gatewaytest.Until(t, "new credentials", func() bool { return p.Chat(t, hi(r.model)).Status == http.StatusOK })
		checkSecrets(t, p)
	})
}

// A wrong secret of a key is told as well, and not which it is.
func TestWrongCredentialsAreToldWithoutThem(t *testing.T) {
	t.Parallel()
	c := serve(t)
	const wrong = "wrong/secret/of/this/program/000000000001"
	p := gateway(t, slices.Concat(c.aws.Settings(), c.azure.Settings(), c.addresses(), entra(wrong),
		[]string{"AWS_ACCESS_KEY_ID=" + cloudtest.AccessKeyID, "AWS_SECRET_ACCESS_KEY=" + wrong})...)
	for _, model := range []string{"bedrock/us.anthropic." + sonnet + "-v1:0", "bedrock/amazon.nova-pro-v1:0", "azure/gpt-4.1", "foundry/" + sonnet} {
		a := p.Chat(t, hi(model))
		if a.Status != http.StatusBadGateway || strings.Contains(a.Body, wrong) {
			t.Errorf("%s: %d %s", model, a.Status, a.Body)
		}
	}
	if strings.Contains(p.Log.String()+p.Stderr.String(), wrong) {
		t.Error("the secret is in the log")
	}
}
