-- The limits of users and teams have the columns and the meaning of those of keys:
-- see 0004. generation is in every token of a user: a higher one ends the tokens
-- before. verified_at and admin_at are 0 for a user whose address is not verified,
-- and for one who is not an administrator by name.
ALTER TABLE users ADD COLUMN generation BIGINT NOT NULL DEFAULT 1;
ALTER TABLE users ADD COLUMN verified_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN admin_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN last_used_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN expires_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN models TEXT NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN rpm_limit BIGINT NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN tpm_limit BIGINT NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN max_parallel BIGINT NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN budget BIGINT NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN budget_window TEXT NOT NULL DEFAULT '';

-- An identity provider has verified the address of the users that it brought.
UPDATE users SET verified_at = created_at WHERE password_hash = '' AND EXISTS (SELECT 1 FROM identities WHERE user_id = users.id);

CREATE TABLE teams (
    id            TEXT PRIMARY KEY,
    name          TEXT NOT NULL UNIQUE,
    created_at    BIGINT NOT NULL,
    expires_at    BIGINT NOT NULL DEFAULT 0,
    models        TEXT NOT NULL DEFAULT '',
    rpm_limit     BIGINT NOT NULL DEFAULT 0,
    tpm_limit     BIGINT NOT NULL DEFAULT 0,
    max_parallel  BIGINT NOT NULL DEFAULT 0,
    budget        BIGINT NOT NULL DEFAULT 0,
    budget_window TEXT NOT NULL DEFAULT ''
);

-- role is manager or member.
CREATE TABLE team_members (
    team_id    TEXT NOT NULL REFERENCES teams (id) ON DELETE CASCADE,
    user_id    TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    role       TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (team_id, user_id)
);

CREATE INDEX team_members_user ON team_members (user_id);

-- Tokens that are valid once: invitations, resets of a password, verifications of an
-- address, and the set-up of the first administrator. hash is the SHA-256 of the
-- token, in hex. email is the address that an invitation is for, or that is verified;
-- empty for an invitation of any address. team_id and role are of an invitation to a
-- team. proves_email says that only the owner of the address has the token, or that an
-- administrator has vouched for it: its use verifies the address.
CREATE TABLE one_time_tokens (
    id           TEXT PRIMARY KEY,
    hash         TEXT NOT NULL UNIQUE,
    purpose      TEXT NOT NULL,
    user_id      TEXT NOT NULL,
    email        TEXT NOT NULL,
    proves_email BOOLEAN NOT NULL DEFAULT FALSE,
    team_id      TEXT NOT NULL,
    role         TEXT NOT NULL,
    created_by   TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    used_at      BIGINT NOT NULL DEFAULT 0
);

CREATE INDEX one_time_tokens_user ON one_time_tokens (user_id);

-- Tokens of logins that have logged out before their expiry. id is the claim jti.
CREATE TABLE ended_tokens (
    id         TEXT PRIMARY KEY,
    user_id    TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    expires_at BIGINT NOT NULL
);

CREATE INDEX ended_tokens_user ON ended_tokens (user_id);

-- A call is also paid from the budgets of its user and of its key's team.
ALTER TABLE calls ADD COLUMN team_id TEXT NOT NULL DEFAULT '';
ALTER TABLE running_calls ADD COLUMN team_id TEXT NOT NULL DEFAULT '';
ALTER TABLE running_calls ADD COLUMN third_account TEXT NOT NULL DEFAULT '';
ALTER TABLE running_calls ADD COLUMN third_since TEXT NOT NULL DEFAULT '';
ALTER TABLE running_calls ADD COLUMN fourth_account TEXT NOT NULL DEFAULT '';
ALTER TABLE running_calls ADD COLUMN fourth_since TEXT NOT NULL DEFAULT '';

INSERT INTO spend (account, day, cost)
    SELECT 'user:' || user_id, day, SUM(cost) FROM usage_days WHERE user_id <> '' GROUP BY user_id, day HAVING SUM(cost) > 0;
