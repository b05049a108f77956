-- A program that asks to sign in: RFC 8628. Its user confirms the user code in the console. Of both codes only the
-- SHA-256 is kept. asks_at is when it may ask again whether that was done, in waits_us after each time.
-- generation is that of the user at the confirmation.
CREATE TABLE device_codes (
    hash       TEXT PRIMARY KEY,
    user_code  TEXT NOT NULL UNIQUE,
    client     TEXT NOT NULL,
    address    TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    asks_at    BIGINT NOT NULL DEFAULT 0,
    waits_us   BIGINT NOT NULL,
    state      TEXT NOT NULL DEFAULT '',
    user_id    TEXT NOT NULL DEFAULT '',
    team_id    TEXT NOT NULL DEFAULT '',
    generation BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX device_codes_expire ON device_codes (expires_at);

-- A program that is signed in as a user, for a team or for none. hash is that of its access token, and previous_hash
-- that of the one before, which is valid until it expires as well. turn counts the refresh tokens.
CREATE TABLE sign_ins (
    id                  TEXT PRIMARY KEY,
    user_id             TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    team_id             TEXT NOT NULL DEFAULT '',
    generation          BIGINT NOT NULL,
    client              TEXT NOT NULL,
    address             TEXT NOT NULL,
    created_at          BIGINT NOT NULL,
    refreshed_at        BIGINT NOT NULL,
    ends_at             BIGINT NOT NULL,
    turn                BIGINT NOT NULL,
    hash                TEXT NOT NULL UNIQUE,
    expires_at          BIGINT NOT NULL,
    previous_hash       TEXT NOT NULL DEFAULT '',
    previous_expires_at BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX sign_ins_user ON sign_ins (user_id);
CREATE INDEX sign_ins_end ON sign_ins (ends_at);
CREATE UNIQUE INDEX sign_ins_previous ON sign_ins (previous_hash) WHERE previous_hash <> '';

-- What Claude Code is set to on the machines of those who sign in; without a team for all teams that have none of their own.
CREATE TABLE agent_settings (
    team_id    TEXT PRIMARY KEY,
    settings   TEXT NOT NULL,
    changed_at BIGINT NOT NULL
);
