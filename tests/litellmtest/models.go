package litellmtest

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"testing"
	"time"

	"golang.org/x/crypto/nacl/secretbox"
)

// SaltKey is the key under which values of the database are encrypted: LITELLM_SALT_KEY, or the master key without it.
const SaltKey = "sk-salt-1234567890"

// seal is one of the forms in which LiteLLM encrypts a value. Here the nonce comes from the value, so
// that the same value always looks the same.
type seal func(value string) (string, error)

// sealBox is the form of old: a NaCl secretbox under the SHA-256 of the key, in one of two alphabets.
func sealBox(alphabet *base64.Encoding) seal {
	return func(value string) (string, error) {
		key, digest := sha256.Sum256([]byte(SaltKey)), sha256.Sum256([]byte(value))
		nonce := [24]byte(digest[:24])
		return alphabet.EncodeToString(secretbox.Seal(nonce[:], []byte(value), &nonce, &key)), nil
	}
}

// sealGCM is AES-GCM, marked with its version: 2 under the SHA-256 of the key, 3 under HKDF.
func sealGCM(version int) seal {
	return func(value string) (string, error) {
		sum := sha256.Sum256([]byte(SaltKey))
		key := sum[:]
		if version == 3 {
			var err error
			if key, err = hkdf.Key(sha256.New, []byte(SaltKey), nil, "litellm-at-rest-v3", 32); err != nil {
				return "", err
			}
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return "", err
		}
		gcm, err := cipher.NewGCM(block)
		if err != nil {
			return "", err
		}
		digest := sha256.Sum256([]byte(value))
		nonce := digest[:gcm.NonceSize()]
		return fmt.Sprintf("v%d:gcm:", version) + base64.URLEncoding.EncodeToString(gcm.Seal(nonce, nonce, []byte(value), nil)), nil
	}
}

// seals are the forms that are found in a database of this version.
func (d *Database) seals() []seal {
	switch d.Version {
	case "2025-03":
		return []seal{sealBox(base64.StdEncoding)}
	case "2026-02":
		return []seal{sealBox(base64.URLEncoding)}
	default:
		return []seal{sealBox(base64.URLEncoding), sealGCM(2), sealGCM(3)}
	}
}

// sealed encrypts the texts among values, as LiteLLM does, in the n-th form.
func (d *Database) sealed(t testing.TB, n int, values row) row {
	t.Helper()
	forms, all := d.seals(), row{}
	for name, value := range values {
		all[name] = value
		if text, ok := value.(string); ok {
			encrypted, err := forms[n%len(forms)](text)
			if err != nil {
				t.Fatal(err)
			}
			all[name] = encrypted
		}
	}
	return all
}

// insertModels adds what an administrator made in LiteLLM's console: models, credentials and settings.
func (d *Database) insertModels(t testing.TB) {
	t.Helper()
	models := []struct {
		name   string
		params row
		info   row
	}{
		{"db-gpt-5", row{"model": "openai/gpt-5", "api_key": "sk-openai-of-the-database", "rpm": 100}, row{}},
		{"db-gpt-5", row{"model": "azure/gpt-5-eu", "api_key": "azure-key-of-the-database", "api_base": "https://eu.example.com", "api_version": "2025-01-01", "weight": 2}, row{"base_model": "azure/gpt-5"}},
		{"db-claude", row{"model": "anthropic/claude-sonnet-4-5-20250929", "api_key": "sk-ant-of-the-database"}, row{"access_groups": []string{"beta-models"}}},
		{"db-priced", row{"model": "openai/custom", "api_key": "os.environ/OPENAI_API_KEY", "api_base": "http://models.example.com/v1",
			"input_cost_per_token": 0.0000015, "output_cost_per_token": 0.000006}, row{}},
		{"db-shared", row{"model": "openai/gpt-4o", "litellm_credential_name": "shared-openai"}, row{}},
		{"db-paused", row{"model": "openai/gpt-4o-mini", "api_key": "sk-openai-of-the-database"}, row{}},
	}
	var rows []row
	for i, m := range models {
		id := fmt.Sprintf("model-%d", i)
		m.info["id"], m.info["db_model"] = id, true
		rows = append(rows, row{"model_id": id, "model_name": m.name, "litellm_params": d.sealed(t, i, m.params), "model_info": m.info,
			"blocked": m.name == "db-paused", "created_by": "user-00", "updated_by": "user-00"})
	}
	d.insert(t, "ProxyModelTable", rows...)
	d.insert(t, "CredentialsTable", row{"credential_id": "credential-1", "credential_name": "shared-openai",
		"credential_values": d.sealed(t, 2, row{"api_key": "sk-openai-shared", "api_base": "https://api.openai.com/v1"}),
		"credential_info":   row{"custom_llm_provider": "OpenAI"}, "created_by": "user-00", "updated_by": "user-00"})
	d.insert(t, "Config",
		row{"param_name": "router_settings", "param_value": row{"num_retries": 3, "routing_strategy": "simple-shuffle",
			"model_group_alias": row{"gpt-4-turbo": "gpt-4o"}, "fallbacks": []row{{"db-gpt-5": []string{"db-claude"}}}}},
		row{"param_name": "general_settings", "param_value": row{"store_model_in_db": true, "maximum_spend_logs_retention_period": "90d"}},
		row{"param_name": "environment_variables", "param_value": d.sealed(t, 1, row{"OPENAI_API_KEY": "sk-openai-of-the-environment"})})
}

// insertTools adds one of each thing that versions since 2025 have beside models: servers of tools, guardrails and the like.
func (d *Database) insertTools(t testing.TB, c *Company, updated time.Time) {
	t.Helper()
	d.insert(t, "ObjectPermissionTable", row{"object_permission_id": "permission-1", "mcp_servers": []string{"mcp-1"}, "vector_stores": []string{"store-1"}})
	d.insert(t, "MCPServerTable", row{"server_id": "mcp-1", "server_name": "tickets", "alias": "tickets", "url": "https://mcp.example.com", "transport": "http"})
	d.insert(t, "GuardrailsTable", row{"guardrail_id": "guardrail-1", "guardrail_name": "pii", "litellm_params": row{"guardrail": "presidio", "mode": "pre_call", "default_on": true}, "updated_at": updated})
	d.insert(t, "ManagedVectorStoresTable", row{"vector_store_id": "store-1", "custom_llm_provider": "openai", "vector_store_name": "handbook", "updated_at": updated})
	d.insert(t, "PromptTable", row{"id": "prompt-row-1", "prompt_id": "greeting", "litellm_params": row{"prompt_id": "greeting", "prompt_integration": "dotprompt"}, "updated_at": updated})
	d.insert(t, "AgentsTable", row{"agent_id": "agent-1", "agent_name": "helpdesk", "agent_card_params": row{"name": "helpdesk", "url": "https://agent.example.com"}, "created_by": "user-00", "updated_by": "user-00"})
	d.insert(t, "TagTable", row{"tag_name": "batch", "models": []string{"gpt-4o"}, "spend": 2.5})
	d.insert(t, "ProjectTable", row{"project_id": "project-1", "project_alias": "Assistant", "team_id": c.Teams[0].ID, "models": []string{}, "created_by": "user-00", "updated_by": "user-00"})
}
