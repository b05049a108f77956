-- user_id is empty for a key that belongs to a team alone, and the keys of a deleted
-- user stay, revoked, for their names in the ledger: so there is no foreign key.
-- previous_hash is that of a rotated key's former secret, valid until
-- previous_expires_at.
ALTER TABLE api_keys DROP CONSTRAINT api_keys_user_id_fkey;
ALTER TABLE api_keys ADD COLUMN team_id TEXT NOT NULL DEFAULT '';
ALTER TABLE api_keys ADD COLUMN previous_hash TEXT NOT NULL DEFAULT '';
ALTER TABLE api_keys ADD COLUMN previous_expires_at BIGINT NOT NULL DEFAULT 0;

CREATE INDEX api_keys_team ON api_keys (team_id) WHERE team_id <> '';
CREATE UNIQUE INDEX api_keys_previous ON api_keys (previous_hash) WHERE previous_hash <> '';

-- Replicas cache all of this: see 0003.
DROP TRIGGER api_keys_changed ON api_keys;

CREATE TRIGGER api_keys_changed BEFORE UPDATE OF id, user_id, team_id, hash, previous_hash, previous_expires_at, revoked_at,
    expires_at, models, rpm_limit, tpm_limit, max_parallel, budget, budget_window OR DELETE OR TRUNCATE ON api_keys
    FOR EACH STATEMENT EXECUTE FUNCTION count_revision();

DROP TRIGGER users_changed ON users;

CREATE TRIGGER users_changed BEFORE UPDATE OF id, password_hash, disabled_at, generation, verified_at,
    expires_at, models, rpm_limit, tpm_limit, max_parallel, budget, budget_window OR DELETE OR TRUNCATE ON users
    FOR EACH STATEMENT EXECUTE FUNCTION count_revision();

CREATE TRIGGER teams_changed BEFORE UPDATE OF id, name,
    expires_at, models, rpm_limit, tpm_limit, max_parallel, budget, budget_window OR DELETE OR TRUNCATE ON teams
    FOR EACH STATEMENT EXECUTE FUNCTION count_revision();

CREATE TRIGGER team_members_changed BEFORE DELETE OR TRUNCATE ON team_members
    FOR EACH STATEMENT EXECUTE FUNCTION count_revision();

CREATE TRIGGER ended_tokens_added BEFORE INSERT ON ended_tokens
    FOR EACH STATEMENT EXECUTE FUNCTION count_revision();
