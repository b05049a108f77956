package signin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/services/auth"
)

// UsualSettings have a signed-in Claude Code ask for the gateway's models, which it does only where it is told to.
const UsualSettings = `{"env":{"CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY":"1"}}`

// Settings are those that Claude Code gets where this caller is signed in.
func (s *Service) Settings(ctx context.Context, c *auth.Caller) (*api.ManagedSettings, error) {
	found, err := s.Store.AgentSettings(ctx, c.TeamID)
	if err != nil {
		return nil, api.OrUnavailable("look up settings of agents", err)
	}
	text := jsontext.Value(UsualSettings)
	if found != nil {
		text = jsontext.Value(found.Settings)
	}
	sum, err := checksum(text)
	if err != nil {
		return nil, api.Internal(err)
	}
	return &api.ManagedSettings{UUID: c.UserID, Checksum: sum, Settings: text}, nil
}

// checksum is that of the protocol: of the JSON with sorted names and without spaces, as Claude Code computes it.
func checksum(text jsontext.Value) (string, error) {
	canonical := text.Clone()
	if err := canonical.Canonicalize(); err != nil {
		return "", err
	}
	d := sha256.Sum256(canonical)
	return "sha256:" + hex.EncodeToString(d[:]), nil
}
