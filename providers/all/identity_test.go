package all

import (
	"testing"

	"modelgateway/catalog"
	"modelgateway/config"
)

func TestAnotherHeaderForTheKeyIsAnotherIdentity(t *testing.T) {
	identities := map[string]bool{}
	cfg := config.Config{Variables: map[string][]config.Secret{"KEY": {config.NewSecret("secret")}}}
	ways := []string{"", catalog.AuthBearer, catalog.AuthNone, "X-One", "X-Two"}
	for _, auth := range ways {
		made, err := Own(cfg, []catalog.Provider{{
			Name: "own", Type: catalog.OpenAI, BaseURL: "http://127.0.0.1:1", Keys: []catalog.KeySource{{Env: "KEY"}}, Auth: auth,
		}})
		if err != nil {
			t.Fatal(err)
		}
		identities[made[0].Identity] = true
	}
	if len(identities) != len(ways) {
		t.Errorf("%d identities of %d ways to send the key: %v", len(identities), len(ways), identities)
	}
}
