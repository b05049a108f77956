-- user_id is empty for a key that belongs to a team alone, and the keys of a deleted
-- user stay, revoked, for their names in the ledger: so there is no foreign key.
-- previous_hash is that of a rotated key's former secret, valid until
-- previous_expires_at. SQLite cannot drop a foreign key: the table is created again.
CREATE TABLE keys (
    id                  TEXT PRIMARY KEY,
    user_id             TEXT NOT NULL,
    team_id             TEXT NOT NULL DEFAULT '',
    name                TEXT NOT NULL,
    hash                TEXT NOT NULL UNIQUE,
    previous_hash       TEXT NOT NULL DEFAULT '',
    previous_expires_at BIGINT NOT NULL DEFAULT 0,
    prefix              TEXT NOT NULL,
    created_at          BIGINT NOT NULL,
    last_used_at        BIGINT NOT NULL DEFAULT 0,
    revoked_at          BIGINT NOT NULL DEFAULT 0,
    expires_at          BIGINT NOT NULL DEFAULT 0,
    models              TEXT NOT NULL DEFAULT '',
    rpm_limit           BIGINT NOT NULL DEFAULT 0,
    tpm_limit           BIGINT NOT NULL DEFAULT 0,
    max_parallel        BIGINT NOT NULL DEFAULT 0,
    budget              BIGINT NOT NULL DEFAULT 0,
    budget_window       TEXT NOT NULL DEFAULT '',
    limited_by          TEXT NOT NULL DEFAULT ''
);

INSERT INTO keys (id, user_id, name, hash, prefix, created_at, last_used_at, revoked_at, expires_at, models, rpm_limit, tpm_limit,
    max_parallel, budget, budget_window, limited_by)
SELECT id, user_id, name, hash, prefix, created_at, last_used_at, revoked_at, expires_at, models, rpm_limit, tpm_limit,
    max_parallel, budget, budget_window, limited_by FROM api_keys;

DROP TABLE api_keys;
ALTER TABLE keys RENAME TO api_keys;

CREATE INDEX api_keys_user ON api_keys (user_id);
CREATE INDEX api_keys_team ON api_keys (team_id) WHERE team_id <> '';
CREATE UNIQUE INDEX api_keys_previous ON api_keys (previous_hash) WHERE previous_hash <> '';

-- Replicas cache all of this: see 0003.
CREATE TRIGGER api_keys_changed AFTER UPDATE OF id, user_id, team_id, hash, previous_hash, previous_expires_at, revoked_at,
    expires_at, models, rpm_limit, tpm_limit, max_parallel, budget, budget_window ON api_keys
BEGIN
    UPDATE revisions SET n = n + 1 WHERE id = 1;
END;

CREATE TRIGGER api_keys_deleted AFTER DELETE ON api_keys
BEGIN
    UPDATE revisions SET n = n + 1 WHERE id = 1;
END;

DROP TRIGGER users_changed;

CREATE TRIGGER users_changed AFTER UPDATE OF id, password_hash, disabled_at, generation, verified_at,
    expires_at, models, rpm_limit, tpm_limit, max_parallel, budget, budget_window ON users
BEGIN
    UPDATE revisions SET n = n + 1 WHERE id = 1;
END;

CREATE TRIGGER teams_changed AFTER UPDATE OF id, name,
    expires_at, models, rpm_limit, tpm_limit, max_parallel, budget, budget_window ON teams
BEGIN
    UPDATE revisions SET n = n + 1 WHERE id = 1;
END;

CREATE TRIGGER teams_deleted AFTER DELETE ON teams
BEGIN
    UPDATE revisions SET n = n + 1 WHERE id = 1;
END;

CREATE TRIGGER team_members_deleted AFTER DELETE ON team_members
BEGIN
    UPDATE revisions SET n = n + 1 WHERE id = 1;
END;

CREATE TRIGGER ended_tokens_added AFTER INSERT ON ended_tokens
BEGIN
    UPDATE revisions SET n = n + 1 WHERE id = 1;
END;
