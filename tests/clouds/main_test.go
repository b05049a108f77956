// Package clouds tests the gateway in front of Amazon Bedrock, Google Vertex AI and Azure, which
// are stand-ins that refuse what these refuse.
package clouds

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"modelgateway/providers/simulator"
	"modelgateway/providers/simulator/simulatortest"
	"modelgateway/providers/simulator/strict"
	"modelgateway/tests/cloudtest"
	"modelgateway/tests/gatewaytest"
)

// Each gateway is a process of its own, as the credentials of the clouds are in its environment.
func TestMain(m *testing.M) { gatewaytest.Main(m, 4) }

func models() http.Handler {
	return simulator.New(simulator.Options{Now: simulatortest.Time, Check: strict.Check})
}

// clouds are the three stand-ins.
type clouds struct {
	aws    *cloudtest.AWS
	google *cloudtest.Google
	azure  *cloudtest.Azure
}

func serve(t *testing.T) clouds {
	t.Helper()
	return clouds{cloudtest.NewAWS(t, models()), cloudtest.NewGoogle(t, models()), cloudtest.NewAzure(t, models())}
}

// addresses say where the stand-ins are; they switch no provider on.
func (c clouds) addresses() []string {
	return []string{
		"AWS_ENDPOINT_URL_STS=" + c.aws.URL, "AWS_EC2_METADATA_SERVICE_ENDPOINT=" + c.aws.URL,
		"GCE_METADATA_HOST=" + strings.TrimPrefix(c.google.URL, "http://"), "AZURE_AUTHORITY_HOST=" + c.azure.URL + "/",
		"AZURE_POD_IDENTITY_AUTHORITY_HOST=" + c.azure.URL,
	}
}

// credentials are those of the three clouds, as their own programs have them.
func (c clouds) credentials(t *testing.T) []string {
	t.Helper()
	return slices.Concat(c.aws.Credentials(), c.google.Credentials(t), c.azure.Credentials())
}

// gateway starts the program without any credential of this machine.
func gateway(t *testing.T, settings ...string) *gatewaytest.Process {
	t.Helper()
	home := t.TempDir()
	return gatewaytest.Launch(t, nil, append([]string{"MAX_RETRIES=0", "HOME=" + home}, settings...)...)
}

// all starts the program with the three clouds.
func all(t *testing.T, settings ...string) (*gatewaytest.Process, clouds) {
	t.Helper()
	c := serve(t)
	return gateway(t, slices.Concat(c.aws.Settings(), c.google.Settings(), c.azure.Settings(), c.addresses(), c.credentials(t), settings)...), c
}

// secrets are what must be in no answer and no log.
func secrets() []string {
	return []string{cloudtest.SecretAccessKey, cloudtest.ClientSecret, cloudtest.BedrockKey, cloudtest.ResourceKey, "PRIVATE KEY", "ya29.", "eyJ0eXAi."}
}

// checkSecrets looks for secrets in the logs of the program and in its answers.
func checkSecrets(t *testing.T, p *gatewaytest.Process, answers ...string) {
	t.Helper()
	for _, text := range append(answers, p.Log.String(), p.Stderr.String()) {
		for _, secret := range secrets() {
			if at := strings.Index(text, secret); at >= 0 {
				t.Errorf("a secret is in …%s…", text[max(at-200, 0):min(at+len(secret)+50, len(text))])
			}
		}
	}
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	file := t.TempDir() + "/" + name
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
