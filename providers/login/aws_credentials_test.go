package login_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modelgateway/config"
	"modelgateway/providers/login"
	"modelgateway/providers/upstream"
)

// sts is the address of a server of security tokens, which answers with keys of a name.
func sts(t *testing.T, name func(r *http.Request) string) string {
	t.Helper()
	address, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		action, end := r.PostForm.Get("Action"), time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
		_, _ = fmt.Fprintf(w, `<%[1]sResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><%[1]sResult><Credentials>
			<AccessKeyId>%[2]s</AccessKeyId><SecretAccessKey>secret-of-%[2]s</SecretAccessKey><SessionToken>session-of-%[2]s</SessionToken>
			<Expiration>%[3]s</Expiration></Credentials></%[1]sResult></%[1]sResponse>`, action, name(r), end)
	})
	return address
}

// used is the key with which a call is signed, and its session.
func used(header http.Header) string {
	_, rest, _ := strings.Cut(header.Get("Authorization"), "Credential=")
	id, _, _ := strings.Cut(rest, "/")
	return id + " " + header.Get("X-Amz-Security-Token")
}

func TestTheChainOfCredentials(t *testing.T) {
	hour := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	keys := fmt.Sprintf(`{"Code":"Success","AccessKeyId":"AKIDMACHINE","SecretAccessKey":"s","Token":"of the machine","Expiration":%q}`, hour)
	metadata := func(w http.ResponseWriter, r *http.Request) {
		const role = "/latest/meta-data/iam/security-credentials/"
		switch {
		case r.Method == http.MethodPut && r.URL.Path == "/latest/api/token" && r.Header.Get("X-Aws-Ec2-Metadata-Token-Ttl-Seconds") != "":
			w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "300")
			_, _ = io.WriteString(w, "session of the metadata server")
		case r.Header.Get("X-Aws-Ec2-Metadata-Token") != "session of the metadata server":
			w.WriteHeader(http.StatusUnauthorized) // the first version of the protocol
		case r.URL.Path == role:
			_, _ = io.WriteString(w, "the-role")
		case r.URL.Path == role+"the-role":
			_, _ = io.WriteString(w, keys)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}
	container := func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "of the container" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = io.WriteString(w, keys)
	}
	web := func(r *http.Request) string {
		if r.PostForm.Get("WebIdentityToken") != "of the pod" || r.PostForm.Get("RoleArn") != "arn:aws:iam::123456789012:role/pod" {
			t.Errorf("sent %v", r.PostForm)
		}
		return "AKIDPOD"
	}
	role := func(r *http.Request) string {
		f := r.PostForm
		if f.Get("RoleSessionName") != "modelgateway" || f.Get("ExternalId") != "outside" || f.Get("DurationSeconds") != "3600" {
			t.Errorf("sent %v", f)
		}
		_, by, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
		return "ASSUMED-BY-" + by[:4]
	}
	for name, c := range map[string]struct {
		opts        login.AWS
		environment map[string]string
		serve       http.HandlerFunc
		sts         func(*http.Request) string
		want        string
	}{
		"keys": {
			environment: map[string]string{"AWS_ACCESS_KEY_ID": "AKIDENV", "AWS_SECRET_ACCESS_KEY": "s", "AWS_SESSION_TOKEN": "of the environment"},
			want:        "AKIDENV of the environment",
		},
		"keys given": {
			opts:        static("given"),
			environment: map[string]string{"AWS_ACCESS_KEY_ID": "AKIDENV", "AWS_SECRET_ACCESS_KEY": "s"},
			want:        keyID + " given",
		},
		"a profile": {
			opts: login.AWS{Profile: "team"},
			environment: map[string]string{
				"AWS_ACCESS_KEY_ID": "AKIDENV", "AWS_SECRET_ACCESS_KEY": "s",
				"AWS_SHARED_CREDENTIALS_FILE": write(t, "credentials", "[team]\naws_access_key_id = AKIDTEAM\naws_secret_access_key = s\n"),
			},
			want: "AKIDTEAM ",
		},
		"the identity of a pod": {
			environment: map[string]string{
				"AWS_WEB_IDENTITY_TOKEN_FILE": write(t, "token", "of the pod"), "AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/pod",
			},
			sts: web, want: "AKIDPOD session-of-AKIDPOD",
		},
		"a container": {
			environment: map[string]string{
				"AWS_CONTAINER_CREDENTIALS_FULL_URI": "ADDRESS/v1/credentials", "AWS_CONTAINER_AUTHORIZATION_TOKEN": "of the container",
			},
			serve: container, want: "AKIDMACHINE of the machine",
		},
		"a virtual machine": {
			environment: map[string]string{"AWS_EC2_METADATA_SERVICE_ENDPOINT": "ADDRESS"},
			serve:       metadata, want: "AKIDMACHINE of the machine",
		},
		"a role": {
			opts:        login.AWS{Role: "arn:aws:iam::123456789012:role/x", ExternalID: "outside"},
			environment: map[string]string{"AWS_ACCESS_KEY_ID": "AKIDENV", "AWS_SECRET_ACCESS_KEY": "s"},
			sts:         role, want: "ASSUMED-BY-AKID session-of-ASSUMED-BY-AKID",
		},
	} {
		t.Run(name, func(t *testing.T) {
			none(t)
			address := ""
			if c.serve != nil {
				address, _ = serve(t, c.serve)
			}
			if c.sts != nil {
				t.Setenv("AWS_ENDPOINT_URL_STS", sts(t, c.sts))
			}
			for name, value := range c.environment {
				t.Setenv(name, strings.Replace(value, "ADDRESS", address, 1))
			}
			l := aws(t, c.opts)
			together(t, l.Sign)
			if got := used(signed(t, l.Sign, "")); got != c.want {
				t.Errorf("signed with %s, want %s", got, c.want)
			}
			if err := l.Check(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestEachCallerHasASessionWithItsTags(t *testing.T) {
	none(t)
	var mu sync.Mutex
	asked := map[string]int{}
	t.Setenv("AWS_ENDPOINT_URL_STS", sts(t, func(r *http.Request) string {
		name := "TAGS"
		for i := 1; r.PostForm.Has(fmt.Sprintf("Tags.member.%d.Key", i)); i++ {
			name += "-" + r.PostForm.Get(fmt.Sprintf("Tags.member.%d.Key", i)) + "-" + r.PostForm.Get(fmt.Sprintf("Tags.member.%d.Value", i))
		}
		mu.Lock()
		defer mu.Unlock()
		asked[name]++
		return name
	}))
	opts := static("")
	opts.Role, opts.Tags = "arn:aws:iam::123456789012:role/x", []string{"user", "team"}
	l := aws(t, opts)
	for _, c := range []struct{ user, team, want string }{
		{"ann@example.com", "red", "TAGS-user-ann@example.com-team-red"},
		{"bob", "red", "TAGS-user-bob-team-red"},
		{"bob", "", "TAGS-user-bob"},
		{"o'hara", "", "TAGS-user-o_hara"},
		{"", "", "TAGS"},
		{"bob", "red", "TAGS-user-bob-team-red"},
	} {
		r := httptest.NewRequest(http.MethodPost, "https://cloud.example/", nil)
		if err := l.Sign(&upstream.Call{Context: t.Context(), User: c.user, Team: c.team}, r, "", nil); err != nil {
			t.Fatal(err)
		}
		if got := used(r.Header); got != c.want+" session-of-"+c.want {
			t.Errorf("%s of %s signed with %s, want %s", c.user, c.team, got, c.want)
		}
	}
	together(t, func(ctx context.Context, r *http.Request, key string, body [][]byte) error {
		return l.Sign(&upstream.Call{Context: ctx, User: "many", Team: "red"}, r, key, body)
	})
	for name, times := range asked {
		if times != 1 {
			t.Errorf("%s was assumed %d times", name, times)
		}
	}
}

// Credentials of thirteen seconds are used for three, and renewed after one and a half.
func TestAWSRenewsWhileCallsGoOn(t *testing.T) {
	none(t)
	held := make(chan struct{})
	var calls *atomic.Int64
	var address string
	address, calls = serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if calls.Load() > 1 {
			<-held
		}
		_, _ = fmt.Fprintf(w, `{"AccessKeyId":"AKID%d","SecretAccessKey":"s","Token":"t","Expiration":%q}`, calls.Load(),
			time.Now().Add(13*time.Second).UTC().Format(time.RFC3339Nano))
	})
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", address)
	l := aws(t, login.AWS{})
	now := func() string { return used(signed(t, l.Sign, "")) }
	if got := now(); got != "AKID1 t" {
		t.Fatalf("signed with %s", got)
	}
	time.Sleep(1100 * time.Millisecond)
	eventually(t, func() bool { return now() == "AKID1 t" && calls.Load() == 2 }, "the renewal")
	if got := now(); got != "AKID1 t" {
		t.Errorf("signed with %s during the renewal", got)
	}
	close(held)
	eventually(t, func() bool { return now() == "AKID2 t" }, "the second credentials")
}

func TestAWSSaysWhyThereAreNoCredentials(t *testing.T) {
	none(t)
	address, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type>
			<Code>AccessDenied</Code><Message>not authorized to perform sts:AssumeRole with HUSH-of-ours</Message></Error></ErrorResponse>`)
	})
	t.Setenv("AWS_ENDPOINT_URL_STS", address)
	opts := login.AWS{AccessKeyID: keyID, SecretAccessKey: config.NewSecret("HUSH-of-ours"), Role: "arn:aws:iam::123456789012:role/x"}
	text := failing(t, aws(t, opts).Sign, "AWS_SECRET_ACCESS_KEY")
	if !strings.HasPrefix(text, "aws log-in: AccessDenied: not authorized to perform sts:AssumeRole with [redacted]: check that the role arn:aws:iam") {
		t.Errorf("got %s", text)
	}
	refusing, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	t.Setenv("AWS_ENDPOINT_URL_STS", refusing)
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", refusing)
	failing(t, aws(t, login.AWS{}).Sign, "AWS_CONTAINER_CREDENTIALS_FULL_URI")
	t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", write(t, "token", "HUSH"))
	t.Setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/pod")
	failing(t, aws(t, login.AWS{}).Sign, "AWS_WEB_IDENTITY_TOKEN_FILE")
	none(t)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	failing(t, aws(t, login.AWS{}).Sign, "AWS_ACCESS_KEY_ID")
}
